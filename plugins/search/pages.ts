import { HttpError, Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isStaff, type Viewer } from 'parley-forum/plugins/access';
import { assertAllowed, type Limits } from 'parley-forum/plugins/limits';
import { SEARCH_TYPES, type Search, type SearchResult, type SearchType } from 'parley-forum/plugins/search';
import { fill, headerSearch, pagerOf, pages, SafeHtml, slotFillings, view, type Web } from 'parley-forum/plugins/web';
import { MAX_QUERY_LENGTH, parseQuery } from './query.ts';
import { BUCKET } from './routes.ts';

const PAGE = 20;

interface PageDeps {
  readonly web: Web;
  readonly limits: Limits;
  readonly http: Http;
}
interface SearchParams {
  readonly q: string;
  readonly type: SearchType;
  readonly page: number;
}
interface SearchOutcome {
  readonly results: readonly SearchResult[];
  readonly hasMore: boolean;
  readonly failure?: HttpError;
}

const searchPath = ({ q, type, page }: SearchParams): string =>
  `/search?${new URLSearchParams({ q, ...(type !== 'discussions' && { type }), ...(page > 1 && { page: String(page) }) })}`;

/** /search, and the field in the header of every page. */
export function addPages(
  plugin: PluginHandle<{ readonly 'search.rate_limit': number }>,
  search: Search,
  { web, limits, http }: PageDeps,
): void {
  const consumeRateLimit = async (req: Request, viewer: Viewer): Promise<void> => {
    const limit = plugin.settings['search.rate_limit'] * (isStaff(viewer) ? 5 : 1);
    const allowance = await limits.consume(
      BUCKET,
      viewer.id === undefined ? `ip:${limits.ipKey(http.ip(req))}` : `user:${viewer.id}`,
      limit,
    );
    assertAllowed(allowance, (seconds) => `You have searched a lot; wait ${seconds} s before the next search`);
  };
  const find = async (req: Request, viewer: Viewer, { q, type, page }: SearchParams): Promise<SearchOutcome> => {
    try {
      await consumeRateLimit(req, viewer);
      const { items, hasMore } = await search.search({ q, type, limit: PAGE, offset: (page - 1) * PAGE }, viewer);
      return { results: items, hasMore };
    } catch (error) {
      // Errors that another query avoids are shown beside the search field.
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
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    }),
  })(async ({ req, res, actor, query }) => {
    const request: SearchParams = {
      q: (query.q ?? '').trim(),
      type: query.type ?? 'discussions',
      page: query.page ?? 1,
    };
    const { q, type, page } = request;
    const { results, hasMore, failure } =
      q === '' ? { results: [], hasMore: false, failure: undefined } : await find(req, actor, request);
    if (failure) res.set({ ...failure.headers });
    const model = {
      q,
      type,
      page,
      longest: MAX_QUERY_LENGTH,
      asked: q !== '' && !failure,
      message: failure && sentence(failure),
      tabs: SEARCH_TYPES.map((name) => ({
        name,
        href: searchPath({ q, type: name, page: 1 }),
        current: name === type,
      })),
      results: results.map((result) => ({ ...result, excerpt: new SafeHtml(result.excerpt) })),
      pager: pagerOf(page, hasMore ? page + 1 : page, (number) => searchPath({ ...request, page: number })),
      wider: !failure && broaderSearch(request),
    };
    const head = { name: 'search', title: q === '' ? 'Search' : `${q} – Search`, canonical: '/search', noindex: true };
    return view('@search/search', head, model, failure?.status);
  });

  plugin.extend(
    slotFillings,
    fill(headerSearch, async (places, viewer) => {
      const field = await web.fragment(viewer, '@search/field', { longest: MAX_QUERY_LENGTH });
      return places.map(() => field);
    }),
  );
}

const sentence = ({ details: [problem], message }: HttpError): string =>
  problem ? `The search ${problem.message}` : message;

/** A broader search: without the filters, else among the members. */
function broaderSearch({ q, type }: SearchParams): { readonly href: string; readonly plain: boolean } | undefined {
  if (q === '') return undefined;
  const { text } = parseQuery(q);
  if (text !== '' && text !== q) return { href: searchPath({ q: text, type, page: 1 }), plain: true };
  return { href: searchPath({ q, type: type === 'users' ? 'discussions' : 'users', page: 1 }), plain: false };
}
