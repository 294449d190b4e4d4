import { define, page, request } from '@forum/client';
import type { Leaving } from './parts/leaving.ts';
import { markOf, setMark } from './parts/marks.ts';

/** Milliseconds a post must be in view to count as read, and milliseconds between checks. */
const DWELL = 1_000;
const LOOK = 250;
/** Milliseconds for which read posts are collected before they are sent. */
const BATCH = 3_000;

const numberOf = (post: Element): number => Number((post as HTMLElement).dataset['number']);

/**
 * Watches which posts of a discussion are actually seen and reports them to the server; for guests, only this browser
 * keeps them.
 */
class ReadMarks extends HTMLElement {
  #gone: AbortController | undefined;
  #near: IntersectionObserver | undefined;
  #added: MutationObserver | undefined;
  #looking: ReturnType<typeof setInterval> | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;
  /**
   * Posts near the viewport and the time since when each is in view; undefined while too little of the post is visible.
   */
  readonly #posts = new Map<Element, number | undefined>();
  #highest = 0;
  readonly #line = document.createElement('p');
  #sent = 0;

  connectedCallback(): void {
    const stream = document.querySelector('.stream');
    if (!stream) return;
    const number = this.dataset['number'] ?? '';
    this.#highest = Number(this.dataset['read']);
    if (!page.member) {
      this.#highest = markOf(number);
      this.#line.className = 'new-since';
      this.#line.append(Object.assign(document.createElement('span'), { textContent: this.dataset['line'] }));
    }
    const first = page.member ? 0 : this.#highest + 1;
    this.#sent = this.#highest;
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    this.#near = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) this.#posts.set(target, undefined);
        else this.#posts.delete(target);
      }
    });
    this.#added = new MutationObserver(() => {
      this.#watch(stream);
      this.#divide(stream, first);
    });
    this.#added.observe(stream, { childList: true });
    this.#watch(stream);
    this.#divide(stream, first);
    this.#looking = setInterval(() => this.#look(), LOOK);
    document.addEventListener('visibilitychange', () => void this.#send(), { signal });
    addEventListener('pagehide', () => void this.#send(), { signal });
    document.addEventListener('read-marks:next', (event) => this.#next(event as CustomEvent<Leaving>, stream), {
      signal,
    });
    document.addEventListener('submit', (event) => this.#submitted(event.target as HTMLFormElement), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#near?.disconnect();
    this.#added?.disconnect();
    clearInterval(this.#looking);
    clearTimeout(this.#waiting);
  }

  #watch(stream: Element): void {
    for (const post of stream.querySelectorAll('.post[data-number]')) this.#near?.observe(post);
  }

  /** Marks a post that has been in view long enough as read, and with it all posts before it. */
  #look(): void {
    const now = performance.now();
    for (const [post, since] of this.#posts) {
      const seen = !document.hidden && numberOf(post) > this.#highest && inView(post);
      this.#posts.set(post, seen ? (since ?? now) : undefined);
      if (seen && since !== undefined && now - since >= DWELL) this.#read(numberOf(post));
    }
  }

  #read(number: number): void {
    if (number <= this.#highest) return;
    this.#highest = number;
    setMark(this.dataset['number'] ?? '', number);
    if (page.member) this.#waiting ??= setTimeout(() => void this.#send(), BATCH);
  }

  async #send(): Promise<void> {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
    const number = this.#highest;
    if (!page.member || number <= this.#sent) return;
    this.#sent = number;
    const body = JSON.stringify({ read_marks: [{ discussion_id: this.dataset['discussion'], number }] });
    const headers = { 'Content-Type': 'application/json' };
    // The request outlives the page. If it fails, the posts are simply seen and reported again.
    await request('/api/read-marks', { method: 'POST', body, headers, keepalive: true }).catch(() => undefined);
  }

  /**
   * Moving on implies that the posts in view were read. The next unread post on this page comes first, then other
   * pages.
   */
  #next(event: CustomEvent<Leaving>, stream: Element): void {
    const posts = [...stream.querySelectorAll<HTMLElement>('.post[data-number]')];
    for (const post of posts) if (inView(post)) this.#read(numberOf(post));
    const next = posts.find((post) => numberOf(post) > this.#highest);
    if (!next) {
      event.detail.in = this.dataset['discussion'] ?? '';
      event.detail.sending.push(this.#send());
      return;
    }
    event.preventDefault();
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView();
  }

  /** A post marked unread here stays unread. */
  #submitted({ action }: HTMLFormElement): void {
    if (!/\/p\/[^/]+\/unread$/.test(action)) return;
    setMark(this.dataset['number'] ?? '', 0);
    this.#sent = this.#highest = Infinity;
  }

  /** For guests, the line above the first new post. It is inserted again if that post is re-rendered. */
  #divide(stream: Element, number: number): void {
    const first = number > 1 && stream.querySelector(`[data-number="${number}"]`);
    if (!first || this.#line.parentElement === first) return;
    first.prepend(this.#line);
    this.#added?.observe(first, { childList: true });
  }
}

/** Whether half of the post is visible, or it fills half of the screen. */
function inView(post: Element): boolean {
  const { top, bottom, height } = post.getBoundingClientRect();
  return Math.min(bottom, innerHeight) - Math.max(top, 0) >= Math.min(height, innerHeight) / 2;
}
define('x-read-marks', ReadMarks);
