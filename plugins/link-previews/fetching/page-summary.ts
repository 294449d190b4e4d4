import { Parser } from 'htmlparser2';
import type { PageSummary } from '../preview-store.ts';

const [MAX_TITLE, MAX_DESCRIPTION, MAX_SITE] = [200, 300, 60];

/** A page's description of itself, with the URL of its picture. */
export interface DescribedPage extends PageSummary {
  readonly pictureUrl: URL | undefined;
}

/** Summarises the head of a page; undefined if it has no title. All of it is untrusted text. */
export function summarise(page: string, url: URL): DescribedPage | undefined {
  const said = headOf(page);
  const first = (...names: readonly string[]): string | undefined =>
    names.map((name) => said.get(name)).find((value) => value !== undefined);
  const title = cut(first('og:title', 'twitter:title', 'title'), MAX_TITLE);
  if (title === undefined) return undefined;
  const picture = first('og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image');
  return {
    title,
    description: cut(first('og:description', 'twitter:description', 'description'), MAX_DESCRIPTION),
    site: cut(first('og:site_name'), MAX_SITE),
    pictureUrl: picture === undefined ? undefined : (URL.parse(picture, url.href) ?? undefined),
  };
}

/**
 * The elements of a head are not nested deeply, but a page without `<body>` may continue with ones that are. The parser
 * searches all open elements at each tag, so that without a limit deep nesting would take quadratic time.
 */
const MAX_DEPTH = 32;

/** The first non-empty value of each `<meta>` before the body, and of `<title>`. */
function headOf(page: string): ReadonlyMap<string, string> {
  const said = new Map<string, string>();
  const add = (name: string, value: string): void => {
    if (value.trim() !== '' && !said.has(name)) said.set(name, value);
  };
  let title: string | undefined;
  let depth = 0;
  const parser = new Parser({
    onopentag(name, { property, name: meta, content = '' }) {
      depth++;
      // The rest is not parsed.
      if (name === 'body' || depth > MAX_DEPTH) return parser.pause();
      if (name === 'title') title = '';
      if (name === 'meta') add((property ?? meta ?? '').trim().toLowerCase(), content);
    },
    ontext(text) {
      if (title !== undefined) title += text;
    },
    onclosetag(name) {
      depth--;
      if (name !== 'title' || title === undefined) return;
      add('title', title);
      title = undefined;
    },
  });
  parser.end(page);
  return said;
}

/** Control characters, and those that change the direction of the surrounding text. */
const UNSEEN = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** Shortens text to one line of at most `length` characters. */
function cut(text: string | undefined, length: number): string | undefined {
  const line = text?.toWellFormed().replace(UNSEEN, ' ').replace(/\s+/g, ' ').trim();
  if (line === undefined || line === '') return undefined;
  const characters = [...line];
  return characters.length <= length
    ? line
    : `${characters
        .slice(0, length - 1)
        .join('')
        .trimEnd()}…`;
}
