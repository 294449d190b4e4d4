import { notFound, Type } from '#core';
import { isAdmin, type Viewer } from '#plugins/access';
import { SORTS, type Category, type ListRequest, type Sort } from '#plugins/discussions';
import { pagerOf, pages, view } from '#plugins/web';
import { cards } from '../cards.ts';
import { listTags, PAGE_SIZE, type PageServices } from './parts.ts';

const ListQuery = Type.Object({ page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })), sort: Type.Optional(Type.Enum([...SORTS])) });
/** The orders as a row of links, the usual one first. */
const TABS: readonly Sort[] = ['latest', 'newest', 'most_replied', 'most_viewed', 'oldest'];


interface Asked extends Pick<ListRequest, 'sort' | 'category' | 'pinnedFirst'> {
  readonly page?: number | undefined;
  /** How many discussions the whole list has. */
  readonly total: number;
}

/** Address of a page of a list; the first page and the usual order have the plain one. */
const address = (path: string, { page, sort }: Pick<Asked, 'page' | 'sort'>): string => {
  const query = new URLSearchParams({ ...(sort !== undefined && { sort }), ...(page !== undefined && page > 1 && { page: String(page) }) });
  return query.size > 0 ? `${path}?${query}` : path;
};

/** What the list's template shows: rows, orders to choose from, pages. 404 for a page behind the last one. */
async function listModel({ reading, categories }: PageServices, path: string, viewer: Viewer, { page = 1, sort, total, ...request }: Asked): Promise<object> {
  const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (page > last) throw notFound('The list ends before this page');
  const { items, hasMore } = await reading.list({ ...request, sort, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }, viewer);
  const narrowed = { ...(request.category && { category_id: request.category.slug }), ...(sort !== undefined && { sort }) };
  const next = new URLSearchParams({ limit: String(PAGE_SIZE), offset: String(page * PAGE_SIZE), ...narrowed });
  return {
    discussions: cards(items, categories.all()),
    api: hasMore ? `/api/discussions?${next}` : undefined,
    pager: pagerOf(page, last, (number) => address(path, { page: number, sort })),
    sorts: TABS.map((name) => ({ name, href: address(path, { sort: name === 'latest' ? undefined : name }), current: (sort ?? 'latest') === name })),
  };
}

/** The front page, the categories, and the list of each. */
export function listPages(services: PageServices): void {
  const { plugin, categories, records, rights } = services;
  const keep = (): readonly string[] => listTags;
  const countOf = async (list: readonly Category[]): Promise<number> => {
    const count = await categories.counts();
    return list.reduce((sum, { id }) => sum + count(id).discussions, 0);
  };

  for (const path of ['/', '/discussions']) {
    plugin.route(pages, { method: 'get', path, can: 'public', query: ListQuery, keep })(async ({ actor, query }) => {
      await categories.refresh();
      const visible = categories.visible(actor);
      const list = await listModel(services, path, actor, { ...query, pinnedFirst: query.sort === undefined, total: await countOf(visible) });
      const head = { name: 'home', title: 'Discussions', canonical: '/', current: '/' };
      return view('@discussions/home', head, { ...list, create: rights.anywhere(actor) && '/new' });
    });
  }

  plugin.route(pages, { method: 'get', path: '/categories', can: 'public', keep })(async ({ actor }) => {
    await categories.refresh();
    const visible = categories.visible(actor);
    const shown = await records.categories(visible, actor);
    const below = Map.groupBy(shown, (category) => category.parent_id ?? '');
    const roots = shown.filter((category) => category.parent_id === null || !shown.some((other) => other.id === category.parent_id));
    const model = { groups: roots.map((category) => ({ category, below: below.get(category.id) ?? [] })), manage: isAdmin(actor) };
    return view('@discussions/categories', { name: 'categories', title: 'Categories', canonical: '/categories' }, model);
  });

  plugin.route(pages, {
    method: 'get', path: '/c/:slug', can: 'public', query: ListQuery, keep,
    find: async ({ actor, params }) => {
      await categories.refresh();
      return categories.find(params['slug'] ?? '', actor);
    },
  })(async ({ actor, query, target }) => {
    const path = `/c/${encodeURIComponent(target.slug)}`;
    const list = await listModel(services, path, actor, { ...query, category: target, total: await countOf([target]) });
    const [category] = await records.categories([target], actor);
    const below = await records.categories(categories.visible(actor).filter(({ parentId }) => parentId === target.id), actor);
    const head = { name: 'category', title: target.name, description: target.description, canonical: path, current: path };
    return view('@discussions/category', head, { ...list, category, below, create: category?.can.create && `/new?category=${encodeURIComponent(target.slug)}` });
  });
}
