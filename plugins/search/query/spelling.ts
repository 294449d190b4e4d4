import { closestMatch } from 'leven';
import type { TypedWord } from 'parley-forum/ports/suggestions';
import { QUERY_FILTER, QUERY_PARTS } from './query.ts';

/** Maximum number of words of a query to check; the longest are used. Each needs its own statement. */
const MAX_WORDS = 3;
/**
 * Minimum length of words to check, minimum length for which two wrong letters are tolerated, and maximum length:
 * checking longer words is not worth the cost.
 */
const SHORTEST = 4;
const LONG = 6;
const LONGEST = 40;

/** The words of a query that may be misspelt, without phrases, filters and excluded words. */
export function typedWords(q: string): readonly TypedWord[] {
  const words = [...q.matchAll(QUERY_PARTS)].flatMap(([part]) =>
    /^[\p{L}\p{M}]+$/u.test(part) && part.length >= SHORTEST && part.length <= LONGEST ? [part.toLowerCase()] : [],
  );
  return [...new Set(words)]
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MAX_WORDS)
    .map((word) => ({ word, swapped: swaps(word) }))
    .filter(({ swapped }) => swapped.length > 0);
}

function swaps(word: string): readonly string[] {
  const letters = [...word];
  return letters.slice(1).flatMap((letter, at) => {
    const before = letters[at]!;
    return letter === before ? [] : [letters.toSpliced(at, 2, letter, before).join('')];
  });
}

/**
 * The word among these names that was probably meant; undefined if the word itself is one of them, or none is close.
 */
export function meant({ word, swapped }: TypedWord, names: readonly string[]): string | undefined {
  const known = [...new Set(names.flatMap((name) => name.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? []))];
  if (known.includes(word)) return undefined;
  return (
    known.find((one) => swapped.includes(one)) ?? closestMatch(word, known, { maxDistance: word.length < LONG ? 1 : 2 })
  );
}

/** The query with some words replaced; the rest is unchanged. */
export const respelt = (q: string, words: ReadonlyMap<string, string>): string =>
  q.replace(QUERY_PARTS, (part) => (QUERY_FILTER.test(part) ? part : (words.get(part.toLowerCase()) ?? part)));
