import { defineAction, definePermission, Type, type Static } from 'parley-forum';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

/** The actions of moderators, as named in their log. */
export const ACTIONS = [
  'post.edited',
  'post.deleted',
  'post.restored',
  'post.noted',
  'post.note-removed',
  'posts.moved',
  'post.approved',
  'post.rejected',
  'discussion.renamed',
  'discussion.moved',
  'discussion.pinned',
  'discussion.unpinned',
  'discussion.locked',
  'discussion.unlocked',
  'discussion.tagged',
  'discussion.deleted',
  'discussion.restored',
  'discussion.merged',
  'report.resolved',
  'report.dismissed',
  'message-report.resolved',
  'message-report.dismissed',
  'member.warned',
  'member.suspended',
  'member.released',
  'member.banned',
  'member.unbanned',
] as const;
export type ActionName = (typeof ACTIONS)[number];

/** An entry of the moderation log. */
export interface ModerationEntry {
  readonly id: string;
  readonly action: ActionName;
  readonly actor_id: string;
  /** The member concerned, or the author of what was changed. */
  readonly user_id?: string | undefined;
  /** With the title it had at that time. */
  readonly discussion?: { readonly id: string; readonly number: number; readonly title: string } | undefined;
  readonly post?: { readonly id: string; readonly number: number } | undefined;
  readonly report_id?: string | undefined;
  /** May be empty. The member can see it, except for reports. */
  readonly reason: string;
  /** The end of a suspension. */
  readonly until?: string | undefined;
  readonly created_at: string;
}
/** A moderator did something. Raised once per log entry, in the transaction that adds it. */
export const moderationActed = defineAction<{ readonly entry: ModerationEntry }>('moderation.acted');

/**
 * A moderator wrote a note about a member for other moderators; raised in the transaction that stores it. Never
 * includes the text of the note.
 */
export const memberNoted = defineAction<{ readonly userId: string; readonly by: string }>('moderation.member-noted');

/** A note that a moderator wrote on a post for other moderators. */
export const PostNote = Type.Object({
  id: Type.String(),
  content: Type.String(),
  author: nullable(Author),
  created_at: Time,
  can_remove: Type.Boolean({ description: 'Whether the caller may remove it' }),
});
export type PostNote = Static<typeof PostNote>;

/** A moderator exported the log as a file. */
export const moderationLogExported = defineAction<{ readonly by: string }>('moderation.log-exported');

export const openModeration = definePermission('moderation.open', {
  label: 'see the moderators’ pages and log, and read and write notes on members and posts',
  default: 'moderator',
});
export const sanctionMembers = definePermission('moderation.restrain', {
  label: 'warn, suspend and ban members',
  default: 'moderator',
});

export const moderatedMember = defineSlot<Author>(
  'moderation.member',
  'On the moderators’ page about a member, above the earlier actions: panels.',
);
