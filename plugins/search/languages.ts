import { sql, type RawBuilder } from 'parley-forum';
import { bucketWords } from './time-buckets.ts';

/** Languages for which PostgreSQL has stemming; `simple` does not change words. */
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
 * The search vector of a post whose time is in the column `created_at`; words in the title have a higher weight than
 * those in the text.
 */
export const vectorOf = ({ language, title, body }: Indexed): RawBuilder<unknown> =>
  sql`setweight(to_tsvector(${language}::regconfig, ${title}), 'A') || setweight(to_tsvector(${language}::regconfig, ${body}), 'B') || ${bucketWords}`;
