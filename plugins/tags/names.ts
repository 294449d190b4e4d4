import { hash } from 'node:crypto';
import { InvalidInput } from 'parley-forum';

/** Characters of a name. */
const MAX_NAME_LENGTH = 30;
/** Steps of 15 degrees on the colour wheel. */
const HUE_STEPS = 24;

/** A name as it is stored: of any script, composed, with single spaces. */
const normalize = (name: string): string => name.normalize('NFC').replace(/\s+/g, ' ').trim();

/** By what names are compared: writing a tag in capitals means the same tag. */
export const keyOf = (name: string): string => name.normalize('NFKC').toLowerCase();

/** A colour that stays the same for the same name. */
export const hueOf = (name: string): number => (hash('sha1', keyOf(name), 'buffer')[0]! % HUE_STEPS) * 15;

/** The name as it is stored; 400 naming `field` where it cannot be one. */
export function nameOf(text: string, field: string): string {
  const name = normalize(text);
  const length = [...name].length;
  const wrong = (message: string): InvalidInput => new InvalidInput([{ field, message }]);
  if (length < 1 || length > MAX_NAME_LENGTH)
    throw wrong(`must be names of 1 to ${MAX_NAME_LENGTH} characters; “${name.slice(0, 60)}” has ${length}`);
  // Two invisible ones belong to words of some scripts, and to emoji.
  if (/[,\p{C}]/u.test(name.replace(/\u200c|\u200d/g, '')))
    throw wrong('must be names without commas and invisible characters');
  return name;
}

/**
 * Tags chosen for a discussion: a list, or one text with commas between, as forms have it. Empty ones and
 * repetitions are left out.
 */
export function namesIn(value: unknown): readonly string[] {
  const words = [value]
    .flat()
    .flatMap((text) => String(text).split(','))
    .map(normalize)
    .filter(Boolean);
  return [...new Map(words.map((word) => [keyOf(word), word])).values()];
}
