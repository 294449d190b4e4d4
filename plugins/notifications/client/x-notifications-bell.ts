import { announce, api, define } from '@forum/client';

interface Unread {
  readonly count: number;
}
/** Above this the number says only that there are many, as on the server. */
const MOST = 99;

/** Keeps the number at the bell while the page is open; says it where it grew. */
class Bell extends HTMLElement {
  #gone: AbortController | undefined;
  #count = 0;

  connectedCallback(): void {
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    this.#count = Number(this.dataset['count']);
    document.addEventListener(
      'parley:notifications',
      (event) => this.#show((event as CustomEvent<Unread>).detail.count),
      { signal },
    );
    // What was sent while the page slept is not sent again.
    document.addEventListener('parley:reset', () => void this.#ask(), { signal });
    document.addEventListener('parley:poll', () => void this.#ask(), { signal });
    addEventListener('pageshow', ({ persisted }) => void (persisted && this.#ask()), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
  }

  async #ask(): Promise<void> {
    const { count } = await api<Unread>('/api/notifications/count').catch(() => ({ count: this.#count }));
    this.#show(count);
  }

  #show(count: number): void {
    const [link, badge] = [this.querySelector('a'), this.querySelector<HTMLElement>('.bell-count')];
    if (!link || !badge || count === this.#count) return;
    const number = (value: number): string => value.toLocaleString(document.documentElement.lang);
    const text =
      count > 0 ? (this.dataset['some'] ?? '').replace('{count}', number(count)) : (this.dataset['none'] ?? '');
    badge.textContent = count > MOST ? `${MOST}+` : number(count);
    badge.hidden = count === 0;
    // Other tabs of the browser show no more of a page than its title.
    document.title = `${count > 0 ? `(${badge.textContent}) ` : ''}${document.title.replace(/^\(\d+\+?\) /, '')}`;
    link.ariaLabel = text;
    if (count > this.#count) announce(text);
    this.#count = count;
  }
}
define('x-notifications-bell', Bell);
