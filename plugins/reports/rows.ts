import { sql } from '#core';
import type { Reason, Status } from '#plugins/reports';

/** A report as it is stored. */
export interface ReportRow {
  readonly id: string;
  readonly post_id: string;
  readonly discussion_id: string;
  readonly reporter_id: string;
  readonly reason: Reason;
  readonly note: string;
  readonly status: Status;
  readonly created_at: Date;
  readonly handled_by: string | null;
  readonly handled_at: Date | null;
  readonly handled_note: string;
}
export const columns = sql.raw('id, post_id, discussion_id, reporter_id, reason, note, status, created_at, handled_by, handled_at, handled_note');
