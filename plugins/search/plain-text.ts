/** Elements that do not separate words. */
const INLINE = /<\/?(?:a|code|em|s|span|strong)(?:\s[^>]*)?>/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
/** Longer texts are only searchable up to this length. */
const MAX_LENGTH = 65_536;

// PostgreSQL's text parser takes minutes for 64 KiB that could be one URL or one tag, so long runs are split and the
// start of tags is broken up.
const RUN = /\S{128}/g;
const TAG = /<(?=[\p{L}/!?])/gu;

/** Sanitised HTML contains these elements only for spoilers, which may be nested. */
const SPOILER = /(<details[^>]*>|<\/details>)/;

/** Hidden text that readers must open first is neither searchable nor shown in excerpts. */
function withoutSpoilers(html: string): string {
  let depth = 0;
  const kept = html.split(SPOILER).map((part) => {
    if (part === '</details>') depth--;
    else if (part.startsWith('<details')) return depth++ === 0 ? ' … ' : '';
    else if (depth === 0) return part;
    return '';
  });
  return kept.join('');
}

/** The readable text of sanitised HTML. It is not escaped, and has no control characters. */
export const plainText = (html: string): string =>
  withoutSpoilers(html)
    .replace(INLINE, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name]!)
    // eslint-disable-next-line no-control-regex -- the excerpt marks what was found with two of them
    .replace(/[\s\u0000-\u001f\u007f]+/g, ' ')
    .replace(RUN, '$& ')
    .replace(TAG, '< ')
    .trim()
    .slice(0, MAX_LENGTH)
    .toWellFormed();
