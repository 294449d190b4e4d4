import { announce, define, fragment, inPages, t } from '@forum/client';

/** Pages loaded automatically before a button is shown instead, so that the page's footer stays within reach. */
const BY_THEMSELVES = 3;
/** Milliseconds between two saves of the reader's position. */
const THROTTLE = 250;
/**
 * Maximum frames in which the rows around a restored position may still change height, and how many frames without a
 * change end the wait.
 */
const [FRAMES, STILL] = [60, 5];
/** Events that show that the reader moves. */
const MOVES = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

/** How many pages had been loaded, the topmost visible row, and its distance from the top of the window. */
interface Place {
  readonly loads: number;
  readonly row: string | null;
  readonly top: number;
}

/** Identifies a row. */
const nameOf = (row: Element): string | null => row.getAttribute('aria-labelledby');
/** The rows of a list, including those pinned above it. */
const rowsOf = (list: ParentNode | null): readonly Element[] => [...(list?.querySelectorAll('.card') ?? [])];
/** The URL of the pager's next page. */
const nextIn = (part: ParentNode | null): string | undefined =>
  part?.querySelector('[rel="next"]')?.getAttribute('href') ?? undefined;

/** A list that appends the next pages of the pager below it. */
class Feed extends HTMLElement {
  readonly #gone = new AbortController();
  #observer: IntersectionObserver | undefined;
  #keeping: ReturnType<typeof setTimeout> | undefined;
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
    void this.#return((history.state as { readonly feed?: Place } | null)?.feed).then(() => this.#watch(row));
  }

  disconnectedCallback(): void {
    this.#gone.abort();
    this.#observer?.disconnect();
    clearTimeout(this.#keeping);
  }

  #watch(row: Element): void {
    const { signal } = this.#gone;
    if (signal.aborted) return;
    this.#observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting && this.#loads < BY_THEMSELVES) void this.#load(false);
      },
      { rootMargin: '600px' },
    );
    this.#observer.observe(row);
    addEventListener('scroll', () => (this.#keeping ??= setTimeout(() => this.#keep(), THROTTLE)), {
      signal,
      passive: true,
    });
  }

  get #rows(): readonly Element[] {
    return rowsOf(this);
  }

  /** Saves the position, for readers who return to a page that the browser did not keep. */
  #keep(): void {
    this.#keeping = undefined;
    const row = this.#rows.find((one) => one.getBoundingClientRect().bottom > 0);
    if (this.#loads === 0 || !row) return;
    const feed: Place = { loads: this.#loads, row: nameOf(row), top: row.getBoundingClientRect().top };
    // The browser would restore a pixel offset, although the page then has other rows.
    history.scrollRestoration = 'manual';
    history.replaceState({ ...(history.state as object | null), feed }, '');
  }

  /** Restores the position, unless the reader moves while rows are loaded. */
  async #return(place: Place | undefined): Promise<void> {
    if (!place) return;
    const before = scrollY;
    for (let at = 0; at < place.loads; at++) await this.#load(false);
    const row = this.#rows.find((one) => nameOf(one) === place.row);
    if (!row || scrollY !== before) return;
    const moved = new AbortController();
    const signal = AbortSignal.any([moved.signal, this.#gone.signal]);
    for (const type of MOVES) addEventListener(type, () => moved.abort(), { signal, passive: true });
    // Rows that come near the window are laid out in the next frames, seldom with exactly the reserved height.
    for (let frame = 0, still = 0; frame < FRAMES && still < STILL && !signal.aborted; frame++) {
      const off = row.getBoundingClientRect().top - place.top;
      still = Math.abs(off) < 1 ? still + 1 : 0;
      scrollBy({ top: off, behavior: 'instant' });
      await new Promise(requestAnimationFrame);
    }
    moved.abort();
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
      // The link on its name, not on the picture before it, which is neither a tab stop nor visible to screen readers.
      if (asked) first?.querySelector<HTMLElement>('a:not([tabindex="-1"])')?.focus();
      if (last) row.remove();
    } catch {
      // If loading fails, the numbered pages are shown again.
      row.remove();
      if (this.#pager) this.#pager.hidden = false;
    } finally {
      this.#loading = false;
      list.ariaBusy = null;
      // Observe again: the row may still be in view.
      this.#observer?.unobserve(row);
      if (row.isConnected) this.#observer?.observe(row);
    }
  }

  /** Appends the next page to the list. Resolves to its first new row, and to whether it is the last page. */
  async #append(list: Element): Promise<{ readonly first: Element | undefined; readonly last: boolean }> {
    const part = await fragment(this.#next!);
    // Rows that moved to a later page in the meantime are already shown.
    const shown = new Set(this.#rows.map(nameOf));
    const fresh = rowsOf(part.querySelector('.feed')).filter((row) => !shown.has(nameOf(row)));
    list.append(...fresh);
    this.#loads++;
    this.#next = nextIn(part);
    announce(t('loaded', { count: fresh.length }));
    return { first: fresh[0], last: this.#next === undefined };
  }
}
define('x-feed', Feed);
