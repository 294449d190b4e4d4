import type { PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { acted, type ActionName, type ModerationEntry } from 'parley-forum/plugins/moderation';
import { notificationTypes, type Notifications } from 'parley-forum/plugins/notifications';

/** Where members read what was done to them. */
export const STANDING = '/settings/standing';
/**
 * What a member is told of, and as what. What concerns them no further, such as that their discussion was pinned, is
 * not told.
 */
const TOLD: Partial<Record<ActionName, string>> = {
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
export const TOLD_ACTIONS = Object.keys(TOLD) as readonly ActionName[];
/**
 * The one type that is mailed. Each has a reason of its own, so it stands alone; what was done in one discussion is one
 * notification while unread.
 */
const WORD = 'moderation_member';
const TYPES = [...new Set(Object.values(TOLD))];
/** Characters of a notification's title. */
const LENGTH = 200;
/** Where there is no reason, or no title that the member may see. */
const WITHOUT = { member: 'your account', post: 'something you wrote' } as const;

/** Nobody's id, for a look with an administrator's rights. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

interface NoticeParts {
  readonly access: Access;
  readonly categories: Categories;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly discussions: Pick<Discussions, 'find'>;
  readonly notifications: Notifications;
}

/** Tells members what moderators did to them and to what they wrote, once, and never who did. */
export function tellMembers(
  plugin: PluginHandle,
  { access, accounts, categories, discussions, notifications }: NoticeParts,
): void {
  for (const type of TYPES) {
    const mailed = type === WORD;
    plugin.extend(notificationTypes, {
      type,
      label: `moderation:tell.${type}`,
      sentence: `moderation:says.${type}`,
      mailed,
    });
  }

  /** A discussion's title is told to those who may read where it is, also when it is deleted. */
  const titleOf = async ({ user_id: userId = '', discussion }: ModerationEntry): Promise<string | undefined> => {
    if (!discussion) return undefined;
    const everything: Viewer = { id: NOBODY, username: undefined, group: access.groupOf('admin') };
    const [head, viewers] = [await discussions.find(discussion.id, everything), await accounts.viewers([userId])];
    await categories.refresh();
    const viewer = viewers.get(userId);
    return head && viewer && categories.find(head.categoryId, viewer) && head.title;
  };

  plugin.on(
    acted,
    async ({ entry }) => {
      const { id, action, user_id: userId } = entry;
      const type = TOLD[action];
      if (type === undefined || userId === undefined || userId === entry.actor_id) return;
      const key = `moderation:${id}`;
      if (type === WORD) {
        const title = (entry.reason === '' ? WITHOUT.member : entry.reason).slice(0, LENGTH);
        return notifications.notify([{ type, userId, url: STANDING, title, key, group: key }]);
      }
      const title = await titleOf(entry);
      // Those without a title cannot be told apart by whoever reads them.
      const group = title === undefined ? 'moderation' : `moderation:${entry.discussion!.id}`;
      await notifications.notify([
        { type, userId, url: STANDING, title: (title ?? WITHOUT.post).slice(0, LENGTH), key, group },
      ]);
    },
    { durable: true },
  );
}
