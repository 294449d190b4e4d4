import { sql, type RawBuilder } from '#core';

/** A discussion with what its first post says, as the database gives it. */
export interface DiscussionRow {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly slug: string;
  readonly category_id: string;
  readonly author_id: string;
  readonly last_author_id: string;
  readonly first_post_id: string;
  readonly last_number: number;
  readonly reply_count: number;
  readonly view_count: number;
  readonly participant_count: number;
  readonly is_pinned: boolean;
  readonly is_locked: boolean;
  readonly last_post_at: Date;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
  readonly content: string;
  readonly html: string;
}

export interface PostRow {
  readonly id: string;
  readonly discussion_id: string;
  readonly number: number;
  readonly author_id: string;
  readonly content: string;
  readonly html: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly edited_at: Date | null;
  readonly deleted_at: Date | null;
}

/** Columns of `d` (discussion) joined with `f` (its first post). */
export const discussionColumns: RawBuilder<DiscussionRow> = sql<DiscussionRow>`d.id, d.number, d.title, d.slug, d.category_id, d.author_id, d.last_author_id,
  d.first_post_id, d.last_number, d.reply_count, d.view_count, d.participant_count, d.is_pinned, d.is_locked, d.last_post_at, d.created_at, d.updated_at,
  d.deleted_at, f.content, f.html`;

export const postColumns: RawBuilder<PostRow> = sql<PostRow>`p.id, p.discussion_id, p.number, p.author_id, p.content, p.html, p.created_at, p.updated_at,
  p.edited_at, p.deleted_at`;
