import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import { manageWebhooks, webhookDisabled } from 'parley-forum/plugins/webhooks';

/** Number of members notified per batch. */
const BATCH_SIZE = 100;
const TYPE = 'webhook_disabled';

export interface DisabledNotificationsDeps {
  readonly access: Access;
  readonly accounts: Accounts;
  readonly notifications: Notifications;
}

/** Notifies members who manage webhooks when one was switched off automatically. */
export function notifyWhenDisabled(
  plugin: PluginHandle,
  { access, accounts, notifications }: DisabledNotificationsDeps,
): void {
  const visible = (viewer: Viewer): boolean => access.allows(viewer, manageWebhooks);
  plugin.extend(notificationTypes, {
    type: TYPE,
    label: 'webhooks:tell.disabled',
    sentence: 'webhooks:says.disabled',
    mailed: true,
    visible,
  });

  plugin.on(
    webhookDisabled,
    async ({ webhook: { id, name } }, { id: key }) => {
      const groups = access
        .groups()
        .filter((group) => access.allows({ id: undefined, username: undefined, group }, manageWebhooks));
      for (const group of groups) {
        for (let offset = 0; ; offset += BATCH_SIZE) {
          const found = await accounts.search({ text: '', groupId: group.id, limit: BATCH_SIZE, offset });
          await notifications.notify(
            found.accounts.map(({ id: userId }) => ({
              type: TYPE,
              userId,
              url: `/admin/webhooks?id=${id}`,
              title: name,
              group: id,
              key,
            })),
          );
          if (offset + BATCH_SIZE >= found.total) break;
        }
      }
    },
    { durable: true },
  );
}
