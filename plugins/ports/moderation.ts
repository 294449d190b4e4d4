import { defineAction, defineExtensionPoint, type Permission } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Author } from 'parley-forum/plugins/accounts';
import type { Outcome } from 'parley-forum/plugins/reports';

/**
 * A moderator has dealt with a report. `lead_id`: the report that they had before them; the others of its post end with
 * it, in the same transaction.
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

/** A moderator has dealt with a report of a private message; `lead_id` as above. Never with a word of the message. */
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

/** Something that waits for a moderator, as a line of a list. */
export interface WaitingItem {
  /** Its own page. */
  readonly href: string;
  /** Key of a text: why it waits, such as `reports:reason.spam`. */
  readonly reason: string;
  /** Who reported or wrote it; null where they are gone. */
  readonly by: Author | null;
  /** Since when it waits: a moment as in JSON. */
  readonly at: string;
}
/** A list of what waits for moderators. */
export interface ModerationQueue {
  /** Its page. */
  readonly href: string;
  /** Key of a text with plural forms that says how many wait. */
  readonly heading: string;
  /** Who sees it. */
  readonly can: Permission;
  /** How many wait that the viewer may see, and up to `limit` of them, the one whose turn it is first. */
  waiting(viewer: Viewer, limit: number): Promise<{ readonly count: number; readonly items: readonly WaitingItem[] }>;
}
export const moderationQueues = defineExtensionPoint<ModerationQueue>(
  'moderation.queues',
  'What waits for moderators, as the first of their pages lists it.',
  { order: 'The place among the others.' },
);
