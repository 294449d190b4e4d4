import { sql, type Data } from 'parley-forum';
import type { Reason, Status } from 'parley-forum/plugins/reports';

/** A report as it is stored. */
export interface ReportRow {
  readonly id: string;
  readonly post_id: string;
  readonly discussion_id: string;
  readonly reporter_id: string;
  /** The author of the reported post. */
  readonly author_id: string;
  readonly reason: Reason;
  readonly note: string;
  readonly status: Status;
  readonly created_at: Date;
  readonly claimed_by: string | null;
  readonly claimed_at: Date | null;
  readonly handled_by: string | null;
  readonly handled_at: Date | null;
  readonly handled_note: string;
}
export const columns =
  sql.raw(`id, post_id, discussion_id, reporter_id, author_id, reason, note, status, created_at, claimed_by, claimed_at, handled_by,
  handled_at, handled_note`);

/**
 * The open reports of a post, locked until the transaction ends. Always in the same order, so that concurrent
 * transactions cannot deadlock.
 */
export const lockOpen = (data: Data, postId: string): Promise<readonly ReportRow[]> =>
  data.all(
    sql<ReportRow>`select ${columns} from report where post_id = ${postId} and status = 'open' order by id for update`,
  );
