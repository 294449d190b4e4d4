import { sql } from 'parley-forum';
import type { Reason } from 'parley-forum/plugins/approval';
import type { NewDiscussion, NewReply } from 'parley-forum/plugins/discussions';

type Status = 'held' | 'approved' | 'rejected';
/** The submitted draft; an empty object once the post is approved. */
type StoredDraft = NewDiscussion | NewReply;

/** A post as it is stored. */
export interface HeldRow {
  readonly id: string;
  readonly author_id: string;
  /** The discussion of a reply. */
  readonly discussion_id: string | null;
  readonly category_id: string;
  readonly draft: StoredDraft;
  readonly title: string;
  readonly html: string;
  readonly reason: Reason;
  readonly status: Status;
  readonly created_at: Date;
  readonly reviewed_at: Date | null;
  readonly review_reason: string;
}
export const columns = sql.raw(
  'id, author_id, discussion_id, category_id, draft, title, html, reason, status, created_at, reviewed_at, review_reason',
);
