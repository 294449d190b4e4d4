/** Elements that do not part words. */
const INLINE = /<\/?(?:a|code|em|s|span|strong)(?:\s[^>]*)?>/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
/** Longer texts are searched up to here. */
const MAX_LENGTH = 65_536;

// PostgreSQL's parser of texts takes minutes for 64 KiB of what could be one address or one tag, so long runs are
// parted and no tag begins.
const RUN = /\S{128}/g;
const TAG = /<(?=[\p{L}/!?])/gu;

/** Sanitised HTML has these for spoilers alone, within each other too. */
const SPOILER = /(<details[^>]*>|<\/details>)/;

/** What is to be read by nobody who has not opened it is neither found nor told. */
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

/** What one reads of sanitised HTML. It may hold anything again, and no control characters. */
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
