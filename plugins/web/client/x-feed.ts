import { announce, define, fragment, inPages, t } from '@forum/client';

/** Pages that come by themselves before a button is shown, so that the foot of the page stays within reach. */
const BY_THEMSELVES = 3;

/** What distinguishes one row from another. */
const nameOf = (row: Element): string | null => row.getAttribute('aria-labelledby');
/** Where a pager leads on to. */
const nextIn = (part: ParentNode | null): string | undefined =>
  part?.querySelector('[rel="next"]')?.getAttribute('href') ?? undefined;

/** A list that goes on, where the pager behind it leads to. */
class Feed extends HTMLElement {
  #observer: IntersectionObserver | undefined;
  #next: string | undefined;
  #loads = 0;
  #loading = false;

  connectedCallback(): void {
    const pager = this.#pager;
    this.#next = nextIn(pager);
    if (inPages() || !pager || this.#next === undefined) return;
    const more = document.createElement('button');
    more.type = 'button';
    more.className = 'button';
    more.textContent = t('more');
    more.addEventListener('click', () => void this.#load(true));
    const row = document.createElement('p');
    row.className = 'feed-more';
    row.append(more);
    pager.hidden = true;
    pager.after(row);
    this.#observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting && this.#loads < BY_THEMSELVES) void this.#load(false);
      },
      { rootMargin: '600px' },
    );
    this.#observer.observe(row);
  }

  disconnectedCallback(): void {
    this.#observer?.disconnect();
  }

  get #pager(): HTMLElement | null {
    return this.parentElement?.querySelector('.pager') ?? null;
  }

  async #load(asked: boolean): Promise<void> {
    const list = this.querySelector('[role="feed"]');
    const row = this.parentElement?.querySelector('.feed-more');
    if (this.#loading || !list || !row) return;
    this.#loading = true;
    list.ariaBusy = 'true';
    try {
      const { first, last } = await this.#append(list);
      // Its name, not the picture before it, which is no stop of the Tab key and unknown to screen readers.
      if (asked) first?.querySelector<HTMLElement>('a:not([tabindex="-1"])')?.focus();
      if (last) row.remove();
    } catch {
      // The numbered pages lead on where loading fails.
      row.remove();
      if (this.#pager) this.#pager.hidden = false;
    } finally {
      this.#loading = false;
      list.ariaBusy = null;
      // Looked at anew: it may still be in view.
      this.#observer?.unobserve(row);
      if (row.isConnected) this.#observer?.observe(row);
    }
  }

  /** Fetches the next page into the list: its first new row, and whether it is the last page. */
  async #append(list: Element): Promise<{ readonly first: Element | undefined; readonly last: boolean }> {
    const part = await fragment(this.#next!);
    // What has moved down meanwhile is there already.
    const shown = new Set([...list.children].map(nameOf));
    const rows = part.querySelector('[role="feed"]')?.children ?? [];
    const fresh = [...rows].filter((row) => !shown.has(nameOf(row)));
    list.append(...fresh);
    this.#loads++;
    this.#next = nextIn(part);
    announce(t('loaded', { count: fresh.length }));
    return { first: fresh[0], last: this.#next === undefined };
  }
}
define('x-feed', Feed);
