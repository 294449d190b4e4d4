import { sql, type Data } from 'parley-forum';
import type { Reason, Status } from 'parley-forum/plugins/reports';

/** A report without the message. */
export interface ReportRow {
  readonly id: string;
  readonly message_id: string;
  /** Who wrote the message. */
  readonly author_id: string;
  /** Null once they have erased their account. */
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
  /** The rules for images under which the HTML was checked. */
  readonly image_rule: string;
  /** When the message was written. */
  readonly sent_at: Date;
}
export const columns = sql.raw(
  'id, message_id, author_id, reporter_id, reason, note, status, created_at, handled_by, handled_at, handled_note',
);
export const fullColumns = sql`${columns}, content, html, image_rule, sent_at`;

/**
 * Ids of the open reports of a message, locked until the transaction ends: always in one order, so that two who do so
 * wait for each other.
 */
export async function lockOpen(data: Data, messageId: string): Promise<readonly string[]> {
  const rows = await data.all(sql<{ id: string }>`select id from message_report
    where message_id = ${messageId} and status = 'open' order by id for update`);
  return rows.map(({ id }) => id);
}
