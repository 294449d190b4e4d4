import type { Environment, PluginHandle } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { discussionCreated, postCreated, type Discussions } from 'parley-forum/plugins/discussions';
import {
  notificationTypes,
  type NewNotification,
  type Notifications,
  type NotificationType,
} from 'parley-forum/ports/notifications';
import { reactionAdded } from 'parley-forum/ports/reactions';
import { reportHandled } from 'parley-forum/ports/moderation';
import type { Subscriptions } from 'parley-forum/ports/subscriptions';
import { parseMentions } from './mentions.ts';
import type { Visibility } from '../visibility.ts';

export interface SourcesDeps {
  readonly environment: Environment;
  readonly accounts: Accounts;
  readonly discussions: Discussions;
  readonly subscriptions: Subscriptions | undefined;
  readonly notifications: Notifications;
  readonly visibility: Visibility;
}
/** A new post, with everything that notifications about it need. */
interface WrittenPost {
  readonly html: string;
  readonly authorId: string;
  readonly discussionId: string;
  readonly postId?: string;
  readonly url: string;
  /** Key by which a member gets only one notification about it, whether they are mentioned, quoted, or watching. */
  readonly key: string;
}
/** Number of watchers notified at a time. */
const WATCHERS = 500;

/** The plugin's own notifications. All are durable, and sent once however often the work is retried. */
export function addSources(
  plugin: PluginHandle,
  { environment, accounts, discussions, subscriptions, notifications, visibility }: SourcesDeps,
): void {
  const type = (
    name: string,
    mailed: boolean,
    more: Pick<NotificationType, 'fromMuted' | 'untitled' | 'several'> = {},
  ): void =>
    plugin.extend(notificationTypes, {
      type: name,
      name: `notifications:kind.${name}`,
      label: `notifications:tell.${name}`,
      sentence: `notifications:says.${name}`,
      mailed,
      ...more,
    });
  type('reply', true, { several: 'notifications:several.reply' });
  type('mention', true, { fromMuted: true });
  type('quote', true);
  type('new_discussion', false);
  type('reaction', false, { several: 'notifications:several.reaction' });
  type('report_handled', false, { fromMuted: true, untitled: 'notifications:untitled.report_handled' });
  const pathOf = (url: string): string => url.slice(environment.baseUrl.length);
  const about = ({ authorId, discussionId, postId, url, key }: WrittenPost) => ({
    actorId: authorId,
    discussionId,
    ...(postId !== undefined && { postId }),
    url,
    key,
  });

  const notifyMentioned = async (written: WrittenPost): Promise<void> => {
    const { mentioned, quoted } = parseMentions(written.html);
    if (mentioned.length + quoted.length === 0) return;
    const ids = await accounts.idsByUsername([...mentioned, ...quoted]);
    const notificationsFor = (names: readonly string[], kind: string): NewNotification[] =>
      names.flatMap((name) => {
        const userId = ids.get(name);
        return userId === undefined ? [] : [{ ...about(written), type: kind, userId, group: written.key }];
      });
    await notifications.notify([...notificationsFor(mentioned, 'mention'), ...notificationsFor(quoted, 'quote')]);
  };

  /** Notifies all members that `read` returns, page by page. */
  const notifyAll = async (
    notification: Omit<NewNotification, 'userId'>,
    read: (page: { readonly after?: string; readonly limit: number }) => Promise<readonly string[]> | undefined,
  ): Promise<void> => {
    let after: string | undefined;
    for (;;) {
      const members = (await read({ limit: WATCHERS, ...(after !== undefined && { after }) })) ?? [];
      await notifications.notify(members.map((userId) => ({ ...notification, userId })));
      if (members.length < WATCHERS) return;
      after = members.at(-1);
    }
  };

  plugin.on(
    discussionCreated,
    async ({ discussion: { id, url, author, category_id: categoryId } }) => {
      const viewer = (await accounts.viewers([author.id])).get(author.id);
      const [record] = viewer ? await discussions.records([id], viewer) : [];
      if (!record) return;
      const { html } = record;
      const written = { html, authorId: author.id, discussionId: id, url: pathOf(url), key: `discussion:${id}` };
      await notifyMentioned(written);
      await notifyAll({ ...about(written), type: 'new_discussion' }, (page) =>
        subscriptions?.followers({ id, categoryId, authorId: author.id }, page),
      );
    },
    { durable: true },
  );

  plugin.on(
    postCreated,
    async ({ post, category_id: categoryId, reply_to_author_id: answered }) => {
      const { id: postId, html, author, discussion_id: discussionId } = post;
      const written = { html, authorId: author.id, discussionId, postId, url: pathOf(post.url), key: `post:${postId}` };
      await notifyMentioned(written);
      if (answered !== undefined) await notifications.notify([{ ...about(written), type: 'reply', userId: answered }]);
      await notifyAll({ ...about(written), type: 'reply' }, (page) =>
        subscriptions?.watchers({ id: discussionId, categoryId }, page),
      );
    },
    { durable: true },
  );

  plugin.on(
    reactionAdded,
    async ({ reaction, post_id: postId, discussion_id: discussionId, author_id: userId, actor }) => {
      const viewer = (await accounts.viewers([userId])).get(userId);
      const post = viewer && (await discussions.findPost(postId, viewer));
      if (!post) return;
      const url = `/d/${post.discussion.number}/${post.number}`;
      // Removing a reaction and adding it again does not notify twice.
      const key = `${reaction}:${postId}:${actor.id}`;
      await notifications.notify([
        { type: 'reaction', userId, actorId: actor.id, discussionId, postId, url, group: `post:${postId}`, key },
      ]);
    },
    { durable: true },
  );

  plugin.on(
    reportHandled,
    async ({ report: { id, discussion_id: discussionId, reporter_id: userId } }) => {
      // Does not refer to the post, which may have been deleted because of the report, nor to a discussion that was
      // deleted too.
      const head = await visibility.head(discussionId);
      const where = head ? { discussionId, url: `/d/${head.number}` } : { url: '/notifications' };
      await notifications.notify([
        { type: 'report_handled', userId, ...where, group: `report:${id}`, key: `report:${id}` },
      ]);
    },
    { durable: true },
  );
}
