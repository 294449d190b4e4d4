import { sql } from 'parley-forum';

/** A bookmark as stored. */
export interface Bookmark {
  readonly id: string;
  readonly userId: string;
  readonly postId: string;
  readonly note: string;
  /** The pending reminder. */
  readonly remindAt: Date | null;
  readonly remindedAt: Date | null;
  readonly createdAt: Date;
}

/** Columns of the bookmark table under the alias `b`. */
export const COLUMNS = sql<Bookmark>`b.id, b.user_id as "userId", b.post_id as "postId", b.note,
  b.remind_at as "remindAt",
  b.reminded_at as "remindedAt", b.created_at as "createdAt"`;
