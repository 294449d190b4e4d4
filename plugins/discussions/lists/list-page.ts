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
import { bulkPath, MAX_BULK } from '../bulk/bulk-actions.ts';
import { choosePart, type PartParameters } from './list-parts.ts';
import { listItems, type ListItem } from './list-items.ts';
import type { CategoryService } from '../categories/category-service.ts';
import type { DiscussionReader } from '../reading/reader.ts';
import { PAGE_SIZE } from '../page-parts.ts';
import type { Rights } from '../rights.ts';

interface ListDeps {
  readonly plugin: Pick<PluginHandle, 'extensions' | 'attemptSync'>;
  readonly reader: DiscussionReader;
  readonly categories: CategoryService;
  readonly rights: Rights;
}
/** The sort orders as a row of links, starting with the default. */
const TABS: readonly Sort[] = ['latest', 'newest', 'most_replied', 'most_viewed', 'oldest'];

/**
 * The URL of a page of a list. Parameters are omitted for the first page, the default order and the unfiltered list.
 */
const pathOf = (
  path: string,
  {
    part,
    page,
    sort,
    filter,
    cursor,
  }: Pick<ListPage, 'page' | 'sort' | 'filter' | 'cursor'> & {
    readonly part: PartParameters;
  },
): string => {
  const query = new URLSearchParams({
    ...Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)),
    ...(filter !== undefined && { filter }),
    ...(sort !== undefined && { sort }),
    ...(page !== undefined && page > 1 && { page: String(page) }),
    ...(cursor !== undefined && { cursor }),
  });
  return query.size > 0 ? `${path}?${query}` : path;
};

/** The tabs, on the pages they lead to; none if the viewer has no tab besides all discussions. */
export function tabsOf({ plugin }: Pick<ListDeps, 'plugin'>, path: string, viewer: Viewer): readonly ShownListTab[] {
  const own = plugin.extensions(listTabs).flatMap(({ plugin: owner, value }) => {
    const visible = (): boolean => value.visible?.(viewer) ?? true;
    return plugin.attemptSync(owner, `list tab ${value.label}`, visible) ? [value] : [];
  });
  const tabs = [{ label: 'discussions:tabs.all', href: '/' }, ...own];
  const current = path === '/discussions' ? '/' : path;
  if (own.length === 0 || !tabs.some(({ href }) => href === current)) return [];
  return tabs.map(({ label, href }) => ({ label, href, current: href === current }));
}

/**
 * Reads one page of the list, and determines the last page number; without a total, that is the next page, if there is
 * one. With a cursor, the page starts after the last row of the previous page, regardless of what has moved since.
 */
async function readPage(
  { reader }: ListDeps,
  { page = 1, total, ...request }: Omit<ListPage, 'path' | 'oneOrder' | 'part'>,
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

/** The pinned rows at the top of the list; none if there are no other rows to separate them from. */
function pinnedAbove(
  rows: readonly ListItem[],
  { sort, category, pinnedFirst }: Pick<ListPage, 'sort' | 'category' | 'pinnedFirst'>,
): readonly ListItem[] {
  if (sort !== undefined || (!category && !pinnedFirst)) return [];
  const others = rows.findIndex((row) => !row.is_pinned);
  return rows.slice(0, Math.max(0, others));
}

/** What moderators of the listed discussions need to act on several at once. */
function severalIn({ rights }: ListDeps, category: ListPage['category'], viewer: Viewer): object | undefined {
  const may = category ? rights.inCategory(category.id, viewer).moderate : rights.canModerate(viewer);
  return may ? { href: bulkPath({ category: category?.slug }), category: category?.slug, most: MAX_BULK } : undefined;
}

/** The model of the list template: rows, sort orders and pages. Throws 404 for a page after the last one. */
export async function listModel(deps: ListDeps, list: ListPage, viewer: Viewer): Promise<ListModel> {
  const { path, oneOrder = false, filters = [], part: _part, ...request } = list;
  const { page = 1, filter } = list;
  // URLs do not name the order of a list that has only one.
  const chosen = oneOrder ? undefined : list.sort;
  const { parameters: part, narrowed, ...parts } = await choosePart(deps, list, viewer);
  const { shown, last } = await readPage(deps, { ...request, ...narrowed }, viewer);
  const rows = listItems(shown.items, deps.categories.all(), list.category);
  const pinned = pinnedAbove(rows, list);
  const hrefOf = (more: Pick<ListPage, 'page' | 'sort' | 'filter' | 'cursor'>): string =>
    pathOf(path, { part, sort: chosen, filter, ...more });
  const model = {
    shown,
    pinned,
    discussions: rows.slice(pinned.length),
    // A different order, filter or part is another view of the same list.
    canonical:
      chosen === undefined && filter === undefined && !narrowed
        ? pathOf(path === '/discussions' ? '/' : path, { part, page })
        : path,
    first: page === 1,
    several: severalIn(deps, list.category, viewer),
    pager: {
      ...pagerOf(page, last, (number) => hrefOf({ page: number })),
      // The link to the next page uses a cursor, so that no row is shown twice or skipped; links with page numbers lead
      // to whatever is on that page by then.
      next: page < last ? hrefOf({ page: page + 1, cursor: shown.nextCursor }) : undefined,
    },
    tabs: tabsOf(deps, path, viewer),
    sorts: (oneOrder ? [] : TABS).map((name) => ({
      label: `discussions:sort.${name}`,
      href: hrefOf({ sort: name === 'latest' ? undefined : name }),
      current: (chosen ?? 'latest') === name,
    })),
    filters: (filters.length > 0 ? [{ name: undefined, label: 'discussions:filter.all' }, ...filters] : []).map(
      ({ name, label }) => ({ label, href: hrefOf({ filter: name }), current: name === filter }),
    ),
    parts: parts.choices.length > 0 && {
      path,
      choices: parts.choices,
      kept: [
        { name: 'filter', value: filter },
        { name: 'sort', value: chosen },
      ].filter(({ value }) => value !== undefined),
      chosen: parts.chosen.map(({ name, label }) => ({
        name,
        label,
        href: pathOf(path, { part: { ...part, [name]: undefined }, sort: chosen, filter }),
      })),
      all: pathOf(path, { part: {}, sort: chosen, filter }),
    },
  };
  return model;
}
