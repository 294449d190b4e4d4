import { sql, type RawBuilder } from 'parley-forum';

/**
 * Each post is also indexed under words for time buckets: its week, its four weeks, its sixteen, and so on. No text has
 * such words, since they begin with a sign. So the index itself finds the newest matches of a common word without
 * reading all of them.
 */
const LEVELS = 5;
const WEEK = 7 * 86_400;

/** A tsvector of the time buckets of the column `created_at`. */
export const bucketWords: RawBuilder<unknown> = sql.raw(
  `array_to_tsvector(array[${Array.from({ length: LEVELS }, (_, level) => `'@${level}:' || (floor(extract(epoch from created_at) / ${WEEK})::int >> ${2 * level})`).join(', ')}])`,
);

/** The buckets that end with `newest`, the shortest first; `undefined`: all time. */
export function bucketsBefore(newest: Date): readonly (string | undefined)[] {
  const week = Math.floor(newest.getTime() / 1_000 / WEEK);
  return [...Array.from({ length: LEVELS }, (_, level) => `'@${level}:${week >> (2 * level)}'`), undefined];
}
