import { Type, type Clock, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  api,
  decodePosition,
  encodeCursor,
  holdsUntil,
  IdParams,
  listOf,
  Paging,
  tagsOf,
} from 'parley-forum/plugins/api';
import { accountsTag, addressesViewed, userFields } from 'parley-forum/plugins/accounts';
import { userSchema, type User as Shown, type UserRecords } from './user-records.ts';

/** The most users a search answers. */
const MOST = 20;
/** Milliseconds for which a search holds though it says who was seen when: as exact as that is noted. */
const HOLDS = 60_000;
/** Members whom one record of a look names: all of their ids have room in an entry of the audit log. */
const TOGETHER = 5;

export function addRoutes(plugin: PluginHandle, users: UserRecords, clock: Clock): void {
  /** Who was shown others' network addresses is on record. True where somebody was. */
  const note = async (shown: readonly Shown[], { id: by = '' }: Viewer): Promise<boolean> => {
    const ids = shown.filter((user) => user.id !== by && 'last_ip' in user).map(({ id }) => id);
    for (let at = 0; at < ids.length; at += TOGETHER)
      await plugin.emit(addressesViewed, { ids: ids.slice(at, at + TOGETHER), by });
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
    cacheTags: () => tagsOf([accountsTag], plugin.extensions(userFields)),
  })(async ({ actor, query, res }) => {
    const limit = Math.min(query.limit ?? MOST, MOST);
    const offset = query.cursor === undefined ? (query.offset ?? 0) : decodePosition(query.cursor);
    const found = await users.search(query.q.trim(), { limit: limit + 1, offset }, actor);
    const page = found.slice(0, limit);
    const hasMore = found.length > limit;
    // An answer with addresses is not given again from memory: each look is to be on record.
    const looked = await note(page, actor);
    holdsUntil(res, clock.now() + (looked ? 0 : HOLDS));
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
    await note([target], actor);
    return { user: target };
  });
}
