import { HttpError, Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isStaff, type Viewer } from 'parley-forum/plugins/access';
import { demand, type Limits } from 'parley-forum/plugins/limits';
import { SEARCH_TYPES, type Search, type SearchResult, type SearchType } from 'parley-forum/plugins/search';
import { defineSlot, fill, pagerOf, pages, SafeHtml, slotFillings, view, type Web } from 'parley-forum/plugins/web';
import { LONGEST, readQuery } from './query.ts';
import { BUCKET } from './routes.ts';

const PAGE = 20;
const headerSearch = defineSlot<unknown>('header.search');

interface PageServices {
  readonly web: Web;
  readonly limits: Limits;
  readonly http: Http;
}
interface Asked {
  readonly q: string;
  readonly type: SearchType;
  readonly page: number;
}
interface Shown {
  readonly results: readonly SearchResult[];
  readonly hasMore: boolean;
  readonly failure?: HttpError;
}

const addressOf = ({ q, type, page }: Asked): string =>
  `/search?${new URLSearchParams({ q, ...(type !== 'discussions' && { type }), ...(page > 1 && { page: String(page) }) })}`;

/** /search, and the field in the header of every page. */
export function addPages(
  plugin: PluginHandle<{ readonly 'search.rate_limit': number }>,
  search: Search,
  { web, limits, http }: PageServices,
): void {
  const spend = async (req: Request, viewer: Viewer): Promise<void> => {
    const limit = plugin.settings['search.rate_limit'] * (isStaff(viewer) ? 5 : 1);
    const allowance = await limits.consume(
      BUCKET,
      viewer.id === undefined ? `ip:${limits.addressKey(http.addressOf(req))}` : `user:${viewer.id}`,
      limit,
    );
    demand(allowance, (seconds) => `You have searched a lot; wait ${seconds} s before the next search`);
  };
  const find = async (req: Request, viewer: Viewer, { q, type, page }: Asked): Promise<Shown> => {
    try {
      await spend(req, viewer);
      const { items, hasMore } = await search.search({ q, type, limit: PAGE, offset: (page - 1) * PAGE }, viewer);
      return { results: items, hasMore };
    } catch (error) {
      // What can be helped by asking otherwise is told beside the question.
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
    const asked: Asked = { q: (query.q ?? '').trim(), type: query.type ?? 'discussions', page: query.page ?? 1 };
    const { q, type, page } = asked;
    const { results, hasMore, failure } =
      q === '' ? { results: [], hasMore: false, failure: undefined } : await find(req, actor, asked);
    if (failure) res.set({ ...failure.headers });
    const model = {
      q,
      type,
      page,
      longest: LONGEST,
      asked: q !== '' && !failure,
      message: failure && sentence(failure),
      tabs: SEARCH_TYPES.map((name) => ({ name, href: addressOf({ q, type: name, page: 1 }), current: name === type })),
      results: results.map((result) => ({ ...result, excerpt: new SafeHtml(result.excerpt) })),
      pager: pagerOf(page, hasMore ? page + 1 : page, (number) => addressOf({ ...asked, page: number })),
      wider: !failure && wider(asked),
    };
    const head = { name: 'search', title: q === '' ? 'Search' : `${q} – Search`, canonical: '/search', noindex: true };
    return view('@search/search', head, model, failure?.status);
  });

  plugin.extend(
    slotFillings,
    fill(headerSearch, async (places, viewer) => {
      const field = await web.fragment(viewer, '@search/field', { longest: LONGEST });
      return places.map(() => field);
    }),
  );
}

const sentence = ({ details: [problem], message }: HttpError): string =>
  problem ? `The search ${problem.message}` : message;

/** Where more may be found: without the filters, else among the members. */
function wider({ q, type }: Asked): { readonly href: string; readonly plain: boolean } | undefined {
  if (q === '') return undefined;
  const { text } = readQuery(q);
  if (text !== '' && text !== q) return { href: addressOf({ q: text, type, page: 1 }), plain: true };
  return { href: addressOf({ q, type: type === 'users' ? 'discussions' : 'users', page: 1 }), plain: false };
}
