import { announce, api, define } from '@forum/client';

interface Unread {
  readonly count: number;
}
/** Above this the number says only that there are many, as on the server. */
const MOST = 99;

/**
 * Keeps the number at an icon in the head of a page while the page is open, as the signal `data-signal` says it, or the
 * address `data-path`; says it where it grew. Without a text for none (`data-none`) the icon goes with the number.
 */
class Count extends HTMLElement {
  #count = 0;

  /** The head is there for as long as the page is. */
  connectedCallback(): void {
    this.#count = Number(this.dataset['count']);
    document.addEventListener(`parley:${this.dataset['signal']}`, (event) =>
      this.#show((event as CustomEvent<Unread>).detail.count),
    );
    // What was sent while the page slept is not sent again.
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
    // Other tabs of the browser show no more of a page than its title.
    if (title)
      document.title = `${count > 0 ? `(${badge.textContent}) ` : ''}${document.title.replace(/^\(\d+\+?\) /, '')}`;
    link.ariaLabel = text;
    if (count > this.#count) announce(text);
    this.#count = count;
  }
}
define('x-count', Count);
