import { sql, type Data } from 'parley-forum';
import type { Reason, Status } from 'parley-forum/plugins/reports';

/** A report without the message. */
export interface ReportRow {
  readonly id: string;
  readonly message_id: string;
  /** The author of the message. */
  readonly author_id: string;
  /** Null once the reporter has erased their account. */
  readonly reporter_id: string | null;
  readonly reason: Reason;
  readonly note: string;
  readonly status: Status;
  readonly created_at: Date;
  readonly handled_by: string | null;
  readonly handled_at: Date | null;
  readonly handled_note: string;
}
/** A report with its copy of the message, which is empty once the author has erased their account. */
export interface FullReportRow extends ReportRow {
  readonly content: string;
  readonly html: string;
  /** The version of the image rules that the HTML was checked against. */
  readonly image_rule: string;
  /** When the message was written. */
  readonly sent_at: Date;
}
export const columns = sql.raw(
  'id, message_id, author_id, reporter_id, reason, note, status, created_at, handled_by, handled_at, handled_note',
);
export const fullColumns = sql`${columns}, content, html, image_rule, sent_at`;

/**
 * The ids of the open reports of a message, locked until the transaction ends. Always in the same order, so that
 * concurrent transactions cannot deadlock.
 */
export async function lockOpen(data: Data, messageId: string): Promise<readonly string[]> {
  const rows = await data.all(sql<{ id: string }>`select id from message_report
    where message_id = ${messageId} and status = 'open' order by id for update`);
  return rows.map(({ id }) => id);
}
