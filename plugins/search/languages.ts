import { sql, type RawBuilder } from 'parley-forum';
import { bucketWords } from './time-buckets.ts';

/** Whose words PostgreSQL can reduce to their stems; `simple` takes every word as it is. */
export const LANGUAGES = [
  'simple',
  'arabic',
  'armenian',
  'basque',
  'catalan',
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'greek',
  'hindi',
  'hungarian',
  'indonesian',
  'irish',
  'italian',
  'lithuanian',
  'nepali',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'serbian',
  'spanish',
  'swedish',
  'tamil',
  'turkish',
  'yiddish',
] as const;
export type Language = (typeof LANGUAGES)[number];

interface Indexed {
  readonly language: RawBuilder<unknown>;
  readonly title: RawBuilder<unknown>;
  readonly body: RawBuilder<unknown>;
}

/**
 * What is searched of the post whose time is in the column `created_at`: words of its title weigh more than those of
 * its text.
 */
export const vectorOf = ({ language, title, body }: Indexed): RawBuilder<unknown> =>
  sql`setweight(to_tsvector(${language}::regconfig, ${title}), 'A') || setweight(to_tsvector(${language}::regconfig, ${body}), 'B') || ${bucketWords}`;
