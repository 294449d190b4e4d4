/** Elements that do not part words. */
const INLINE = /<\/?(?:a|code|em|s|span|strong)(?:\s[^>]*)?>/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
/** Longer texts are searched up to here. */
const LONGEST = 65_536;

/** What one reads of sanitised HTML. It may hold anything again, `<script>` too, and no control characters. */
export const plainText = (html: string): string =>
  html.replace(INLINE, '').replace(/<[^>]*>/g, ' ').replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name]!)
    // eslint-disable-next-line no-control-regex -- the excerpt marks what was found with two of them
    .replace(/[\s\u0000-\u001f\u007f]+/g, ' ').trim().slice(0, LONGEST).toWellFormed();
