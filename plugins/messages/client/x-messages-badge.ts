import { announce, api, define } from '@forum/client';

interface Unread {
  readonly count: number;
}
/** Above this the number says only that there are many, as on the server. */
const MOST = 99;

/** Keeps the number of unread conversations while the page is open; says it where it grew. */
class MessagesBadge extends HTMLElement {
  #gone: AbortController | undefined;
  #count = 0;

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    this.#count = Number(this.dataset['count']);
    document.addEventListener('parley:messages', (event) => this.#show((event as CustomEvent<Unread>).detail), {
      signal,
    });
    // What was sent while the page slept is not sent again.
    document.addEventListener('parley:reset', () => void this.#ask(), { signal });
    addEventListener('pageshow', ({ persisted }) => void (persisted && this.#ask()), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
  }

  async #ask(): Promise<void> {
    this.#show(await api<Unread>('/api/conversations/count').catch(() => ({ count: this.#count })));
  }

  #show({ count }: Unread): void {
    const link = this.querySelector('a');
    const number = link?.querySelector('span');
    if (!link || !number || count === this.#count) return;
    const shown = count.toLocaleString(document.documentElement.lang);
    number.textContent = count > MOST ? `${MOST}+` : shown;
    link.hidden = count === 0;
    const text = (link.ariaLabel = (this.dataset['text'] ?? '').replace('{count}', shown));
    if (count > this.#count) announce(text);
    this.#count = count;
  }
}
define('x-messages-badge', MessagesBadge);
