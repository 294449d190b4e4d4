import { defineAction } from 'parley-forum';
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
