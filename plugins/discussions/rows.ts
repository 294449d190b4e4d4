import { sql, type RawBuilder } from 'parley-forum';
import { MAX_HTML_BYTES } from 'parley-forum/plugins/markdown';

/** A discussion with the text of its first post, as selected from the database. */
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
  /** Null if the text exceeds the response size limit. */
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
  /** For a stub in the place of a post that was moved to another discussion: the id of that post. */
  readonly moved_post_id: string | null;
  readonly reply_to_number: number | null;
  /** The post that this one answers. */
  readonly answered: { readonly author_id: string; readonly is_deleted: boolean } | null;
  /** Number of replies to this post that are not deleted. */
  readonly reply_count: number;
  /** The first of these replies, if they were selected. */
  readonly replies?: readonly ReplyRow[] | null;
  /** Date of the author’s first post, if it was selected. */
  readonly author_since?: Date | null;
}
/** A reply to a post. */
interface ReplyRow {
  readonly number: number;
  readonly author_id: string;
  /** A date in JSON format. */
  readonly created_at: string;
}

/** Maximum number of bytes of sources and HTML in one response. Encoded as JSON they may take up twice that. */
export const MAX_TEXT_BYTES = 512 * 1024;
/** Characters read of a source that is too long. */
export const PREVIEW_LENGTH = 500;

const column = (post: 'f' | 'p', name: 'content' | 'html'): RawBuilder<unknown> => sql.ref(`${post}.${name}`);
/** Whether the HTML is within the current limit for new posts. Its size is known without decompressing it. */
const withinHtmlLimit = (post: 'f' | 'p'): RawBuilder<unknown> =>
  sql`octet_length(${column(post, 'html')}) <= ${sql.lit(MAX_HTML_BYTES)}`;

/** Bytes of a post's source and of its HTML if that is shown. */
export const textSize = (post: 'f' | 'p'): RawBuilder<unknown> =>
  sql`(octet_length(${column(post, 'content')}) + case when ${withinHtmlLimit(post)} then octet_length(${column(post, 'html')}) else 0 end)`;

/** Source and HTML of a single post; the source is never truncated. */
const ownText = (post: 'f' | 'p'): RawBuilder<unknown> =>
  sql`${column(post, 'content')}, case when ${withinHtmlLimit(post)} then ${column(post, 'html')} end as html`;

/**
 * Source and HTML of one of `count` posts in a list: each has an equal share of the response size limit, and only the
 * beginning of a longer one is read.
 */
function sharedText(post: 'f' | 'p', count: number): RawBuilder<unknown> {
  const fits = sql`(${withinHtmlLimit(post)} and ${textSize(post)} <= ${Math.floor(MAX_TEXT_BYTES / count)})`;
  return sql`case when ${fits} then ${column(post, 'content')} else left(${column(post, 'content')}, ${sql.lit(PREVIEW_LENGTH)}) || '…' end as content,
    case when ${fits} then ${column(post, 'html')} end as html`;
}

/** Columns of `d` (discussion) joined with `f` (its first post), for at most `count` discussions. */
export const discussionColumns = (
  count: number,
): RawBuilder<DiscussionRow> => sql<DiscussionRow>`d.id, d.number, d.title, d.slug, d.category_id, d.author_id,
  d.last_author_id, d.first_post_id, d.last_number, d.reply_count, d.view_count, d.participant_count, d.is_pinned,
  d.is_pinned_everywhere, d.pinned_until, d.is_locked, d.lock_reason, d.last_post_at,
  d.created_at, d.updated_at, d.deleted_at, ${count === 1 ? ownText('f') : sharedText('f', count)}`;

/** Replies to `p`, aliased as `r`. */
const REPLIES = sql`post r where r.discussion_id = p.discussion_id and r.reply_to_number = p.number
  and r.deleted_at is null`;
/** Maximum number of replies that a page lists for each of its posts. */
const MOST_REPLIES = 20;
/** The first replies to `p`; null if there are none. */
export const FIRST_REPLIES = sql`(
  select jsonb_agg(jsonb_build_object('number', f.number, 'author_id', f.author_id, 'created_at', f.created_at)
      order by f.number)
  from (select r.number, r.author_id, r.created_at
      from ${REPLIES} order by r.number limit ${sql.lit(MOST_REPLIES)}) f)`;
/** The post that `p` answers, aliased as `a`. */
const ANSWERED = sql`post a where a.discussion_id = p.discussion_id and a.number = p.reply_to_number`;
/** Its number, unless it is deleted. */
export const VISIBLE_REPLY_TO = sql`(select a.number from ${ANSWERED} and a.deleted_at is null)`;

/** Columns of `p` (post), for at most `count` posts; 1 if each may have its full text. */
export const postColumns = (
  count: number,
): RawBuilder<PostRow> => sql<PostRow>`p.id, p.discussion_id, p.number, p.author_id, p.created_at, p.updated_at,
  p.edited_at, p.deleted_at, p.moved_post_id, p.reply_to_number,
  (select jsonb_build_object('author_id', a.author_id, 'is_deleted', a.deleted_at is not null)
      from ${ANSWERED}) as answered,
  (select count(*)::int from ${REPLIES}) as reply_count, ${count === 1 ? ownText('p') : sharedText('p', count)}`;
