/** Helpers for the posts on a discussion's page. */

export const numberOf = (post: Element | undefined): number => Number(post?.id.slice('post-'.length) ?? 0);
export const topOf = (element: Element): number => element.getBoundingClientRect().top;
export const postsIn = (root: ParentNode): readonly HTMLElement[] => [
  ...root.querySelectorAll<HTMLElement>('.stream > .post'),
];

const pixels = (element: Element, property: string): number =>
  parseFloat(getComputedStyle(element).getPropertyValue(property)) || 0;

/** The post being read: the one at the position to which the browser scrolls the target of a URL. */
export function readPost(): HTMLElement | undefined {
  const posts = postsIn(document);
  const [first] = posts;
  if (!first) return undefined;
  const line =
    pixels(document.documentElement, 'scroll-padding-block-start') + pixels(first, 'scroll-margin-block-start') + 1;
  let [low, high] = [0, posts.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (posts[middle]!.getBoundingClientRect().bottom > line) high = middle;
    else low = middle + 1;
  }
  return posts[low];
}

/** Runs a change to other posts without moving the post being read. */
export function keepingPlace(change: () => void): void {
  const post = readPost();
  const before = post && topOf(post);
  change();
  // Browsers with scroll anchoring have already adjusted the position by now.
  if (post?.isConnected) scrollBy({ top: topOf(post) - before!, behavior: 'instant' });
}

/**
 * Whether the user is writing or using the keyboard after this element, so that posts inserted behind it would push
 * their place out of view. The dock does not move, so it does not count.
 */
export function isUsedBelow(element: Element): boolean {
  const focused = document.activeElement!;
  const follows = (element.compareDocumentPosition(focused) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  if (!follows || element.contains(focused) || focused.closest('.docked')) return false;
  const { top, bottom } = focused.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** Whether there are posts after those shown, as far as the page knows. */
export const hasNext = (): boolean => document.querySelector('.stream-more > [rel="next"]') !== null;

/** Whether the end of the discussion is in view, so that new posts may be appended automatically. */
export function readsEnd(): boolean {
  const last = postsIn(document).at(-1);
  if (!last || document.hidden || hasNext()) return false;
  return last.getBoundingClientRect().bottom <= innerHeight && !isUsedBelow(last);
}

/** Announces that the posts on the page have changed. */
export function postsChanged(): void {
  document.dispatchEvent(new CustomEvent('discussions:posts'));
}

/** Moves the focus to a post, so that keyboard navigation continues there. */
export function focusOn(post: HTMLElement): void {
  post.tabIndex = -1;
  post.focus({ preventScroll: true });
}

/** Scrolls to a post that is on the page, given its URL, and moves the keyboard focus there. */
export function goTo(post: HTMLElement, href: string): void {
  if (document.querySelector('x-stream:defined')) {
    const detail = { number: numberOf(post), href, focus: true };
    document.dispatchEvent(new CustomEvent('discussions:go', { detail }));
  } else {
    location.hash = post.id;
    focusOn(post);
  }
}
