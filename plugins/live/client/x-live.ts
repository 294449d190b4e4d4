import { define } from '@forum/client';
import { Source } from './parts/source.ts';

/** Milliseconds for which a hidden tab still hears what happens. */
const HIDDEN = 300_000;

/**
 * Tells this page what happens: each message of the stream becomes an event of the document, such as
 * `parley:post.created`, with its data as `detail`. All tabs of a browser share one stream. `data-events` names the
 * messages there can be.
 */
class Live extends HTMLElement {
  #source: Source | undefined;
  #gone: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    this.#source = new Source((this.dataset['events'] ?? '').split(' '), (name, detail) =>
      document.dispatchEvent(new CustomEvent(`parley:${name}`, { detail })),
    );
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    // A page that holds a connection open could not be brought back as it was left.
    addEventListener('pagehide', () => this.#source?.stop(), { signal });
    addEventListener('pageshow', () => this.#look(), { signal });
    document.addEventListener('visibilitychange', () => this.#look(), { signal });
    this.#look();
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    clearTimeout(this.#timer);
    this.#source?.stop();
  }

  #look(): void {
    clearTimeout(this.#timer);
    if (!document.hidden) this.#source?.start();
    else this.#timer = setTimeout(() => this.#source?.stop(), HIDDEN);
  }
}
define('x-live', Live);
