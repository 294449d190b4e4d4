import { InvalidInput, type FieldProblem } from 'parley-forum';
import { isPlainLine } from 'parley-forum/plugins/accounts';

/** Maximum length of a display name in characters. */
export const MAX_DISPLAY_NAME = 50;

/** A name without any letter or digit cannot be read or pronounced. */
const READABLE = /[\p{L}\p{N}]/u;

const problem = (message: string): FieldProblem => ({ field: 'display_name', message });
export const NAME_OF_ANOTHER = problem('is the username of another member');
export const OFFICIAL_NAME = problem('could be mistaken for the forum, one of its groups or its staff');

/** The form in which names are compared and searched: case-insensitive and Unicode-normalized. */
export const foldedName = (name: string): string => name.normalize('NFKC').toLowerCase();

/** The columns of a display name; null for an empty one. Throws 400 for text that is not acceptable as a name. */
export function nameColumns(given: string): {
  readonly display_name: string | null;
  readonly display_name_key: string | null;
} {
  const name = given
    .normalize('NFC')
    .replace(/\p{Zs}+/gu, ' ')
    .trim();
  if (name === '') return { display_name: null, display_name_key: null };
  const problems = [
    [...name].length > MAX_DISPLAY_NAME && problem(`must have at most ${MAX_DISPLAY_NAME} characters`),
    !isPlainLine(name) && problem('has characters that are invisible or change how others are shown'),
    !READABLE.test(name) && problem('must contain a letter or a digit'),
    foldedName(name).includes('@') && problem('must not contain an “@”, with which usernames begin'),
  ].filter((one) => one !== false);
  if (problems.length > 0) throw new InvalidInput(problems);
  return { display_name: name, display_name_key: foldedName(name) };
}

/**
 * The part of a name from another service that is acceptable as a display name here; empty if nothing readable is left.
 */
export function fittingName(given: string): string {
  const seen = [...given.normalize('NFC').replace(/\s+/g, ' ')]
    .filter((letter) => isPlainLine(letter) && !foldedName(letter).includes('@'))
    .join('')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1');
  return READABLE.test(seen) ? [...seen.trim()].slice(0, MAX_DISPLAY_NAME).join('') : '';
}
