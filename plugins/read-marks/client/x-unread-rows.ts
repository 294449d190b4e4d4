import { define, page } from '@forum/client';
import { markOf } from './parts/marks.ts';

/**
 * Updates the rows of the list from the marks in this browser: all marks of a guest, or those a member made in this
 * tab.
 */
class UnreadRows extends HTMLElement {
  #gone: AbortController | undefined;
  #watching: MutationObserver | undefined;

  connectedCallback(): void {
    const list = this.parentElement;
    if (!list) return;
    this.#gone = new AbortController();
    // Also when the page is restored from the back/forward cache.
    addEventListener('pageshow', () => this.#show(list), { signal: this.#gone.signal });
    const feed = list.querySelector('[role="feed"]');
    this.#watching = new MutationObserver(() => this.#show(list));
    if (feed) this.#watching.observe(feed, { childList: true });
    this.#show(list);
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#watching?.disconnect();
  }

  #show(list: Element): void {
    for (const row of list.querySelectorAll<HTMLElement>('.card[data-last]')) {
      const number = row.getAttribute('aria-labelledby')?.slice(2) ?? '';
      const mark = markOf(number);
      if (mark > 0) this.#update(row, { number, mark, left: Number(row.dataset['last']) - mark });
    }
  }

  #update(
    row: HTMLElement,
    { number, mark, left }: { readonly number: string; readonly mark: number; readonly left: number },
  ): void {
    const badge = row.querySelector('.unread-count');
    // For members the server knows more, such as muted discussions and deleted posts.
    if (page.member && !badge) return;
    if (left <= 0) return badge?.remove();
    const link = row.querySelector<HTMLAnchorElement>('.card-title a');
    if (link) link.href = `/d/${number}/${mark + 1}?here=1#post-${mark + 1}`;
    const text = (this.dataset['text'] ?? '').replace('{count}', left.toLocaleString(document.documentElement.lang));
    const shown = badge ?? document.createElement('span');
    shown.className = 'badge strong unread-count';
    shown.textContent = text;
    if (!badge) row.querySelector('.card-title')?.append(' ', shown);
  }
}
define('x-unread-rows', UnreadRows);
