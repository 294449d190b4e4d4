/** The posts of a discussion's page, by script. */

export const numberOf = (post: Element | undefined): number => Number(post?.id.slice('post-'.length) ?? 0);
export const topOf = (element: Element): number => element.getBoundingClientRect().top;
export const postsIn = (root: ParentNode): readonly HTMLElement[] => [
  ...root.querySelectorAll<HTMLElement>('.stream > .post'),
];

const pixels = (element: Element, property: string): number =>
  parseFloat(getComputedStyle(element).getPropertyValue(property)) || 0;

/** The post that is read: it stands where one that an address names would be put. */
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

/** Changes other posts without moving the one that is read. */
export function keepingPlace(change: () => void): void {
  const post = readPost();
  const before = post && topOf(post);
  change();
  // Browsers that keep the place by themselves have done so by now.
  if (post?.isConnected) scrollBy({ top: topOf(post) - before!, behavior: 'instant' });
}

/**
 * Whether somebody writes, or goes by keyboard, where posts that come behind an element would push it out of view. The
 * dock stays where it is.
 */
export function isUsedBelow(element: Element): boolean {
  const focused = document.activeElement!;
  const follows = (element.compareDocumentPosition(focused) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  if (!follows || element.contains(focused) || focused.closest('.docked')) return false;
  const { top, bottom } = focused.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** Whether there are posts behind those that are shown, as far as the page knows. */
export const hasNext = (): boolean => document.querySelector('.stream-more > [rel="next"]') !== null;

/** Whether the end of the discussion is in view, where what is written meanwhile may come by itself. */
export function readsEnd(): boolean {
  const last = postsIn(document).at(-1);
  if (!last || document.hidden || hasNext()) return false;
  return last.getBoundingClientRect().bottom <= innerHeight && !isUsedBelow(last);
}

/** Says that the page has other posts than before. */
export function postsChanged(): void {
  document.dispatchEvent(new CustomEvent('discussions:posts'));
}

/** Lets the keyboard go on from a post. */
export function focusOn(post: HTMLElement): void {
  post.tabIndex = -1;
  post.focus({ preventScroll: true });
}

/** To a post that is shown, whose address is given; the keyboard goes along. */
export function goTo(post: HTMLElement, href: string): void {
  if (document.querySelector('x-stream:defined')) {
    const detail = { number: numberOf(post), href, focus: true };
    document.dispatchEvent(new CustomEvent('discussions:go', { detail }));
  } else {
    location.hash = post.id;
    focusOn(post);
  }
}
