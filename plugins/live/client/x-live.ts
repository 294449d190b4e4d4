import { define, loadElement, t, toast } from '@forum/client';
import { Source } from './parts/source.ts';

/** Milliseconds for which a hidden tab stays subscribed. */
const HIDDEN_TIMEOUT = 300_000;
/** What `x-link` answers, whose module is loaded for it. */
const RARE = /^(?:down|session\.ended|site\.updated)$/;

/**
 * Dispatches what happens on this page: each message of the stream becomes an event of the document, such as
 * `parley:post.created`, with its data as `detail`. All tabs of a browser share one stream. `data-events` names the
 * messages there can be, `data-query` says of which page the stream is.
 */
class Live extends HTMLElement {
  #source: Source | undefined;
  #disconnected: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    const { events = '', query = '' } = this.dataset;
    this.#source = new Source(events.split(' '), query, async (name, detail) => {
      // Where the server is another one by now, it may have another module.
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
