import { defineAction, defineExtensionPoint, type Permission } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Author } from 'parley-forum/plugins/accounts';
import type { Outcome } from 'parley-forum/plugins/reports';

/**
 * A moderator has handled a report. `lead_id` is the report they had in front of them; the other reports of the same
 * post are closed with it, in the same transaction.
 */
export const reportHandled = defineAction<{
  readonly report: {
    readonly id: string;
    readonly lead_id: string;
    readonly post_id: string;
    readonly discussion_id: string;
    readonly reporter_id: string;
    readonly author_id: string;
    readonly outcome: Outcome;
    readonly handler_id: string;
    readonly note: string;
    readonly handled_at: string;
  };
}>('report.handled');

/**
 * A moderator has handled a report of a private message; `lead_id` as above. Never contains any text of the message.
 */
export const messageReportHandled = defineAction<{
  readonly report: {
    readonly id: string;
    readonly lead_id: string;
    /** Null once they have erased their account. */
    readonly reporter_id: string | null;
    readonly author_id: string;
    readonly outcome: Outcome;
    readonly handler_id: string;
    readonly handled_at: string;
  };
}>('message-report.handled');

/** An item waiting for a moderator, as a row of a list. */
export interface WaitingItem {
  /** URL of the item's own page. */
  readonly href: string;
  /** Text key for why it is waiting, such as `reports:reason.spam`. */
  readonly reason: string;
  /** The member who reported or wrote it; null if their account no longer exists. */
  readonly by: Author | null;
  /** Since when it has been waiting: a timestamp as in JSON. */
  readonly at: string;
}
/** A queue of items waiting for moderators. */
export interface ModerationQueue {
  /** URL of the queue's page. */
  readonly href: string;
  /** Text key with plural forms that says how many items are waiting. */
  readonly heading: string;
  /** The permission needed to see it. */
  readonly can: Permission;
  /** How many items visible to the viewer are waiting, and up to `limit` of them, next in line first. */
  waiting(viewer: Viewer, limit: number): Promise<{ readonly count: number; readonly items: readonly WaitingItem[] }>;
}
export const moderationQueues = defineExtensionPoint<ModerationQueue>(
  'moderation.queues',
  'Queues of items that wait for moderators, listed on their first page.',
  { order: 'The position among the queues.' },
);
