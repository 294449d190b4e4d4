import { InvalidInput, type FieldProblem } from 'parley-forum';
import { isPlainLine } from 'parley-forum/plugins/accounts';
import { MAX_ABOUT, MAX_LINK, MAX_LINKS, MAX_PLACE } from 'parley-forum/plugins/profiles';

/** Changes to a profile by its owner; undefined fields are kept. */
export interface ProfileChanges {
  readonly about?: string | undefined;
  readonly place?: string | undefined;
  readonly links?: readonly string[] | undefined;
}

/** The changes in the form in which they are stored. Throws 400 naming every invalid field. */
export function checkedChanges({ about, place, links }: ProfileChanges): ProfileChanges {
  const problems: FieldProblem[] = [];
  const checked = {
    about: about?.replaceAll('\r\n', '\n').trim(),
    place: place?.normalize('NFC').trim(),
    links: links?.map((link) => link.trim()).filter((link) => link !== ''),
  };
  const refuse = (field: keyof ProfileChanges, message: string): unknown => problems.push({ field, message });
  if (lengthOf(checked.about) > MAX_ABOUT) refuse('about', `must have at most ${MAX_ABOUT} characters`);
  if (lengthOf(checked.place) > MAX_PLACE) refuse('place', `must have at most ${MAX_PLACE} characters`);
  if (!isPlainLine(checked.place ?? '')) refuse('place', 'has invisible characters');
  const urls = checked.links?.map(secureUrl);
  if (urls && urls.length > MAX_LINKS) refuse('links', `must be at most ${MAX_LINKS}`);
  if (urls?.includes(undefined))
    refuse('links', `must each be an address that begins with https:// and has at most ${MAX_LINK} characters`);
  if (problems.length > 0) throw new InvalidInput(problems);
  return { ...checked, links: urls && [...new Set(urls.filter((url) => url !== undefined))] };
}

const lengthOf = (text = ''): number => [...text].length;

/** The normalized URL; an internationalized host is shown in its ASCII form. */
function secureUrl(given: string): string | undefined {
  const url = isPlainLine(given) && URL.canParse(given) ? new URL(given) : undefined;
  const harmless = url?.protocol === 'https:' && url.username === '' && url.password === '' && /\../.test(url.hostname);
  return url && harmless && url.href.length <= MAX_LINK ? url.href : undefined;
}
