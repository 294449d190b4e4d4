import { Type, type PluginHandle, type Settings } from '#core';
import { api, limitOf, pageFields, Paging, pagingResult } from '#plugins/api';
import type { Bucket } from '#plugins/limits';
import { SEARCH_TYPES, SearchResult, type Search } from '#plugins/search';
import { LONGEST } from './query.ts';

export const BUCKET: Bucket & { readonly limit: string } = { name: 'search', window: 60, limit: 'search.rate_limit' };

export function addRoutes(plugin: PluginHandle, search: Search, settings: Settings): void {
  plugin.route(api, {
    method: 'get', path: '/search', can: 'public', summary: 'Discussions, posts or users the caller may see, the best first',
    query: Type.Object({
      q: Type.String({ pattern: '\\S', maxLength: LONGEST, description: 'Words, "phrases", -not, author:, category:, tag:, before: and after: a date' }),
      type: Type.Optional(Type.Enum([...SEARCH_TYPES], { description: 'discussions by default' })), ...Paging,
    }),
    result: Type.Object({ results: Type.Array(SearchResult), ...pagingResult, type: Type.Enum([...SEARCH_TYPES]) }), options: { bucket: BUCKET },
  })(async ({ actor, query: { q, type = 'discussions', limit, offset, cursor } }) => {
    const page = await search.search({ q, type, limit: limitOf(settings, limit), offset, cursor }, actor);
    return { results: [...page.items], ...pageFields(page), type };
  });
}
