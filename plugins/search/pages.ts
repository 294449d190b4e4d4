import { HttpError, Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isGuest, limitFor, shareKey, type Viewer } from 'parley-forum/plugins/access';
import { assertAllowed, type Limits } from 'parley-forum/plugins/limits';
import type { Categories } from 'parley-forum/plugins/discussions';
import {
  SEARCH_SORTS,
  SEARCH_TYPES,
  type Search,
  type SearchResult,
  type SearchSort,
  type SearchType,
} from 'parley-forum/plugins/search';
import {
  composerCompletion,
  fill,
  errorHelp,
  headerSearch,
  html,
  navigation,
  pagerOf,
  pages,
  phrase,
  redirect,
  SafeHtml,
  shortcuts,
  slotFillings,
  view,
  type Web,
} from 'parley-forum/plugins/web';
import { FILTERS, filtersOf, withFilters } from './query/filters.ts';
import { MAX_QUERY_LENGTH, parseQuery } from './query/query.ts';
import { BUCKET } from './routes.ts';
import { headingsOf, probablyMeant } from './suggestions.ts';

const PAGE = 20;

interface PageDeps {
  readonly web: Web;
  readonly limits: Limits;
  readonly http: Http;
  readonly categories: Categories;
  /** Whether there are tags. */
  readonly tagged: boolean;
}
interface SearchParams {
  readonly q: string;
  readonly type: SearchType;
  readonly sort: SearchSort;
  readonly page: number;
}
interface SearchOutcome {
  readonly results: readonly SearchResult[];
  readonly hasMore: boolean;
  readonly failure?: HttpError;
}

const searchPath = ({ q, type, sort, page }: SearchParams): string =>
  `/search?${new URLSearchParams({
    q,
    ...(type !== 'discussions' && { type }),
    ...(sort !== 'relevance' && { sort }),
    ...(page > 1 && { page: String(page) }),
  })}`;
const paramsOf = ({
  q = '',
  type = 'discussions',
  sort = 'relevance',
  page = 1,
}: Partial<SearchParams>): SearchParams => ({
  q: q.trim(),
  type,
  sort,
  page,
});
const filterValue = Type.Optional(Type.String({ maxLength: 100 }));

