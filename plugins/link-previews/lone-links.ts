/** Maximum number of cards in a post; further links stay as they are, so that no post causes many requests. */
const MAX_CARDS = 5;
/**
 * Matches a top-level paragraph that contains nothing but a link to another site whose text is its URL, as the
 * sanitiser writes it. A link with other text stays as its author wrote it.
 */
const LONE_LINK = /<p dir="auto"><a href="(https?:\/\/[^"]+)" rel="[^"]*">https?:\/\/[^<]*<\/a><\/p>/g;

/** Maximum characters of a URL, as in the Markdown renderer and in the index of previews. */
const MAX_URL_LENGTH = 2_048;

/** Imported texts may contain links that the renderer would not have written. */
function urlOf(href: string): string | undefined {
  const url = URL.parse(href.replaceAll('&amp;', '&'))?.href;
  return url !== undefined && url.length <= MAX_URL_LENGTH ? url : undefined;
}

/** URLs of the first links of a post that stand alone in a paragraph. */
export function loneLinks(html: string): readonly string[] {
  if (!html.includes('<p dir="auto"><a href="http')) return [];
  const found = html.matchAll(LONE_LINK).take(MAX_CARDS);
  return [...new Set([...found].map(([, href = '']) => urlOf(href)).filter((url) => url !== undefined))];
}

/** Replaces these links in the HTML of a post, if `replacement` returns something for their URL. */
export function replaceLoneLinks(html: string, replacement: (url: string) => string | undefined): string {
  let seen = 0;
  return html.replace(LONE_LINK, (paragraph, href: string) => {
    const url = ++seen > MAX_CARDS ? undefined : urlOf(href);
    return (url !== undefined && replacement(url)) || paragraph;
  });
}
