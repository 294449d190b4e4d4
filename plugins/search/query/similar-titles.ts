import { sql, type RawBuilder } from 'parley-forum';
import type { Language } from '../languages.ts';
import { MAX_RANKED } from '../statements.ts';

/**
 * Maximum number of words of a title to search for; the longest are used. This limits the combinations of words that
 * other titles must contain.
 */
const MAX_WORDS = 6;
const MOST = 5;

/**
 * Words in the form in which they are indexed: of a whole title, and of its last word, which may still be incomplete.
 */
export interface TitleWords {
  readonly all: readonly string[];
  readonly last: readonly string[];
}

/** Reduces a title to the words in the index. */
export const titleWords = (title: string, language: Language): RawBuilder<TitleWords> => {
  const words = (text: string): RawBuilder<unknown> =>
    sql`tsvector_to_array(to_tsvector(${language}::regconfig, ${text}))`;
  return sql<TitleWords>`select ${words(title)} as all, ${words(/[\p{L}\p{N}]+$/u.exec(title)?.[0] ?? '')} as last`;
};

const longest = ({ all }: TitleWords): readonly string[] =>
  all.toSorted((a, b) => b.length - a.length).slice(0, MAX_WORDS);
const quoted = (word: string): string => `'${word.replace(/['\\]/g, '$&$&')}'`;

/** The longest words of a title as queries that match titles containing them; the last word is matched as a prefix. */
export const wordsOf = (words: TitleWords): readonly string[] =>
  longest(words).map((word) => `${quoted(word)}:${words.last.includes(word) ? '*' : ''}A`);

/** The newest discussions in a time bucket whose titles contain at least half of these words, as one row of ids. */
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

/** Those with the most matching words, then with the fewest other words. */
export const closestTitles = (
  words: readonly string[],
  ids: readonly string[],
): RawBuilder<{ readonly discussion_id: string }> => sql<{ readonly discussion_id: string }>`
  select discussion_id from search_post where id = any(${ids}::uuid[])
  order by (select count(*) from unnest(${words}::text[]) word where vector @@ word::tsquery) desc,
    length(ts_filter(vector, '{a}')), created_at desc, id desc limit ${MOST}`;

/** A query for any two of a title's longest words, anywhere in a post; undefined if the title has none. */
export function twoWordsOf(title: TitleWords): string | undefined {
  const words = longest(title).map(quoted);
  if (words.length === 0) return undefined;
  return choices(words, Math.min(2, words.length))
    .map((some) => some.join(' & '))
    .join(' | ');
}

/** The newest first posts in a time bucket that match, as one row of ids. */
export const newestOpenings = (
  query: string,
  categories: readonly string[],
  bucket: string | undefined,
): RawBuilder<{ ids: string[] }> => sql<{ ids: string[] }>`select coalesce(array_agg(id), '{}') as ids from (
    select id from search_post where visible and number = 1 and category_id = any(${categories}::uuid[])
      and vector @@ ${bucket === undefined ? query : `(${query}) & ${bucket}`}::tsquery
    order by created_at desc, id desc limit ${sql.raw(String(MAX_RANKED))}) newest`;

/** The best matches among these posts, except those of one discussion. */
export const closestOpenings = (
  query: string,
  ids: readonly string[],
  besides: string,
): RawBuilder<{ readonly discussion_id: string }> => sql<{ readonly discussion_id: string }>`
  select discussion_id from search_post where id = any(${ids}::uuid[]) and discussion_id <> ${besides}
  order by ts_rank(vector, ${query}::tsquery, 1) desc, created_at desc, id desc limit ${MOST}`;

/** All combinations of `size` items. */
const choices = <T>(all: readonly T[], size: number): readonly (readonly T[])[] =>
  size === 0 ? [[]] : all.flatMap((one, at) => choices(all.slice(at + 1), size - 1).map((others) => [one, ...others]));