/** /search, and the search field in the header of every page. */
export function addPages(
  plugin: PluginHandle<{ readonly 'search.rate_limit': number }>,
  search: Search,
  { web, limits, http, categories, tagged }: PageDeps,
): void {
  const consumeRateLimit = async (req: Request, viewer: Viewer): Promise<void> => {
    const key = shareKey(viewer, limits.ipKey(http.ip(req)));
    const allowance = await limits.consume(BUCKET, key, limitFor(viewer, plugin.settings['search.rate_limit']));
    assertAllowed(allowance, (seconds) => `You have searched a lot; wait ${seconds} s before the next search`);
  };
  const find = async (req: Request, viewer: Viewer, { q, type, sort, page }: SearchParams): Promise<SearchOutcome> => {
    try {
      await consumeRateLimit(req, viewer);
      const { items, hasMore } = await search.search({ q, type, sort, limit: PAGE, offset: (page - 1) * PAGE }, viewer);
      return { results: items, hasMore };
    } catch (error) {
      // Errors that the user can avoid by changing the query are shown next to the search field.
      if (!(error instanceof HttpError) || ![400, 429, 503].includes(error.status)) throw error;
      return { results: [], hasMore: false, failure: error };
    }
  };

  plugin.route(pages, {
    method: 'get',
    path: '/search',
    can: 'public',
    query: Type.Object({
      q: Type.Optional(Type.String()),
      type: Type.Optional(Type.Enum([...SEARCH_TYPES])),
      sort: Type.Optional(Type.Enum([...SEARCH_SORTS])),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      shown: Type.Optional(
        Type.String({ maxLength: 1_000, description: 'The query that the filters were filled from' }),
      ),
      author: filterValue,
      category: filterValue,
      tag: filterValue,
      after: filterValue,
      before: filterValue,
    }),
  })(async ({ req, res, actor, query }) => {
    const request = paramsOf(query);
    if (FILTERS.some((name) => query[name] !== undefined))
      return redirect(searchPath({ ...request, q: withFilters(request.q, query.shown ?? '', query), page: 1 }));
    const { q, type, sort, page } = request;
    const { results, hasMore, failure } =
      q === '' ? { results: [], hasMore: false, failure: undefined } : await find(req, actor, request);
    if (failure) res.set({ ...failure.headers });
    const model = {
      q,
      type,
      page,
      longest: MAX_QUERY_LENGTH,
      headings: headingsOf(plugin, web),
      asked: q !== '' && !failure,
      message: failure && sentence(failure),
      tabs: SEARCH_TYPES.map((name) => ({
        name,
        href: searchPath({ q, type: name, sort, page: 1 }),
        current: name === type,
      })),
      results: results.map((result) => ({
        ...result,
        excerpt: new SafeHtml(result.excerpt),
        category: result.category_id === null ? undefined : categories.find(result.category_id, actor),
      })),
      pager: pagerOf(page, hasMore ? page + 1 : page, (number) => searchPath({ ...request, page: number })),
      meant: !failure && results.length === 0 && (await meantSearch(request, actor)),
      wider: !failure && broaderSearch(request),
      filters: type !== 'users' && (await filterFields(q, actor)),
      sort,
    };
    const head = {
      name: 'search',
      title: q === '' ? phrase('search:title') : phrase('search:title.of', { query: q }),
      canonical: '/search',
      noindex: true,
    };
    return view('@search/search', head, model, failure?.status);
  });

  const sentence = ({ details: [problem], message }: HttpError): string =>
    problem ? web.say(phrase('search:refused', { problem: web.failure(problem.message) })) : web.failure(message);

  /** A search with corrected spelling, if it has results. */
  const meantSearch = async (request: SearchParams, viewer: Viewer) => {
    const q = request.page > 1 ? undefined : await probablyMeant(plugin, request.q, viewer);
    if (q === undefined || q.length > MAX_QUERY_LENGTH) return undefined;
    // If that search takes too long, the page is shown without it.
    const found = await search.search({ ...request, q, limit: 1 }, viewer).catch(() => undefined);
    return found && found.items.length > 0 && { q, href: searchPath({ ...request, q }) };
  };

  const filterFields = async (q: string, viewer: Viewer): Promise<object> => {
    await categories.refresh();
    const values = filtersOf(q);
    return {
      ...values,
      any: Object.keys(values).length > 0,
      tagged,
      categories: categories.visible(viewer).map(({ slug, name }) => ({ value: slug, label: name })),
      sorts: SEARCH_SORTS.map((name) => ({ value: name, label: web.say(phrase(`search:sort.${name}`)) })),
    };
  };

  // Members have the search in the bar above, and the unread discussions here in its place.
  plugin.extend(
    navigation,
    { area: 'tabs', label: 'search:tab', href: '/search', icon: 'search', visible: isGuest },
    -10,
  );
  plugin.extend(shortcuts, {
    id: 'search.field',
    keys: '/',
    label: 'search:header',
    area: 'everywhere',
    press: '.search-field input, .search-link, .search-form input',
  });
  plugin.extend(
    slotFillings,
    fill(headerSearch, async (places, viewer) => {
      const model = { longest: MAX_QUERY_LENGTH, headings: headingsOf(plugin, web) };
      const field = await web.fragment(viewer, '@search/field', model);
      return places.map(() => field);
    }),
  );
  plugin.extend(
    slotFillings,
    fill(errorHelp, async (errors, viewer) => {
      const field = await web.fragment(viewer, '@search/error', { longest: MAX_QUERY_LENGTH });
      return errors.map(({ status }) => (status === 404 ? field : undefined));
    }),
  );
  const titles = html`<x-complete-title data-trigger="[[" data-words></x-complete-title>`;
  plugin.extend(
    slotFillings,
    fill(composerCompletion, (places) => places.map(() => titles), { shared: true }),
  );
}

/** A broader search: without the filters or, if there are none, among the members. */
function broaderSearch({
  q,
  type,
  sort,
}: SearchParams): { readonly href: string; readonly plain: boolean } | undefined {
  if (q === '') return undefined;
  const { text } = parseQuery(q);
  if (text !== '' && text !== q) return { href: searchPath({ q: text, type, sort, page: 1 }), plain: true };
  return { href: searchPath({ q, type: type === 'users' ? 'discussions' : 'users', sort, page: 1 }), plain: false };
}
