import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { notificationTypes, type Notifications } from 'parley-forum/plugins/notifications';
import { manageWebhooks, webhookDisabled } from 'parley-forum/plugins/webhooks';

/** How many are told at a time. */
const TOGETHER = 100;
const TYPE = 'webhook_disabled';

export interface TellingParts {
  readonly access: Access;
  readonly accounts: Accounts;
  readonly notifications: Notifications;
}

/** Tells those who manage webhooks that one was switched off. */
export function tellWhenDisabled(plugin: PluginHandle, { access, accounts, notifications }: TellingParts): void {
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
        for (let offset = 0; ; offset += TOGETHER) {
          const found = await accounts.search({ text: '', groupId: group.id, limit: TOGETHER, offset });
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
          if (offset + TOGETHER >= found.total) break;
        }
      }
    },
    { durable: true },
  );
}
