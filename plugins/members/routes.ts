import { Type, type PluginHandle, type Settings } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { api, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { seeMembers } from 'parley-forum/plugins/members';
import { SORTS, type MemberDirectory } from './directory.ts';

/** The maximum length of the beginning of a name, in characters. */
export const MAX_NAME = 30;

interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly accounts: Accounts;
  readonly directory: MemberDirectory;
}

/** GET /api/members. */
export function addRoutes({ plugin, settings, accounts, directory }: RouteDeps): void {
  plugin.route(api, {
    method: 'get',
    path: '/members',
    can: seeMembers,
    summary: 'All members, in the requested order',
    query: Type.Object({
      sort: Type.Optional(
        Type.Enum([...SORTS], {
          description:
            'newest by default; last_seen leaves out members who hide it; posts, without name, counts what the caller may read',
        }),
      ),
      name: Type.Optional(
        Type.String({ pattern: '\\S', maxLength: MAX_NAME, description: 'Only names that start with it' }),
      ),
      ...Paging,
    }),
    result: listOf('users', accounts.record),
  })(async ({ actor, query }) => {
    const { sort = 'newest', name, limit, offset, cursor } = query;
    const request = { sort, name: name?.trim(), limit: limitOf(settings, limit), offset, cursor };
    const page = await directory.list(request, actor);
    return { users: [...page.items], ...pageFields(page) };
  });
}
