import { announce, define, fragment, inPages, t } from '@forum/client';

/** Pages that come by themselves before a button is shown, so that the foot of the page stays within reach. */
const BY_THEMSELVES = 3;
/** Milliseconds between two looks at where one is. */
const THROTTLE = 250;
/** Frames in which rows around the place one comes back to find their height, and how many without a change end that. */
const [FRAMES, STILL] = [60, 5];
/** By what one moves oneself. */
const MOVES = ['wheel', 'touchstart', 'pointerdown', 'keydown'];

/** How many pages had been added, the topmost row in sight, and how far below the top of the screen it began. */
interface Place {
  readonly loads: number;
  readonly row: string | null;
  readonly top: number;
}

/** What distinguishes one row from another. */
const nameOf = (row: Element): string | null => row.getAttribute('aria-labelledby');
/** Those of a list, and those that are pinned above it. */
const rowsOf = (list: ParentNode | null): readonly Element[] => [...(list?.querySelectorAll('.card') ?? [])];
/** Where a pager leads on to. */
const nextIn = (part: ParentNode | null): string | undefined =>
  part?.querySelector('[rel="next"]')?.getAttribute('href') ?? undefined;

/** A list that goes on, where the pager behind it leads to. */
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

  /** Notes where one is, for whoever comes back to a page that the browser did not keep as it was. */
  #keep(): void {
    this.#keeping = undefined;
    const row = this.#rows.find((one) => one.getBoundingClientRect().bottom > 0);
    if (this.#loads === 0 || !row) return;
    const feed: Place = { loads: this.#loads, row: nameOf(row), top: row.getBoundingClientRect().top };
    // The browser would go to so many pixels of a page that has other rows by then.
    history.scrollRestoration = 'manual';
    history.replaceState({ ...(history.state as object | null), feed }, '');
  }

  /** Back to where one was, unless one moves while its rows come. */
  async #return(place: Place | undefined): Promise<void> {
    if (!place) return;
    const before = scrollY;
    for (let at = 0; at < place.loads; at++) await this.#load(false);
    const row = this.#rows.find((one) => nameOf(one) === place.row);
    if (!row || scrollY !== before) return;
    const moved = new AbortController();
    const signal = AbortSignal.any([moved.signal, this.#gone.signal]);
    for (const type of MOVES) addEventListener(type, () => moved.abort(), { signal, passive: true });
    // Rows that come near are drawn by the next frames, and seldom as high as the room that was kept for them.
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
