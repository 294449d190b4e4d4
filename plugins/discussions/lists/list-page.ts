import { notFound } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { ListModel, ListPage, Sort } from 'parley-forum/plugins/discussions';
import { pagerOf } from 'parley-forum/plugins/web';
import { listItems } from './list-items.ts';
import type { CategoryService } from '../categories/category-service.ts';
import type { DiscussionReader } from '../reading/reader.ts';
import { PAGE_SIZE } from '../page-parts.ts';

interface ListDeps {
  readonly reader: DiscussionReader;
  readonly categories: CategoryService;
}
/** The orders as a row of links, the usual one first. */
const TABS: readonly Sort[] = ['latest', 'newest', 'most_replied', 'most_viewed', 'oldest'];

/** Address of a page of a list; the first page and the usual order have the plain one. */
const pathOf = (path: string, { page, sort }: Pick<ListPage, 'page' | 'sort'>): string => {
  const query = new URLSearchParams({
    ...(sort !== undefined && { sort }),
    ...(page !== undefined && page > 1 && { page: String(page) }),
  });
  return query.size > 0 ? `${path}?${query}` : path;
};

/** What the list's template shows: rows, orders to choose from, pages. 404 for a page behind the last one. */
export async function listModel(
  { reader, categories }: ListDeps,
  { path, api, page = 1, sort, total, ...request }: ListPage,
  viewer: Viewer,
): Promise<ListModel> {
  const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (page > last) throw notFound('The list ends before this page');
  const { items, nextCursor } = await reader.list(
    { ...request, sort, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE },
    viewer,
  );
  const narrowed = {
    ...(request.category && { category_id: request.category.slug }),
    ...(sort !== undefined && { sort }),
  };
  // By cursor, which goes on in the order of this page, and behind its last row also when others have moved up
  // meanwhile.
  const next = nextCursor && new URLSearchParams({ limit: String(PAGE_SIZE), cursor: nextCursor, ...narrowed });
  const model = {
    discussions: listItems(items, categories.all()),
    // Another order is another look at the same list.
    canonical: sort === undefined ? pathOf(path === '/discussions' ? '/' : path, { page }) : path,
    api: next && `${api}?${next}`,
    pager: pagerOf(page, last, (number) => pathOf(path, { page: number, sort })),
    sorts: TABS.map((name) => ({
      name,
      href: pathOf(path, { sort: name === 'latest' ? undefined : name }),
      current: (sort ?? 'latest') === name,
    })),
  };
  return model;
}
