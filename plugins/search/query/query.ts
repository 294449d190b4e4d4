import { InvalidInput, isMoment } from 'parley-forum';

/** A parsed query. All of its conditions must be met. */
export interface Query {
  /** Words, `"phrases"` and `-not`, as interpreted by PostgreSQL's `websearch_to_tsquery`; may be empty. */
  readonly text: string;
  readonly authors: readonly string[];
  readonly categories: readonly string[];
  readonly tags: readonly string[];
  /** Written before this time. */
  readonly before: Date | undefined;
  /** Written at this time or later. */
  readonly after: Date | undefined;
}

/** Maximum length of a query in characters, which limits the cost of a search. */
export const MAX_QUERY_LENGTH = 256;
export const QUERY_PARTS = /-?"[^"]*"?|\S+/g;
export const QUERY_FILTER = /^(author|category|tag|before|after):(.+)$/i;
const DAY = /^\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)?)?)?)?$/;

/** Throws 400 for an invalid date. */
export function parseQuery(q: string): Query {
  const words: string[] = [];
  const found: Record<string, string[]> = { author: [], category: [], tag: [], before: [], after: [] };
  for (const [part] of q.toWellFormed().matchAll(QUERY_PARTS)) {
    const [, name, value] = QUERY_FILTER.exec(part) ?? [];
    if (name === undefined || value === undefined) words.push(part);
    else found[name.toLowerCase()]!.push(value.replaceAll('"', ''));
  }
  const times = (name: 'before' | 'after'): number[] => found[name]!.map((value) => dayOf(name, value));
  const [before, after] = [Math.min(...times('before')), Math.max(...times('after'))];
  return {
    text: words.join(' '),
    authors: found['author']!,
    categories: found['category']!,
    tags: found['tag']!,
    before: Number.isFinite(before) ? new Date(before) : undefined,
    after: Number.isFinite(after) ? new Date(after) : undefined,
  };
}

function dayOf(name: string, value: string): number {
  const time = DAY.test(value)
    ? Date.parse(value.includes('T') && !/(?:Z|[+-]\d\d:\d\d)$/.test(value) ? `${value}Z` : value)
    : NaN;
  if (!isMoment(time))
    throw new InvalidInput([{ field: 'q', message: `has an invalid date after "${name}:"; write it as 2026-01-31` }]);
  return time;
}
