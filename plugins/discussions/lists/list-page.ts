import { notFound, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  listTabs,
  type ListModel,
  type ListPage,
  type ShownListTab,
  type Sort,
} from 'parley-forum/plugins/discussions';
import { pagerOf } from 'parley-forum/plugins/web';
import { listItems, type ListItem } from './list-items.ts';
import type { CategoryService } from '../categories/category-service.ts';
import type { DiscussionReader } from '../reading/reader.ts';
import { PAGE_SIZE } from '../page-parts.ts';

interface ListDeps {
  readonly plugin: Pick<PluginHandle, 'extensions'>;
  readonly reader: DiscussionReader;
  readonly categories: CategoryService;
}
/** The orders as a row of links, the usual one first. */
const TABS: readonly Sort[] = ['latest', 'newest', 'most_replied', 'most_viewed', 'oldest'];

/** The URL of a page of a list; the first page, the usual order and the whole list have the plain one. */
const pathOf = (
  path: string,
  { page, sort, filter, cursor }: Pick<ListPage, 'page' | 'sort' | 'filter' | 'cursor'>,
): string => {
  const query = new URLSearchParams({
    ...(filter !== undefined && { filter }),
    ...(sort !== undefined && { sort }),
    ...(page !== undefined && page > 1 && { page: String(page) }),
    ...(cursor !== undefined && { cursor }),
  });
  return query.size > 0 ? `${path}?${query}` : path;
};

/** The tabs, on the pages that they are about; none where the viewer has only that of all discussions. */
export function tabsOf({ plugin }: Pick<ListDeps, 'plugin'>, path: string, viewer: Viewer): readonly ShownListTab[] {
  const own = plugin.extensions(listTabs).flatMap(({ value }) => (value.visible?.(viewer) === false ? [] : [value]));
  const tabs = [{ label: 'discussions:tabs.all', href: '/' }, ...own];
  const current = path === '/discussions' ? '/' : path;
  if (own.length === 0 || !tabs.some(({ href }) => href === current)) return [];
  return tabs.map(({ label, href }) => ({ label, href, current: href === current }));
}

/**
 * One page of the list and the number of the last one; without a total that is the next one, if there is any. By cursor
 * it begins behind the last row of the page before, whatever has moved meanwhile.
 */
async function readPage(
  { reader }: ListDeps,
  { page = 1, total, ...request }: Omit<ListPage, 'path' | 'oneOrder'>,
  viewer: Viewer,
) {
  const { cursor } = request;
  const end = total === undefined ? undefined : Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (cursor !== undefined) {
    const shown = await reader.list({ ...request, limit: PAGE_SIZE }, viewer);
    return { shown, last: shown.hasMore ? Math.max(end ?? 0, page + 1) : page };
  }
  const offset = (page - 1) * PAGE_SIZE;
  const shown = page > (end ?? page) ? undefined : await reader.list({ ...request, limit: PAGE_SIZE, offset }, viewer);
  if (!shown || (end === undefined && page > 1 && shown.items.length === 0))
    throw notFound('The list ends before this page');
  return { shown, last: end ?? (shown.hasMore ? page + 1 : page) };
}

/** The rows that stand above the others because they are pinned; none where there are no others to tell them from. */
function pinnedAbove(
  rows: readonly ListItem[],
  { sort, category, pinnedFirst }: Pick<ListPage, 'sort' | 'category' | 'pinnedFirst'>,
): readonly ListItem[] {
  if (sort !== undefined || (!category && !pinnedFirst)) return [];
  const others = rows.findIndex((row) => !row.is_pinned);
  return rows.slice(0, Math.max(0, others));
}

/** What the list's template shows: rows, orders to choose from, pages. 404 for a page behind the last one. */
export async function listModel(deps: ListDeps, list: ListPage, viewer: Viewer): Promise<ListModel> {
  const { path, oneOrder = false, filters = [], ...request } = list;
  const { page = 1, filter } = list;
  // As addresses have it: where there is one order, none says it.
  const chosen = oneOrder ? undefined : list.sort;
  const { shown, last } = await readPage(deps, request, viewer);
  const rows = listItems(shown.items, deps.categories.all(), list.category);
  const pinned = pinnedAbove(rows, list);
  const model = {
    shown,
    pinned,
    discussions: rows.slice(pinned.length),
    // Another order, or a part, is another look at the same list.
    canonical:
      chosen === undefined && filter === undefined ? pathOf(path === '/discussions' ? '/' : path, { page }) : path,
    first: page === 1,
    pager: {
      ...pagerOf(page, last, (number) => pathOf(path, { page: number, sort: chosen, filter })),
      // Whoever goes on from page to page sees each row once; a number leads to where it is by then.
      next: page < last ? pathOf(path, { page: page + 1, sort: chosen, filter, cursor: shown.nextCursor }) : undefined,
    },
    tabs: tabsOf(deps, path, viewer),
    sorts: (oneOrder ? [] : TABS).map((name) => ({
      label: `discussions:sort.${name}`,
      href: pathOf(path, { sort: name === 'latest' ? undefined : name, filter }),
      current: (chosen ?? 'latest') === name,
    })),
    filters: (filters.length > 0 ? [{ name: undefined, label: 'discussions:filter.all' }, ...filters] : []).map(
      ({ name, label }) => ({ label, href: pathOf(path, { sort: chosen, filter: name }), current: name === filter }),
    ),
  };
  return model;
}
