import { define, loadElement, t, toast } from '@forum/client';
import { Source } from './parts/source.ts';

/** How long a hidden tab stays subscribed, in milliseconds. */
const HIDDEN_TIMEOUT = 300_000;
/** Messages handled by `x-link`, whose module is loaded on demand. */
const RARE = /^(?:down|session\.ended|site\.updated)$/;

/**
 * Dispatches live events on this page: each message of the stream becomes an event on the document, such as
 * `parley:post.created`, with its data as `detail`. All tabs of a browser share one stream. `data-events` lists the
 * possible messages, and `data-query` describes the page to the server.
 */
class Live extends HTMLElement {
  #source: Source | undefined;
  #disconnected: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    const { events = '', query = '' } = this.dataset;
    this.#source = new Source(events.split(' '), query, async (name, detail) => {
      // If the server has been updated, the module may no longer be available.
      if (RARE.test(name)) await loadElement('x-link').catch(() => name === 'site.updated' && toast(t('updated')));
      document.dispatchEvent(new CustomEvent(`parley:${name}`, { detail }));
    });
    this.#disconnected = new AbortController();
    const { signal } = this.#disconnected;
    // A page with an open connection could not be restored from the back/forward cache.
    addEventListener('pagehide', () => this.#source?.stop(), { signal });
    addEventListener('pageshow', () => this.#update(), { signal });
    document.addEventListener('visibilitychange', () => this.#update(), { signal });
    this.#update();
  }

  disconnectedCallback(): void {
    this.#disconnected?.abort();
    clearTimeout(this.#timer);
    this.#source?.stop();
  }

  #update(): void {
    clearTimeout(this.#timer);
    if (!document.hidden) this.#source?.start();
    else this.#timer = setTimeout(() => this.#source?.stop(), HIDDEN_TIMEOUT);
  }
}
define('x-live', Live);
