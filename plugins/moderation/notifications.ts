import type { PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { postsMoved, type Categories, type Discussions } from 'parley-forum/plugins/discussions';
import { moderationActed, type ActionName, type ModerationEntry } from 'parley-forum/plugins/moderation';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';

/** The page where members read what was done to them. */
export const STANDING = '/settings/standing';
/**
 * The notification type of each action. Actions that do not concern the member, such as pinning their discussion, have
 * none.
 */
const NOTIFICATION_TYPES: Partial<Record<ActionName, string>> = {
  'post.edited': 'moderation_changed',
  'post.deleted': 'moderation_removed',
  'post.restored': 'moderation_restored',
  'discussion.renamed': 'moderation_changed',
  'discussion.moved': 'moderation_changed',
  'discussion.locked': 'moderation_changed',
  'discussion.tagged': 'moderation_changed',
  'discussion.deleted': 'moderation_removed',
  'discussion.restored': 'moderation_restored',
  'member.warned': 'moderation_member',
  'member.suspended': 'moderation_member',
  'member.released': 'moderation_member',
  'member.banned': 'moderation_member',
  'member.unbanned': 'moderation_member',
};
export const NOTIFIED_ACTIONS = Object.keys(NOTIFICATION_TYPES) as readonly ActionName[];
/**
 * The only type that is mailed. Each notification has a reason of its own, so it is not grouped; actions in the same
 * discussion are one notification while unread.
 */
const MEMBER_TYPE = 'moderation_member';
/** For moved posts: each author gets one notification, however many of their posts were moved. */
const MOVED_TYPE = 'moderation_moved';
const TYPES = [...new Set(Object.values(NOTIFICATION_TYPES)), MOVED_TYPE];
/** The maximum length of a notification's title, in characters. */
const MAX_TITLE_LENGTH = 200;

const titled = (text = ''): { readonly title?: string } =>
  text !== '' ? { title: text.slice(0, MAX_TITLE_LENGTH) } : {};

interface NotificationDeps {
  readonly access: Access;
  readonly categories: Categories;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly discussions: Pick<Discussions, 'find'>;
  readonly notifications: Notifications;
}

/** Notifies members once of what moderators did to them and to their posts, and never says who did it. */
export function notifyMembers(
  plugin: PluginHandle,
  { access, accounts, categories, discussions, notifications }: NotificationDeps,
): void {
  for (const type of TYPES) {
    const mailed = type === MEMBER_TYPE;
    plugin.extend(notificationTypes, {
      type,
      name: 'moderation:kind',
      label: `moderation:tell.${type}`,
      sentence: `moderation:says.${type}`,
      // Used when there is no reason, or no title that the member may see.
      untitled: mailed ? 'moderation:untitled.account' : 'moderation:untitled.post',
      mailed,
    });
  }

  /** Returns the discussion's title for each member who may read its category, even if it is deleted. */
  const titlesFor = async (
    userIds: readonly string[],
    discussionId: string,
  ): Promise<(userId: string) => string | undefined> => {
    const [head, viewers] = [
      await discussions.find(discussionId, access.unrestricted),
      await accounts.viewers(userIds),
    ];
    await categories.refresh();
    return (userId) => {
      const viewer = viewers.get(userId);
      return head && viewer && categories.find(head.categoryId, viewer) && head.title;
    };
  };
  const titleOf = async ({ user_id: userId = '', discussion }: ModerationEntry): Promise<string | undefined> =>
    discussion && (await titlesFor([userId], discussion.id))(userId);

  plugin.on(
    moderationActed,
    async ({ entry }) => {
      const { id, action, user_id: userId } = entry;
      const type = NOTIFICATION_TYPES[action];
      if (type === undefined || userId === undefined || userId === entry.actor_id) return;
      const key = `moderation:${id}`;
      if (type === MEMBER_TYPE) {
        return notifications.notify([{ type, userId, url: STANDING, ...titled(entry.reason), key, group: key }]);
      }
      const title = await titleOf(entry);
      // Without a title, readers cannot distinguish them.
      const group = title === undefined ? 'moderation' : `moderation:${entry.discussion!.id}`;
      await notifications.notify([{ type, userId, url: STANDING, ...titled(title), key, group }]);
    },
    { durable: true },
  );

  plugin.on(
    postsMoved,
    async ({ source, discussion, posts, by }, { id }) => {
      const first = new Map(posts.toReversed().map((post) => [post.author_id, post]));
      first.delete(by);
      const titleFor = await titlesFor([...first.keys()], discussion.id);
      const key = `moved:${id}`;
      await notifications.notify(
        [...first].map(([userId, { from_number: number }]) => ({
          type: MOVED_TYPE,
          userId,
          // The old URL redirects to the new place, for members who may see it.
          url: `/d/${source.number}/${number}`,
          ...titled(titleFor(userId)),
          key,
          group: key,
        })),
      );
    },
    { durable: true },
  );
}
