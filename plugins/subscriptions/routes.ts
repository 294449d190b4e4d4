import { HttpError, InvalidInput, notFound, Type, type PluginHandle, type Settings } from 'parley-forum';
import { isAdmin, isGuest, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { api, Id, limitOf, listOf, loginNeeded, pageFields, Paging } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { follow, SubscriptionRecord } from 'parley-forum/plugins/subscriptions';
import { LEVELS, type Level } from 'parley-forum/ports/subscriptions';
import { followedOrMutedBy, type SubscriptionService } from './subscription-service.ts';

export interface RouteDeps {
  readonly settings: Settings;
  readonly accounts: Accounts;
  readonly discussions: Discussions;
  readonly subscriptions: SubscriptionService;
}
/** Whether a member with this level follows the discussion. */
const subscribed = (level: Level): boolean => level === 'watching' || level === 'tracking';

export function addRoutes(plugin: PluginHandle, { settings, accounts, discussions, subscriptions }: RouteDeps): void {
  plugin.route(api, {
    method: 'post',
    path: '/subscriptions/toggle',
    can: follow,
    summary: 'Follow a discussion or stop following it, or choose how closely',
    body: Type.Object({ discussion_id: Id, level: Type.Optional(Type.Enum([...LEVELS])) }),
    result: Type.Object({ subscribed: Type.Boolean(), level: Type.Enum([...LEVELS]) }),
  })(async ({ actor, body }) => {
    const discussion = await discussions.find(body.discussion_id, actor);
    if (!discussion) throw notFound('There is no such discussion');
    const level = await subscriptions.toggle(discussion.id, actor.id, body.level);
    return { subscribed: subscribed(level), level };
  });

  const targetUser = async (viewer: Viewer, userId: string | undefined): Promise<string> => {
    if (isGuest(viewer))
      throw userId === undefined
        ? new InvalidInput([{ field: 'user_id', message: 'is required for guests' }])
        : loginNeeded();
    if (userId === undefined || userId === viewer.id) return viewer.id;
    if (!isAdmin(viewer)) throw new HttpError(403, 'Only admins can list what another member follows');
    if (!(await accounts.find(userId))) throw notFound('There is no such user');
    return userId;
  };

  plugin.route(api, {
    method: 'get',
    path: '/users/subscriptions',
    can: 'public',
    summary: 'Discussions the caller follows or has muted, most recent activity first',
    query: Type.Object({
      ...Paging,
      user_id: Type.Optional(Type.String({ maxLength: 64, description: 'Another member; admins only' })),
    }),
    result: listOf('subscriptions', SubscriptionRecord),
  })(async ({ actor, query: { user_id, limit, offset, cursor } }) => {
    const userId = await targetUser(actor, user_id);
    const page = await discussions.list(
      { within: followedOrMutedBy(userId), sort: 'latest', limit: limitOf(settings, limit), offset, cursor },
      actor,
    );
    const levels = await subscriptions.of(
      userId,
      page.items.map(({ id }) => id),
    );
    const items = page.items.flatMap(({ id }) => {
      const found = levels.get(id);
      return found ? [{ discussion_id: id, level: found.level, created_at: found.createdAt.toISOString() }] : [];
    });
    return { subscriptions: items, ...pageFields({ ...page, items }) };
  });
}
