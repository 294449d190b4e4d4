import { HttpError, Type, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import {
  pageFields,
  pageOfRows,
  api,
  decodePosition,
  IdParams,
  listOf,
  nullable,
  Paging,
  combineTags,
} from 'parley-forum/plugins/api';
import { accountsTag, editProfile, ipAddressesViewed, userFields } from 'parley-forum/plugins/accounts';
import type { AccountsService } from '../accounts/service.ts';
import { MAX_DISPLAY_NAME } from '../accounts/display-names.ts';
import { userSchema, type User, type UserRecords } from './user-records.ts';

/** Maximum length of a member's short biography in characters. */
export const MAX_BIO = 1_000;
/** Maximum number of users in a search result. */
const MAX_RESULTS = 20;
/** Milliseconds for which a search may be cached: `last_seen_at` is no more precise than that. */
const MAX_AGE = 60_000;
/** Maximum number of viewed members in one entry of the audit log, so that all ids fit into it. */
const IDS_PER_ENTRY = 5;

interface RouteDeps {
  readonly access: Access;
  readonly data: Data;
  readonly users: UserRecords;
  readonly accounts: Pick<AccountsService, 'setProfile' | 'setLocale'>;
  readonly clock: Clock;
}

/** /api/users/search and /api/users/{id}. */
export function addRoutes(plugin: PluginHandle, { access, data, users, accounts, clock }: RouteDeps): void {
  /** Records who was shown other members' IP addresses. True if any were shown. */
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
    summary: 'Users whose names start with or contain a text',
    can: 'public',
    query: Type.Object({
      q: Type.String({ pattern: '\\S', maxLength: 100, description: 'Part of a username or a display name' }),
      ...Paging,
    }),
    result: listOf('users', User),
    cacheTags: () => combineTags([accountsTag], plugin.extensions(userFields)),
  })(async (call) => {
    const { actor, query } = call;
    const limit = Math.min(query.limit ?? MAX_RESULTS, MAX_RESULTS);
    const offset = query.cursor === undefined ? (query.offset ?? 0) : decodePosition(query.cursor);
    const found = await users.search(query.q.trim(), { limit: limit + 1, offset }, actor);
    const page = pageOfRows(found, limit, () => [offset + limit]);
    // A response with IP addresses is not cached, because each view must be recorded.
    const viewed = await recordViews(page.items, actor);
    call.expiresAt = clock.now() + (viewed ? 0 : MAX_AGE);
    return { users: [...page.items], ...pageFields(page) };
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

  plugin.route(api, {
    method: 'put',
    path: '/users/:id',
    summary: 'Change the caller’s public profile, language and time zone; omitted fields are unchanged',
    can: 'member',
    params: IdParams,
    body: Type.Object({
      display_name: Type.Optional(
        nullable(
          Type.String({ description: `At most ${MAX_DISPLAY_NAME} characters; an empty string or null removes it` }),
        ),
      ),
      bio: Type.Optional(Type.String({ maxLength: MAX_BIO })),
      language: Type.Optional(
        nullable(
          Type.String({
            maxLength: 40,
            description: 'One of the site’s languages; null: the language that the browser requests',
          }),
        ),
      ),
      timezone: Type.Optional(
        nullable(Type.String({ maxLength: 64, description: 'Such as Europe/Lisbon; null: the time zone of the site' })),
      ),
    }),
    result: Type.Object({ user: User }),
    load: ({ actor, params }) => users.find(params.id, actor),
    authorize: ({ actor, target }) => target.id === actor.id,
  })(async ({ actor, target: { id }, body: { display_name: name, bio, language, timezone } }) => {
    // Language and time zone affect nobody else, so every member may choose them, as on their page.
    if ((bio !== undefined || name !== undefined) && !access.admitted(actor, editProfile))
      throw new HttpError(403, `You may not ${editProfile.label}`);
    await data.transaction(async () => {
      await accounts.setProfile(id, { bio, displayName: name === null ? '' : name });
      if (language !== undefined || timezone !== undefined) await accounts.setLocale(id, { language, timezone });
    });
    return { user: (await users.find(id, actor))! };
  });
}
