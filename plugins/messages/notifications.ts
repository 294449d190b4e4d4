import type { Data, PluginHandle } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { messageSent } from 'parley-forum/plugins/messages';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import { groupOf, TYPE } from './conversation-service.ts';
import type { ConversationStore } from './conversation-store.ts';
import { pathOf } from './records.ts';

interface NotificationDeps {
  readonly data: Data;
  readonly notifications: Notifications;
  readonly store: ConversationStore;
}

/**
 * Notifies those who have not read a message, with one notification per conversation while it is unread. The
 * notification contains neither subject nor text, so that these are not copied to other tables or sent by mail.
 */
export function notifyParticipants(plugin: PluginHandle, { data, notifications, store }: NotificationDeps): void {
  plugin.extend(notificationTypes, {
    type: TYPE,
    name: 'messages:title',
    label: 'messages:notify',
    sentence: 'messages:notified',
    several: 'messages:notified.several',
    untitled: 'messages:notified.title',
    mailed: true,
    visible: (viewer) => !isGuest(viewer),
  });

  plugin.on(
    messageSent,
    ({ message: { id, conversation_id: conversationId, number, author_id: authorId } }) =>
      // A participant who reads the message or leaves at this moment either does so before the lock, and is not
      // notified, or after it, which also marks the notification as read.
      data.transaction(async () => {
        if (!(await store.lock(conversationId))) return;
        const userIds = await store.awaiting({ conversationId, number, authorId });
        await notifications.notify(
          userIds.map((userId) => ({
            type: TYPE,
            userId,
            actorId: authorId,
            url: pathOf(conversationId),
            group: groupOf(conversationId),
            key: `message:${id}`,
          })),
        );
      }),
    { durable: true },
  );
}
