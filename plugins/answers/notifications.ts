import type { PluginHandle } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { answerAccepted } from 'parley-forum/plugins/answers';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';

export interface NotifyDeps {
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly discussions: Pick<Discussions, 'findPost'>;
  readonly notifications: Notifications;
}
const TYPE = 'answer_accepted';

/** Notifies the author of an answer that it was accepted, once per post. */
export function notifyAuthors(plugin: PluginHandle, { accounts, discussions, notifications }: NotifyDeps): void {
  plugin.extend(notificationTypes, {
    type: TYPE,
    name: 'answers:kind',
    label: 'answers:notify',
    sentence: 'answers:notified',
    mailed: false,
  });
  plugin.on(
    answerAccepted,
    async ({ discussion_id: discussionId, post_id: postId, author_id: userId, by }) => {
      const author = (await accounts.viewers([userId])).get(userId);
      const post = author && (await discussions.findPost(postId, author));
      if (!post || post.deleted) return;
      const [url, key] = [`/d/${post.discussion.number}/${post.number}`, `answer:${postId}`];
      await notifications.notify([{ type: TYPE, userId, actorId: by, discussionId, postId, url, group: key, key }]);
    },
    { durable: true },
  );
}
