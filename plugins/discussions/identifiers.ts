import { randomBytes } from 'node:crypto';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The largest number an `integer` column holds. */
const LARGEST = 2_147_483_647;

/** Text that a `uuid` column takes: anything else is not found rather than an error of the database. */
export const isId = (text: string): boolean => UUID.test(text);

/** A public number, or `undefined` for text that cannot be one. */
export function numberOf(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const number = Number(text);
  return number <= LARGEST ? number : undefined;
}

let lastAt = 0;
let sequence = 0;

/** A UUID of version 7: ids made later sort later, to the millisecond of `at` (epoch milliseconds), and within one in the order they were made. */
export function createId(at: number): string {
  const bytes = randomBytes(16);
  sequence = at === lastAt ? Math.min(sequence + 1, 0xfff) : bytes[6]!;
  lastAt = at;
  bytes.writeUIntBE(at, 0, 6);
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
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
