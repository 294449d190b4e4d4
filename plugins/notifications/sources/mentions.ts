/** Usernames found in a text, in lower case. */
export interface MentionedNames {
  readonly mentioned: readonly string[];
  readonly quoted: readonly string[];
}
/** Maximum number of members notified about one text. */
const MAX_MENTIONS = 10;

/** The tags to look for. The HTML has been sanitised, so tags are closed and attributes quoted. */
const TAG = /<(\/?)blockquote\b[^>]*>|<a\b([^>]*)>([^<]*)<\/a>/g;
const QUOTED = /^@(.+)$/;
const POST_HREF = /\bhref="\/d\/\d+(\/\d+#post-\d+)?"/;

/**
 * Parses the rendered HTML, so that a mention is what the page shows as one. Mentions inside quotations are ignored:
 * there, a link to a post with its author's name is how the composer inserts quotations.
 */
export function parseMentions(html: string): MentionedNames {
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
    if (depth === 1 && POST_HREF.test(attributes)) quoted.add(name.toLowerCase());
  }
  return { mentioned: [...mentioned].slice(0, MAX_MENTIONS), quoted: [...quoted].slice(0, MAX_MENTIONS) };
}
