import type { PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { postsMoved, type Categories, type Discussions } from 'parley-forum/plugins/discussions';
import { moderationActed, type ActionName, type ModerationEntry } from 'parley-forum/plugins/moderation';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';

/** Where members read what was done to them. */
export const STANDING = '/settings/standing';
/**
 * The notification type of each action. What does not concern the member, such as that their discussion was pinned, has
 * none.
 */
const NOTIFICATION_TYPES: Partial<Record<ActionName, string>> = {
  'post.edited': 'moderation_changed',
  'post.deleted': 'moderation_removed',
  'post.restored': 'moderation_restored',
  'discussion.renamed': 'moderation_changed',
  'discussion.moved': 'moderation_changed',
  'discussion.locked': 'moderation_changed',
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
 * The one type that is mailed. Each has a reason of its own, so it stands alone; what was done in one discussion is one
 * notification while unread.
 */
const MEMBER_TYPE = 'moderation_member';
/** Of posts that moved: each author is notified once, however many of theirs these are. */
const MOVED_TYPE = 'moderation_moved';
const TYPES = [...new Set(Object.values(NOTIFICATION_TYPES)), MOVED_TYPE];
/** Characters of a notification's title. */
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

/** Notifies members of what moderators did to them and to their posts, once, and never by whom. */
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
      // Where there is no reason, or no title that the member may see.
      untitled: mailed ? 'moderation:untitled.account' : 'moderation:untitled.post',
      mailed,
    });
  }

  /** For each member the discussion's title, if they may read its category, also when it is deleted. */
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
      // Readers cannot tell those without a title apart.
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
          // Where it stood leads to where it is, for those who may see that.
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
