import { Type, type PluginHandle, type Settings } from 'parley-forum';
import { api, Id, limitOf, listOf, pageFields, Paging } from 'parley-forum/plugins/api';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { NotificationRecord } from 'parley-forum/plugins/notifications';
import type { NotificationReader } from './reader.ts';

/**
 * Cache tags of responses with a member's notifications. The member's own tag, which is purged when their notifications
 * change, is added to all their responses.
 */
export const readTags = (): readonly string[] => [discussionCacheTags.categories, discussionCacheTags.all];

/** The routes under /api/notifications, which are always about the caller's own notifications. */
export function addRoutes(
  plugin: PluginHandle,
  { settings, reader }: { settings: Settings; reader: NotificationReader },
): void {
  const own = { can: 'member' } as const;

  plugin.route(api, {
    ...own,
    method: 'get',
    path: '/notifications',
    summary: 'The caller’s notifications, newest first',
    cacheTags: readTags,
    query: Type.Object({
      ...Paging,
      unread: Type.Optional(Type.Boolean({ description: 'Only unread ones' })),
      type: Type.Optional(Type.String({ maxLength: 64, description: 'Only those of this `type`' })),
    }),
    result: listOf('notifications', NotificationRecord),
  })(async ({ actor, query: { limit, offset, cursor, unread, type } }) => {
    const types = type === undefined ? undefined : [type];
    const page = await reader.list(actor, { limit: limitOf(settings, limit), offset, cursor, unread, types });
    return {
      notifications: page.items.map(({ path: _path, untitled: _untitled, values: _values, ...record }) => record),
      ...pageFields(page),
    };
  });

  plugin.route(api, {
    ...own,
    method: 'get',
    path: '/notifications/count',
    summary: 'Number of the caller’s unread notifications',
    cacheTags: readTags,
    result: Type.Object({ count: Type.Integer() }),
  })(async ({ actor }) => ({ count: await reader.unread(actor) }));

  plugin.route(api, {
    ...own,
    method: 'post',
    path: '/notifications/mark-read',
    summary: 'Mark notifications as read: all, or only those given',
    body: Type.Object({ id: Type.Optional(Id), ids: Type.Optional(Type.Array(Id, { maxItems: 1_000 })) }),
    result: Type.Object({ count: Type.Integer() }),
  })(async ({ actor, body: { id, ids } }) => {
    const named =
      id === undefined && ids === undefined ? undefined : [...(ids ?? []), ...(id === undefined ? [] : [id])];
    await reader.read(actor, named && { ids: named });
    return { count: await reader.unread(actor) };
  });
}
