/** Cards in one post; further links stay as they are, so that no post makes many requests. */
const MAX_CARDS = 5;
/**
 * An outermost paragraph with nothing in it but a link to another site under its own URL, as the sanitiser writes it. A
 * link under other words stays what its author made of it.
 */
const LONE_LINK = /<p dir="auto"><a href="(https?:\/\/[^"]+)" rel="[^"]*">https?:\/\/[^<]*<\/a><\/p>/g;

/** Characters of a URL: as many as the renderer of texts lets through, and as the index of previews takes. */
const MAX_URL_LENGTH = 2_048;

/** Imported texts may have what the renderer would not have written. */
function urlOf(href: string): string | undefined {
  const url = URL.parse(href.replaceAll('&amp;', '&'))?.href;
  return url !== undefined && url.length <= MAX_URL_LENGTH ? url : undefined;
}

/** URLs of a post's first links that stand alone in a paragraph. */
export function loneLinks(html: string): readonly string[] {
  if (!html.includes('<p dir="auto"><a href="http')) return [];
  const found = html.matchAll(LONE_LINK).take(MAX_CARDS);
  return [...new Set([...found].map(([, href = '']) => urlOf(href)).filter((url) => url !== undefined))];
}

/** The HTML of a post with something else in place of these links, where `replacement` has it. */
export function replaceLoneLinks(html: string, replacement: (url: string) => string | undefined): string {
  let seen = 0;
  return html.replace(LONE_LINK, (paragraph, href: string) => {
    const url = ++seen > MAX_CARDS ? undefined : urlOf(href);
    return (url !== undefined && replacement(url)) || paragraph;
  });
}
