import { Type, type Clock, type PluginHandle, type Settings } from 'parley-forum';
import { accountsTag } from 'parley-forum/plugins/accounts';
import { api, limitOf, pageFields, Paging, pagingResult } from 'parley-forum/plugins/api';
import { discussionCacheTags, listCacheTags } from 'parley-forum/plugins/discussions';
import type { Bucket } from 'parley-forum/plugins/limits';
import { SEARCH_SORTS, SEARCH_TYPES, SearchResult, searchTag, type Search } from 'parley-forum/plugins/search';
import { tagsTag } from 'parley-forum/ports/tags';
import { MAX_QUERY_LENGTH } from './query/query.ts';

export const BUCKET: Bucket & { readonly limit: string } = { name: 'search', window: 60, limit: 'search.rate_limit' };

/** Milliseconds for which results are cached, although newer posts may rank higher. */
const MAX_AGE = 60_000;
/** Cache tags of everything that results contain. */
const cacheTags = (): readonly string[] => [
  searchTag,
  ...listCacheTags,
  discussionCacheTags.views,
  tagsTag,
  accountsTag,
];

interface RouteDeps {
  readonly search: Search;
  readonly settings: Settings;
  readonly clock: Clock;
}

/** GET /api/search. */
export function addRoutes(plugin: PluginHandle, { search, settings, clock }: RouteDeps): void {
  plugin.route(api, {
    method: 'get',
    path: '/search',
    can: 'public',
    summary: 'Discussions, posts or users the caller may see, best match first',
    query: Type.Object({
      q: Type.String({
        pattern: '\\S',
        maxLength: MAX_QUERY_LENGTH,
        description: 'Words, "phrases", -not, author:, category:, tag:, before: and after: a date',
      }),
      type: Type.Optional(Type.Enum([...SEARCH_TYPES], { description: 'discussions by default' })),
      sort: Type.Optional(Type.Enum([...SEARCH_SORTS], { description: 'relevance by default' })),
      ...Paging,
    }),
    result: Type.Object({ results: Type.Array(SearchResult), ...pagingResult, type: Type.Enum([...SEARCH_TYPES]) }),
    options: { bucket: BUCKET },
    cacheTags,
  })(async (call) => {
    const { q, type = 'discussions', sort, limit, offset, cursor } = call.query;
    const page = await search.search({ q, type, sort, limit: limitOf(settings, limit), offset, cursor }, call.actor);
    call.expiresAt = clock.now() + MAX_AGE;
    return { results: [...page.items], ...pageFields(page), type };
  });
}
