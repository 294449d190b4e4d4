import { sql, type RawBuilder } from 'parley-forum';

/**
 * Each post is also indexed under special words for time buckets: its week, its four weeks, its sixteen weeks, and so
 * on. They start with a sign, so they cannot occur in texts. This allows the index to find the newest matches of a
 * common word without reading all of them.
 */
const LEVELS = 5;
const WEEK = 7 * 86_400;

/** A tsvector of the time buckets of the column `created_at`. */
export const bucketWords: RawBuilder<unknown> = sql.raw(
  `array_to_tsvector(array[${Array.from({ length: LEVELS }, (_, level) => `'@${level}:' || (floor(extract(epoch from created_at) / ${WEEK})::int >> ${2 * level})`).join(', ')}])`,
);

/** The buckets that end with `newest`, shortest first; `undefined` stands for all time. */
export function bucketsBefore(newest: Date): readonly (string | undefined)[] {
  const week = Math.floor(newest.getTime() / 1_000 / WEEK);
  return [...Array.from({ length: LEVELS }, (_, level) => `'@${level}:${week >> (2 * level)}'`), undefined];
}
