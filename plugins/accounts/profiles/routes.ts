import { Type, type Clock, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api, decodePosition, encodeCursor, IdParams, listOf, Paging, combineTags } from 'parley-forum/plugins/api';
import { accountsTag, ipAddressesViewed, userFields } from 'parley-forum/plugins/accounts';
import { userSchema, type User, type UserRecords } from './user-records.ts';

/** The most users a search answers. */
const MAX_RESULTS = 20;
/** Milliseconds for which a search is fresh: `last_seen_at` is only exact to that. */
const MAX_AGE = 60_000;
/** Ids of viewed members in one entry of the audit log: all of them fit into it. */
const IDS_PER_ENTRY = 5;

export function addRoutes(plugin: PluginHandle, users: UserRecords, clock: Clock): void {
  /** Records who was shown others' IP addresses. True where any were shown. */
  const recordViews = async (shown: readonly User[], { id: by = '' }: Viewer): Promise<boolean> => {
    const ids = shown.filter((user) => user.id !== by && 'last_ip' in user).map(({ id }) => id);
    for (let at = 0; at < ids.length; at += IDS_PER_ENTRY)
      await plugin.emit(ipAddressesViewed, { ids: ids.slice(at, at + IDS_PER_ENTRY), by });
    return ids.length > 0;
  };
  const User = userSchema(() => plugin.extensions(userFields));
  plugin.route(api, {
    method: 'get',
    path: '/users/search',
    summary: 'Users whose name begins with or contains a text',
    can: 'public',
    query: Type.Object({
      q: Type.String({ pattern: '\\S', maxLength: 100, description: 'Part of a username' }),
      ...Paging,
    }),
    result: listOf('users', User),
    cacheTags: () => combineTags([accountsTag], plugin.extensions(userFields)),
  })(async (call) => {
    const { actor, query } = call;
    const limit = Math.min(query.limit ?? MAX_RESULTS, MAX_RESULTS);
    const offset = query.cursor === undefined ? (query.offset ?? 0) : decodePosition(query.cursor);
    const found = await users.search(query.q.trim(), { limit: limit + 1, offset }, actor);
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    // A response with IP addresses is not cached: each view is recorded.
    const viewed = await recordViews(page, actor);
    call.expiresAt = clock.now() + (viewed ? 0 : MAX_AGE);
    return { users: page, count: page.length, hasMore, next_cursor: hasMore ? encodeCursor([offset + limit]) : null };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/:id',
    summary: 'One user',
    can: 'public',
    params: IdParams,
    result: Type.Object({ user: User }),
    load: ({ actor, params }) => users.find(params.id, actor),
  })(async ({ actor, target }) => {
    await recordViews([target], actor);
    return { user: target };
  });
}
