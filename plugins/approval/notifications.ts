import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { holdersOf, type Accounts } from 'parley-forum/plugins/accounts';
import { reviewPosts } from 'parley-forum/plugins/approval';
import { postHeld, postReviewed } from 'parley-forum/plugins/discussions';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import type { HeldPosts } from './held-posts.ts';
import { OWN } from './holder.ts';
import { QUEUE } from './queue-pages.ts';
import type { Rules } from './rules.ts';

interface NotificationDeps {
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'search' | 'viewers'>;
  readonly notifications: Notifications;
  readonly posts: HeldPosts;
  readonly rules: Rules;
}
const [HELD, APPROVED, REJECTED] = ['post_held', 'post_approved', 'post_rejected'] as const;

/**
 * Notifies the members who review posts, with one notification while it is unread, and authors about the decisions on
 * their posts, never saying who made them.
 */
export function notifyPeople(
  plugin: PluginHandle,
  { access, accounts, notifications, posts, rules }: NotificationDeps,
): void {
  plugin.extend(notificationTypes, {
    type: HELD,
    name: 'approval:kind',
    label: 'approval:tell.held',
    sentence: 'approval:says.held',
    untitled: 'approval:untitled.held',
    mailed: false,
    visible: (viewer: Viewer) => access.allows(viewer, reviewPosts),
  });
  for (const type of [APPROVED, REJECTED] as const) {
    plugin.extend(notificationTypes, {
      type,
      name: 'approval:kind',
      label: `approval:tell.${type}`,
      sentence: `approval:says.${type}`,
      untitled: `approval:untitled.${type}`,
      mailed: false,
      fromMuted: true,
      visible: (viewer: Viewer) => rules.concerns(viewer),
    });
  }

  plugin.on(
    postHeld,
    async ({ held_post: { id } }) => {
      const key = `held-post:${id}`;
      for await (const viewers of holdersOf(reviewPosts, { access, accounts })) {
        const recipients: string[] = [];
        for (const viewer of viewers) if ((await posts.visible([id], viewer)).has(id)) recipients.push(viewer.id!);
        await notifications.notify(
          recipients.map((userId) => ({ type: HELD, userId, url: QUEUE, group: 'approval', key })),
        );
      }
    },
    { durable: true },
  );

  plugin.on(
    postReviewed,
    async ({ review: { id, author_id: userId, outcome, reason, discussion, post } }) => {
      const key = `held-post:${id}`;
      await notifications.notify([
        outcome === 'approved' && discussion && post
          ? {
              type: APPROVED,
              userId,
              discussionId: discussion.id,
              postId: post.id,
              url: `/d/${discussion.number}/${post.number}`,
              group: key,
              key,
            }
          : {
              type: REJECTED,
              userId,
              url: OWN,
              ...(reason !== '' && { title: reason.slice(0, 200) }),
              group: key,
              key,
            },
      ]);
    },
    { durable: true },
  );
}
