import { announce, api, define } from '@forum/client';

interface Unread {
  readonly count: number;
}
/** Larger numbers are shown as "many", as on the server. */
const MOST = 99;

/**
 * Updates the number at an icon in the page's header while the page is open, from the signal `data-signal` or the URL
 * `data-path`, and announces it when it grew. Without a text for zero (`data-none`) the icon is hidden with the number.
 */
class Count extends HTMLElement {
  #count = 0;

  /** Listeners need no removal: the header lives as long as the page. */
  connectedCallback(): void {
    this.#count = Number(this.dataset['count']);
    document.addEventListener(`parley:${this.dataset['signal']}`, (event) =>
      this.#show((event as CustomEvent<Unread>).detail.count),
    );
    // Signals sent while the page was suspended are not repeated.
    document.addEventListener('parley:reset', () => void this.#ask());
    document.addEventListener('parley:poll', () => void this.#ask());
    addEventListener('pageshow', ({ persisted }) => void (persisted && this.#ask()));
  }

  async #ask(): Promise<void> {
    const { count } = await api<Unread>(this.dataset['path'] ?? '').catch(() => ({ count: this.#count }));
    this.#show(count);
  }

  #show(count: number): void {
    const [link, badge] = [this.querySelector('a'), this.querySelector<HTMLElement>('.icon-count')];
    if (!link || !badge || count === this.#count) return;
    const number = (value: number): string => value.toLocaleString(document.documentElement.lang);
    const { none, some = '', title } = this.dataset;
    const text = count > 0 ? some.replace('{count}', number(count)) : (none ?? '');
    badge.textContent = count > MOST ? `${MOST}+` : number(count);
    badge.hidden = count === 0;
    link.hidden = count === 0 && none === undefined;
    // Other tabs of the browser show only the page's title.
    if (title)
      document.title = `${count > 0 ? `(${badge.textContent}) ` : ''}${document.title.replace(/^\(\d+\+?\) /, '')}`;
    link.ariaLabel = text;
    if (count > this.#count) announce(text);
    this.#count = count;
  }
}
define('x-count', Count);
