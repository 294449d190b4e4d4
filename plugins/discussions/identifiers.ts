/** The largest number an `integer` column holds. */
const MAX_INTEGER = 2_147_483_647;

/** A public number, or `undefined` for text that cannot be one. */
export function numberOf(text: string): number | undefined {
  if (!/^[1-9]\d{0,9}$/.test(text)) return undefined;
  const number = Number(text);
  return number <= MAX_INTEGER ? number : undefined;
}

/** Path of a discussion's page. */
export const discussionPath = ({ number, slug }: { readonly number: number; readonly slug: string }): string =>
  `/d/${number}-${encodeURIComponent(slug)}`;

/** Path of the page that lists the participants of a discussion. */
export const peoplePath = (discussion: number): string => `/d/${discussion}/people`;

/** Path of the page to print a discussion from. */
export const printPath = (discussion: number): string => `/d/${discussion}/print`;

/** Path of a position in a discussion by number. Unlike a post's URL, it does not redirect if the post has moved. */
export const placePath = (discussion: number, place: number): string =>
  place === 1 ? `/d/${discussion}` : `/d/${discussion}/${place}?here=1#post-${place}`;

/** A post's permalink: it opens the page of the discussion that contains the post. */
export const postPath = (discussion: number, post: number): string =>
  post === 1 ? `/d/${discussion}` : `/d/${discussion}/${post}#post-${post}`;
