import { Type, type Clock, type PluginHandle } from '#core';
import { api, decodePosition, encodeCursor, holdsUntil, IdParams, listOf, Paging, tagsOf } from '#plugins/api';
import { accountsTag, userFields } from '#plugins/accounts';
import { userSchema, type UserRecords } from './records.ts';

/** The most users a search answers. */
const MOST = 20;
/** Milliseconds for which a search holds though it says who was seen when: as exact as that is noted. */
const HOLDS = 60_000;

export function addRoutes(plugin: PluginHandle, users: UserRecords, clock: Clock): void {
  const User = userSchema(() => plugin.extensions(userFields));
  plugin.route(api, {
    method: 'get', path: '/users/search', summary: 'Users whose name begins with or contains a text', can: 'public',
    query: Type.Object({ q: Type.String({ pattern: '\\S', maxLength: 100, description: 'Part of a username' }), ...Paging }),
    result: listOf('users', User), keep: () => tagsOf([accountsTag], plugin.extensions(userFields)),
  })(async ({ actor, query, res }) => {
    holdsUntil(res, clock.now() + HOLDS);
    const limit = Math.min(query.limit ?? MOST, MOST);
    const offset = query.cursor === undefined ? (query.offset ?? 0) : decodePosition(query.cursor);
    const found = await users.search(query.q.trim(), { limit: limit + 1, offset }, actor);
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    return { users: page, count: page.length, hasMore, next_cursor: hasMore ? encodeCursor([offset + limit]) : null };
  });

  plugin.route(api, {
    method: 'get', path: '/users/:id', summary: 'One user', can: 'public', params: IdParams, result: Type.Object({ user: User }),
    find: ({ actor, params }) => users.find(params.id, actor),
  })(({ target }) => ({ user: target }));
}
