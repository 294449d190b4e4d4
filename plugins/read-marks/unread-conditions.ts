import { sql, type RawBuilder } from 'parley-forum';
import type { DiscussionCondition } from 'parley-forum/plugins/discussions';

/** From where on something can be unread for a member. */
export interface ReadStart {
  readonly userId: string;
  /** A discussion that the member never opened is unread if it began after this. */
  readonly newSince: Date;
  /** Whatever had its last post by then is read. So the newest discussions alone are looked at. */
  readonly allReadUntil: Date;
}

/** What is unread for whom; `notMuted`: a condition for whatever can be, where members can mute anything. */
export interface UnreadQuery {
  readonly start: ReadStart;
  readonly notMuted: DiscussionCondition | undefined;
}

const markOf = (userId: string): RawBuilder<unknown> =>
  sql`(select m.last_read_number from read_mark m where m.user_id = ${userId} and m.discussion_id = d.id)`;
/** The number up to which the discussion `d` counts as read, where `mark` is null for one that was never opened. */
const readUpTo = (mark: RawBuilder<unknown>, { newSince }: ReadStart): RawBuilder<unknown> =>
  sql`coalesce(${mark}, case when d.created_at > ${newSince} then 0 else d.last_number end)`;
const and = (condition: DiscussionCondition | undefined): RawBuilder<unknown> =>
  condition ? sql` and ${condition}` : sql``;

/** Whether the discussion `d` has a post that is unread. A deleted one is none. */
export function isUnread({ start, notMuted }: UnreadQuery): DiscussionCondition {
  const read = readUpTo(markOf(start.userId), start);
  return sql<boolean>`d.last_post_at > ${start.allReadUntil} and d.last_number > ${read}
    and exists (select from post p where p.discussion_id = d.id
        and p.number > ${read} and p.deleted_at is null)${and(notMuted)}`;
}

/** Whether the discussion `d` began lately and was never opened. */
export const isNew = ({ start, notMuted }: UnreadQuery): DiscussionCondition =>
  sql<boolean>`d.created_at > ${start.newSince} and d.last_post_at > ${start.allReadUntil} and ${markOf(start.userId)} is null${and(notMuted)}`;

/** What has posts behind the member's mark, which the statement joins as `m`. */
export const isBehind = (start: ReadStart): RawBuilder<unknown> =>
  sql`d.last_post_at > ${start.allReadUntil} and d.last_number > ${readUpTo(sql`m.last_read_number`, start)}`;

/** How many posts of `d` are unread, where the statement joins the member's mark as `m`. */
export function unreadCount({ start, notMuted }: UnreadQuery): RawBuilder<unknown> {
  const read = readUpTo(sql`m.last_read_number`, start);
  const deleted = sql`(select count(*)::integer from post p where p.discussion_id = d.id
    and p.number > ${read} and p.deleted_at is not null)`;
  return sql`case when d.last_post_at > ${start.allReadUntil} and d.last_number > ${read}${and(notMuted)} then d.last_number - ${read} - ${deleted} else 0 end`;
}
