import { sql, type RawBuilder } from 'parley-forum';
import type { Language } from '../languages.ts';
import { MAX_RANKED } from '../statements.ts';

/** Words of a title that are looked for, the longest: what others must have of them takes no more combinations. */
const MAX_WORDS = 6;
const MOST = 5;

/** Words as the index has them: of a whole title, and of its last word while that is still being written. */
export interface TitleWords {
  readonly all: readonly string[];
  readonly last: readonly string[];
}

/** Reduces a title to the words that the index has. */
export const titleWords = (title: string, language: Language): RawBuilder<TitleWords> => {
  const words = (text: string): RawBuilder<unknown> =>
    sql`tsvector_to_array(to_tsvector(${language}::regconfig, ${text}))`;
  return sql<TitleWords>`select ${words(title)} as all, ${words(/[\p{L}\p{N}]+$/u.exec(title)?.[0] ?? '')} as last`;
};

const longest = ({ all }: TitleWords): readonly string[] =>
  all.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS);
const quoted = (word: string): string => `'${word.replace(/['\\]/g, '$&$&')}'`;

/** The longest of a title's words as queries, each of which matches titles that have it; of the last one, a beginning. */
export const wordsOf = (words: TitleWords): readonly string[] =>
  longest(words).map((word) => `${quoted(word)}:${words.last.includes(word) ? '*' : ''}A`);

/** The newest discussions whose titles have at least half of these words, within a time bucket, as one row of ids. */
export function newestTitles(
  words: readonly string[],
  categories: readonly string[],
  bucket: string | undefined,
): RawBuilder<{ ids: string[] }> {
  const half = choices(words, Math.ceil(words.length / 2)).map((some) => some.join(' & '));
  const query = `(${half.join(' | ')})${bucket === undefined ? '' : ` & ${bucket}`}`;
  return sql<{ ids: string[] }>`select coalesce(array_agg(id), '{}') as ids from (
    select id from search_post where visible and category_id = any(${categories}::uuid[])
      and vector @@ ${query}::tsquery
    order by created_at desc, id desc limit ${sql.raw(String(MAX_RANKED))}) newest`;
}

/** Those with most of the words, then with the fewest others. */
export const closestTitles = (
  words: readonly string[],
  ids: readonly string[],
): RawBuilder<{ readonly discussion_id: string }> => sql<{ readonly discussion_id: string }>`
  select discussion_id from search_post where id = any(${ids}::uuid[])
  order by (select count(*) from unnest(${words}::text[]) word where vector @@ word::tsquery) desc,
    length(ts_filter(vector, '{a}')), created_at desc, id desc limit ${MOST}`;

/** Two of a title's longest words, wherever a post has them; undefined for a title without any. */
export function twoWordsOf(title: TitleWords): string | undefined {
  const words = longest(title).map(quoted);
  if (words.length === 0) return undefined;
  return choices(words, Math.min(2, words.length))
    .map((some) => some.join(' & '))
    .join(' | ');
}

/** The newest first posts that match, within a time bucket, as one row of ids. */
export const newestOpenings = (
  query: string,
  categories: readonly string[],
  bucket: string | undefined,
): RawBuilder<{ ids: string[] }> => sql<{ ids: string[] }>`select coalesce(array_agg(id), '{}') as ids from (
    select id from search_post where visible and number = 1 and category_id = any(${categories}::uuid[])
      and vector @@ ${bucket === undefined ? query : `(${query}) & ${bucket}`}::tsquery
    order by created_at desc, id desc limit ${sql.raw(String(MAX_RANKED))}) newest`;

/** Those of these posts that match best, without one discussion. */
export const closestOpenings = (
  query: string,
  ids: readonly string[],
  besides: string,
): RawBuilder<{ readonly discussion_id: string }> => sql<{ readonly discussion_id: string }>`
  select discussion_id from search_post where id = any(${ids}::uuid[]) and discussion_id <> ${besides}
  order by ts_rank(vector, ${query}::tsquery, 1) desc, created_at desc, id desc limit ${MOST}`;

/** All ways to take so many of some things. */
const choices = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  size === 0 ? [[]] : all.flatMap((one, at) => choices(all.slice(at + 1), size - 1).map((others) => [one, ...others]));
