export { createId, isId } from '#plugins/api';

/** The largest number an `integer` column holds. */
const LARGEST = 2_147_483_647;

/** A public number, or `undefined` for text that cannot be one. */
export function numberOf(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const number = Number(text);
  return number <= LARGEST ? number : undefined;
}

/** Words of a title for its address, at most 80 characters; letters of every script stay, Latin ones lose their accents. */
export function slugOf(title: string, fallback = 'discussion'): string {
  const plain = title.normalize('NFKD').replace(/(\p{Script=Latin})\p{M}+/gu, '$1').normalize('NFC').toLowerCase();
  const words = plain.replace(/[^\p{L}\p{N}\p{M}]+/gu, '-').replace(/^-|-$/g, '');
  const slug = [...words].slice(0, 80).join('').replace(/-$/, '');
  return slug || fallback;
}

/** A discussion's page, as a path of this site. */
export const discussionPath = ({ number, slug }: { readonly number: number; readonly slug: string }): string => `/d/${number}-${encodeURIComponent(slug)}`;

/** A post's own address: it opens the page of the discussion that has it. */
export const postPath = (discussion: number, post: number): string => (post === 1 ? `/d/${discussion}` : `/d/${discussion}/${post}#post-${post}`);
