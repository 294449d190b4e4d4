import { HttpError, notFound, Type } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { api, decodeId, limitOf, pageFields, Paging, pagingResult } from 'parley-forum/plugins/api';
import { discussionFields, DiscussionRecord, postFields, PostRecord } from 'parley-forum/plugins/discussions';

import { withFields } from '../schemas.ts';
import type { RouteDeps } from '../discussion-routes.ts';

const query = Type.Object({
  ...Paging,
  user_id: Type.Optional(Type.String({ maxLength: 64, description: 'Another member; admins only' })),
});

/** /api/users/discussions and /api/users/posts: what the caller wrote, or for admins, what any member wrote. */
export function userRoutes({ plugin, settings, reader }: RouteDeps, accounts: Pick<Accounts, 'find'>): void {
  const whose = async (viewer: Viewer, userId: string | undefined): Promise<string> => {
    if (userId === undefined || userId === viewer.id) return viewer.id!;
    if (!isAdmin(viewer)) throw new HttpError(403, 'Only admins may list what other members wrote');
    if (!(await accounts.find(userId))) throw notFound('There is no such user');
    return userId;
  };

  plugin.route(api, {
    method: 'get',
    path: '/users/discussions',
    can: 'member',
    query,
    summary: 'Discussions of the caller, newest first',
    result: Type.Object({
      discussions: Type.Array(withFields(plugin, discussionFields, DiscussionRecord)),
      ...pagingResult,
    }),
  })(async ({ actor, query: { user_id, limit, offset, cursor } }) => {
    const authorId = await whose(actor, user_id);
    const page = await reader.list(
      { authorId, sort: 'newest', limit: limitOf(settings, limit), offset, cursor },
      actor,
    );
    return { discussions: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/posts',
    can: 'member',
    query,
    summary: 'Posts of the caller, newest first',
    result: Type.Object({ posts: Type.Array(withFields(plugin, postFields, PostRecord)), ...pagingResult }),
  })(async ({ actor, query: { user_id, limit, offset = 0, cursor } }) => {
    const authorId = await whose(actor, user_id);
    const before = cursor === undefined ? undefined : decodeId(cursor);
    const page = await reader.postsBy(authorId, { limit: limitOf(settings, limit), offset, before }, actor);
    return { posts: [...page.items], ...pageFields(page) };
  });
}
