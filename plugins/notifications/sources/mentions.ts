/** Whom a text speaks to, by username as written. */
export interface CheckedAddress {
  readonly mentioned: readonly string[];
  readonly quoted: readonly string[];
}
/** More than these in one text are not told: nobody speaks to so many at once. */
const MOST = 10;

/** Tags that matter here. The HTML was sanitised, so tags are closed and attributes quoted. */
const TAG = /<(\/?)blockquote\b[^>]*>|<a\b([^>]*)>([^<]*)<\/a>/g;
const QUOTED = /^@(.+)$/;
const PLACE = /\bhref="\/d\/\d+(\/\d+#post-\d+)?"/;

/**
 * Read from what a post's text was rendered to, so that what is a mention here is one on the page. In quotations nobody
 * speaks: there, a link to a post under the name of its author is how the composer quotes.
 */
export function addressed(html: string): CheckedAddress {
  const [mentioned, quoted] = [new Set<string>(), new Set<string>()];
  let depth = 0;
  for (const [, closing, attributes, text = ''] of html.matchAll(TAG)) {
    if (attributes === undefined) {
      depth += closing === '/' ? -1 : 1;
      continue;
    }
    const name = QUOTED.exec(text)?.[1];
    if (name === undefined) continue;
    if (depth === 0 && attributes.includes('class="mention"')) mentioned.add(name.toLowerCase());
    if (depth === 1 && PLACE.test(attributes)) quoted.add(name.toLowerCase());
  }
  return { mentioned: [...mentioned].slice(0, MOST), quoted: [...quoted].slice(0, MOST) };
}
