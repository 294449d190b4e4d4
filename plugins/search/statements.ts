import { sql, type RawBuilder } from 'parley-forum';
import type { Language } from './languages.ts';

/** Delimiters of matches in an excerpt; indexed texts contain no control characters. */
export const MARKERS = { begin: '\u0002', end: '\u0003' } as const;
/** Maximum number of matching posts that are ranked: for common words, the newest ones. */
export const MAX_RANKED = 250;
/**
 * Maximum number of these from one discussion when searching for discussions; a first post that matches is always
 * included.
 */
const MAX_PER_DISCUSSION = 3;
/** Seconds after which the score of a post is halved. */
const HALF_LIFE = 365 * 86_400;
/**
 * Characters of a post from which its excerpt is made: `most` per post and `together` for the results of a page, so
 * that lower results get less, but never less than `least`.
 */
const EXCERPT_SOURCE = { most: 20_000, together: 50_000, least: 400 } as const;
const EXCERPT = `StartSel=${MARKERS.begin}, StopSel=${MARKERS.end}, MaxWords=30, MinWords=15, MaxFragments=2, FragmentDelimiter=" … "`;

/** Determines which posts match. */
export interface PostFilter {
  readonly language: Language;
  /** May be empty, in which case all posts match. */
  readonly text: string;
  /** Conditions on `p`, in addition to being visible and matching. */
  readonly conditions: readonly RawBuilder<unknown>[];
  /** Return each discussion once, with its best post. */
  readonly perDiscussion: boolean;
  /** Order by time only, not by how well a post matches. */
  readonly newestFirst: boolean;
}
/** A post found by a search. */
export interface FoundRow {
  readonly id: string;
  readonly discussion_id: string;
  readonly number: number;
  readonly author_id: string;
  readonly category_id: string;
  readonly created_at: Date;
  readonly score: number;
  readonly excerpt: string;
}
export interface PageRange {
  readonly limit: number;
  readonly offset: number;
  /** Score and id of the last row of the previous page. */
  readonly after: readonly [number, string] | undefined;
}

const wordsOf = ({ language, text }: Pick<PostFilter, 'language' | 'text'>): RawBuilder<unknown> =>
  sql`websearch_to_tsquery(${language}::regconfig, ${text})`;
/** A literal, because for a parameter the planner would have to guess. */
const most = sql.raw(String(MAX_RANKED));

/** The newest matches within a time bucket, as one row of ids. */
export function newestMatches(filter: PostFilter, bucket: string | undefined): RawBuilder<{ ids: string[] }> {
  const { text, conditions, perDiscussion } = filter;
  const words = wordsOf(filter);
  // A text that consists only of stop words, which are not indexed, matches nothing.
  const fits =
    text === ''
      ? []
      : [
          sql`numnode(${words}) > 0`,
          sql`p.vector @@ (${words}${bucket === undefined ? sql`` : sql` && ${bucket}::tsquery`})`,
        ];
  const matches = sql`select p.id, p.discussion_id, p.number, p.created_at from search_post p
    where ${sql.join([sql`p.visible`, ...fits, ...conditions], sql` and `)}`;
  const newest = sql`order by created_at desc, id desc limit ${most}`;
  if (text === '') return sql`select coalesce(array_agg(id), '{}') as ids from (${matches} ${newest}) newest`;
  const few = sql`select id, created_at from (
    select *, row_number() over (partition by discussion_id order by number = 1 desc, created_at desc, id desc) as place
    from matches) m where place <= ${MAX_PER_DISCUSSION}`;
  return sql`with matches as materialized (${matches})
    select coalesce(array_agg(id), '{}') as ids
    from (${perDiscussion ? few : sql`select id, created_at from matches`} ${newest}) newest`;
}

/**
 * One page of the posts `ids`, best first. The score of a post does not depend on the current time: it is the logarithm
 * of its rank plus its time in half-lives, so pages stay consistent however long the user reads. One row more than
 * `limit` tells whether there is a next page.
 */
export function rankedPage(
  filter: PostFilter,
  ids: readonly string[],
  { limit, offset, after }: PageRange,
): RawBuilder<FoundRow> {
  const { language, text, perDiscussion, newestFirst } = filter;
  const words = wordsOf(filter);
  const fit = text === '' || newestFirst ? sql`0` : sql`ln(greatest(ts_rank(vector, ${words}, 1), 1e-6)::float8)`;
  const begin = sql`left(body, room)`;
  const before = sql`sum(least(length(body), ${EXCERPT_SOURCE.most}::int)) over (order by score desc, id desc rows between unbounded preceding and 1 preceding)`;
  // The title is shown before the text if the text alone would not show why the post was found.
  const shown = sql`case
    when title <> '' and not to_tsvector(${language}::regconfig, ${begin}) @@ ${words} then title || ' – ' || ${begin} else ${begin} end`;
  const excerpt =
    text === '' ? sql`left(body, 240)` : sql`ts_headline(${language}::regconfig, ${shown}, ${words}, ${EXCERPT})`;
  return sql<FoundRow>`
    with scored as (
      select id, discussion_id,
        ${fit} + extract(epoch from created_at)::float8 * ${Math.LN2 / HALF_LIFE}::float8 as score from search_post
          where id = any(${ids}::uuid[])
    ), best as (
      select ${perDiscussion ? sql`distinct on (discussion_id)` : sql``} id, score
        from scored ${perDiscussion ? sql`order by discussion_id, score desc, id desc` : sql``}
    ), page as (
      select id, score from best ${after ? sql`where (score, id) < (${after[0]}::float8, ${after[1]}::uuid)` : sql``}
      order by score desc, id desc limit ${limit + 1} offset ${offset}
    ), texts as (
      select *, greatest(${EXCERPT_SOURCE.least}::int, least(${EXCERPT_SOURCE.most}::int, ${EXCERPT_SOURCE.together}::int - coalesce(${before}, 0)))::int as room
      from page join search_post using (id)
    )
    select id, discussion_id, number, author_id, category_id, created_at, score, ${excerpt} as excerpt
    from texts order by score desc, id desc`;
}
