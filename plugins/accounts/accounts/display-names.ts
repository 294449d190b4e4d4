import { InvalidInput, type FieldProblem } from 'parley-forum';
import { isPlainLine } from 'parley-forum/plugins/accounts';

/** Characters of a display name. */
export const MAX_DISPLAY_NAME = 50;

/** Without one of these nobody sees or says the name. */
const READABLE = /[\p{L}\p{N}]/u;

const problem = (message: string): FieldProblem => ({ field: 'display_name', message });
export const NAME_OF_ANOTHER = problem('is the username of another member');
export const OFFICIAL_NAME = problem('could be taken for the forum, one of its groups or its staff');

/** What names are compared and found by: in any case, and however their letters are written. */
export const foldedName = (name: string): string => name.normalize('NFKC').toLowerCase();

/** A display name as it is stored; nulls for an empty one. Throws 400 for what may not be shown as a name. */
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
    !isPlainLine(name) && problem('has characters that cannot be seen, or that change how others are shown'),
    !READABLE.test(name) && problem('must have a letter or a digit'),
    foldedName(name).includes('@') && problem('must not have an “@”, with which usernames begin'),
  ].filter((one) => one !== false);
  if (problems.length > 0) throw new InvalidInput(problems);
  return { display_name: name, display_name_key: foldedName(name) };
}

/** What of a name that somebody had elsewhere may be shown here; empty where nothing of it can be read. */
export function fittingName(given: string): string {
  const seen = [...given.normalize('NFC').replace(/\s+/g, ' ')]
    .filter((letter) => isPlainLine(letter) && !foldedName(letter).includes('@'))
    .join('')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1');
  return READABLE.test(seen) ? [...seen.trim()].slice(0, MAX_DISPLAY_NAME).join('') : '';
}
