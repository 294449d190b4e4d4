import { hash } from 'node:crypto';
import { InvalidInput } from 'parley-forum';

/** The maximum length of a name, in characters. */
const MAX_NAME_LENGTH = 30;
/** Steps of 15 degrees on the colour wheel. */
const HUE_STEPS = 24;

/** Characters that names may not contain. Two invisible characters belong to words of some scripts, and to emoji. */
const FORBIDDEN = /(?![\u200c\u200d])[,\p{C}]/gu;

/** A name as it is stored: of any script, composed, with single spaces. */
const normalize = (name: string): string => name.normalize('NFC').replace(/\s+/g, ' ').trim();

/** The key by which names are compared, so that case makes no difference. */
export const keyOf = (name: string): string => name.normalize('NFKC').toLowerCase();

/** A hue derived from the name, so the same name always gets the same colour. */
export const hueOf = (name: string): number => (hash('sha1', keyOf(name), 'buffer')[0]! % HUE_STEPS) * 15;

/** The name in its stored form; throws 400 naming `field` if it is invalid. */
export function nameOf(text: string, field: string): string {
  const name = normalize(text);
  const length = [...name].length;
  const wrong = (message: string): InvalidInput => new InvalidInput([{ field, message }]);
  if (length < 1 || length > MAX_NAME_LENGTH)
    throw wrong(`must be names of 1 to ${MAX_NAME_LENGTH} characters; “${name.slice(0, 60)}” has ${length}`);
  if (name.search(FORBIDDEN) >= 0) throw wrong('must be names without commas or invisible characters');
  return name;
}

/**
 * The tags chosen for a discussion, from a list or a comma-separated text such as a form sends. Empty and repeated ones
 * are left out.
 */
export function namesIn(value: unknown): readonly string[] {
  return distinct([value].flat().flatMap((text) => String(text).split(',').map(normalize)));
}

/**
 * Like `namesIn`, for tags from elsewhere: each entry of a list remains a single tag and is adapted, with commas
 * replaced by spaces and invisible characters removed.
 */
export const fittedNamesIn = (value: unknown): readonly string[] =>
  distinct(Array.isArray(value) ? value.map((name) => fitted(String(name))) : namesIn(value).map(fitted));

const fitted = (text: string): string => {
  const name = normalize(normalize(text).replace(FORBIDDEN, (one) => (one === ',' ? ' ' : '')));
  return [...name].slice(0, MAX_NAME_LENGTH).join('').trim();
};

const distinct = (names: readonly string[]): readonly string[] => [
  ...new Map(names.filter(Boolean).map((name) => [keyOf(name), name])).values(),
];
