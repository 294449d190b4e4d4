import { sql, type RawBuilder } from 'parley-forum';
import { MAX_HTML_BYTES } from 'parley-forum/plugins/markdown';

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
  readonly is_pinned_everywhere: boolean;
  readonly pinned_until: Date | null;
  readonly is_locked: boolean;
  readonly lock_reason: string | null;
  readonly last_post_at: Date;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly deleted_at: Date | null;
  readonly content: string;
  /** Null where the text is too long for the answer it is read for. */
  readonly html: string | null;
}

export interface PostRow {
  readonly id: string;
  readonly discussion_id: string;
  readonly number: number;
  readonly author_id: string;
  readonly content: string;
  readonly html: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly edited_at: Date | null;
  readonly deleted_at: Date | null;
  /** Of what stands in the place of a post that is another discussion’s now: that post. */
  readonly moved_post_id: string | null;
  readonly reply_to_number: number | null;
  /** What is known of the post that it answers. */
  readonly answered: { readonly author_id: string; readonly is_deleted: boolean } | null;
  /** How many that are not deleted answer it. */
  readonly reply_count: number;
  /** The first of these, where they were read. */
  readonly replies?: readonly ReplyRow[] | null;
  /** Of the author’s first post, where it was read. */
  readonly author_since?: Date | null;
}
/** A post that answers another one. */
interface ReplyRow {
  readonly number: number;
  readonly author_id: string;
  /** As JSON has it. */
  readonly created_at: string;
}

/** Bytes of sources and HTML that one answer carries. Written as JSON they may take twice that. */
export const MAX_TEXT_BYTES = 512 * 1024;
/** Characters of a source of which only the beginning is read. */
export const PREVIEW_LENGTH = 500;

const column = (post: 'f' | 'p', name: 'content' | 'html'): RawBuilder<unknown> => sql.ref(`${post}.${name}`);
/** Whether the HTML is as small as what is written today. Sizes are known without unpacking a text. */
const withinHtmlLimit = (post: 'f' | 'p'): RawBuilder<unknown> =>
  sql`octet_length(${column(post, 'html')}) <= ${sql.lit(MAX_HTML_BYTES)}`;

/** Bytes of a post's source and HTML, as far as they are shown. */
export const textSize = (post: 'f' | 'p'): RawBuilder<unknown> =>
  sql`(octet_length(${column(post, 'content')}) + case when ${withinHtmlLimit(post)} then octet_length(${column(post, 'html')}) else 0 end)`;

/** Source and HTML of a post by itself: the source is always whole. */
const ownText = (post: 'f' | 'p'): RawBuilder<unknown> =>
  sql`${column(post, 'content')}, case when ${withinHtmlLimit(post)} then ${column(post, 'html')} end as html`;

/**
 * Source and HTML of one of `count` posts in a list: each has its share of the answer, and of a longer one only the
 * beginning is read.
 */
function sharedText(post: 'f' | 'p', count: number): RawBuilder<unknown> {
  const fits = sql`(${withinHtmlLimit(post)} and ${textSize(post)} <= ${Math.floor(MAX_TEXT_BYTES / count)})`;
  return sql`case when ${fits} then ${column(post, 'content')} else left(${column(post, 'content')}, ${sql.lit(PREVIEW_LENGTH)}) || '…' end as content,
    case when ${fits} then ${column(post, 'html')} end as html`;
}

/** Columns of `d` (discussion) joined with `f` (its first post), of `count` discussions at most. */
export const discussionColumns = (
  count: number,
): RawBuilder<DiscussionRow> => sql<DiscussionRow>`d.id, d.number, d.title, d.slug, d.category_id, d.author_id,
  d.last_author_id, d.first_post_id, d.last_number, d.reply_count, d.view_count, d.participant_count, d.is_pinned,
  d.is_pinned_everywhere, d.pinned_until, d.is_locked, d.lock_reason, d.last_post_at,
  d.created_at, d.updated_at, d.deleted_at, ${count === 1 ? ownText('f') : sharedText('f', count)}`;

/** Posts that answer `p`, as `r`. */
const REPLIES = sql`post r where r.discussion_id = p.discussion_id and r.reply_to_number = p.number
  and r.deleted_at is null`;
/** Posts that a page names of those that answer one of its own. */
const MOST_REPLIES = 20;
/** The first replies to `p`; null where it has none. */
export const FIRST_REPLIES = sql`(
  select jsonb_agg(jsonb_build_object('number', f.number, 'author_id', f.author_id, 'created_at', f.created_at)
      order by f.number)
  from (select r.number, r.author_id, r.created_at
      from ${REPLIES} order by r.number limit ${sql.lit(MOST_REPLIES)}) f)`;
/** The post that `p` answers, as `a`. */
const ANSWERED = sql`post a where a.discussion_id = p.discussion_id and a.number = p.reply_to_number`;
/** Its number, unless it is deleted. */
export const VISIBLE_REPLY_TO = sql`(select a.number from ${ANSWERED} and a.deleted_at is null)`;

/** Columns of `p` (post), of `count` posts at most; 1 where each may have its full text. */
export const postColumns = (
  count: number,
): RawBuilder<PostRow> => sql<PostRow>`p.id, p.discussion_id, p.number, p.author_id, p.created_at, p.updated_at,
  p.edited_at, p.deleted_at, p.moved_post_id, p.reply_to_number,
  (select jsonb_build_object('author_id', a.author_id, 'is_deleted', a.deleted_at is not null)
      from ${ANSWERED}) as answered,
  (select count(*)::int from ${REPLIES}) as reply_count, ${count === 1 ? ownText('p') : sharedText('p', count)}`;
