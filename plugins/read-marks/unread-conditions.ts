import { sql, type RawBuilder } from 'parley-forum';
import type { DiscussionCondition } from 'parley-forum/plugins/discussions';

/** The times from which on something can be unread for a member. */
export interface ReadStart {
  readonly userId: string;
  /** A discussion that the member never opened is unread if it began after this. */
  readonly newSince: Date;
  /** Discussions started by then are new to nobody. */
  readonly oldest: Date;
  /** Discussions whose last post is not after this are read, so only the newest discussions need to be scanned. */
  readonly allReadUntil: Date;
  /** The earliest last post among the discussions that came late, after `allReadUntil`. */
  readonly lateFrom: Date | undefined;
}

/** Defines what is unread for a member; `notMuted` is an extra condition when discussions can be muted. */
export interface UnreadQuery {
  readonly start: ReadStart;
  /** Categories that the member can see. */
  readonly visible: readonly string[];
  readonly notMuted: DiscussionCondition | undefined;
}

const markOf = (userId: string): RawBuilder<unknown> =>
  sql`(select m.last_read_number from read_mark m where m.user_id = ${userId} and m.discussion_id = d.id)`;
/** Since when the member can see the discussion `d`, if it was hidden from them or from everyone before. */
const visibleSince = (visible: readonly string[]): RawBuilder<unknown> =>
  sql`(select max(l.visible_since) from read_late l where l.discussion_id = d.id and l.hidden_in <> all(${visible}::uuid[]))`;
type Reach = Omit<UnreadQuery, 'notMuted'>;

/** Whether the discussion `d`, as this member sees it, started after `since`. */
export const beganAfter = (since: Date, { start, visible }: Reach): RawBuilder<unknown> =>
  start.lateFrom
    ? sql`(d.created_at > ${since} or (d.created_at > ${start.oldest} and ${visibleSince(visible)} > ${since}))`
    : sql`d.created_at > ${since}`;

/** Whether the discussion `d` can have anything unread. Lets the scan of the index stop where nothing can be. */
export const isLookedAt = ({ start: { allReadUntil, lateFrom }, visible }: Reach): RawBuilder<unknown> =>
  lateFrom && lateFrom <= allReadUntil
    ? sql`d.last_post_at >= ${lateFrom} and greatest(d.last_post_at, ${visibleSince(visible)}) > ${allReadUntil}`
    : sql`d.last_post_at > ${allReadUntil}`;

/** The number up to which the discussion `d` counts as read; `mark` is null if it was never opened. */
const readUpTo = (mark: RawBuilder<unknown>, reach: Reach): RawBuilder<unknown> =>
  sql`coalesce(${mark}, case when ${beganAfter(reach.start.newSince, reach)} then 0 else d.last_number end)`;
const and = (condition: DiscussionCondition | undefined): RawBuilder<unknown> =>
  condition ? sql` and ${condition}` : sql``;

/** Whether the discussion `d` has an unread post that is not deleted. */
export function isUnread(query: UnreadQuery): DiscussionCondition {
  const read = readUpTo(markOf(query.start.userId), query);
  return sql<boolean>`${isLookedAt(query)} and d.last_number > ${read}
    and exists (select from post p where p.discussion_id = d.id
        and p.number > ${read} and p.deleted_at is null)${and(query.notMuted)}`;
}

/** Whether the discussion `d` is recent and was never opened. */
export const isNew = (query: UnreadQuery): DiscussionCondition =>
  sql<boolean>`${beganAfter(query.start.newSince, query)} and ${isLookedAt(query)}
    and ${markOf(query.start.userId)} is null${and(query.notMuted)}`;

/** Whether the discussion `d` has posts beyond the member's mark, which the statement joins as `m`. */
export const isBehind = (reach: Reach): RawBuilder<unknown> =>
  sql`${isLookedAt(reach)} and d.last_number > ${readUpTo(sql`m.last_read_number`, reach)}`;

/** The number of unread posts in `d`; the statement joins the member's mark as `m`. */
export function unreadCount(query: UnreadQuery): RawBuilder<unknown> {
  const read = readUpTo(sql`m.last_read_number`, query);
  const deleted = sql`(select count(*)::integer from post p where p.discussion_id = d.id
    and p.number > ${read} and p.deleted_at is not null)`;
  return sql`case when ${isBehind(query)}${and(query.notMuted)} then d.last_number - ${read} - ${deleted} else 0 end`;
}
