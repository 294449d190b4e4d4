import { define, loadElement, page, t, toast } from '@forum/client';
import { Source } from './parts/source.ts';

/** Milliseconds for which a hidden tab stays subscribed. */
const HIDDEN_TIMEOUT = 300_000;
/**
 * Elements that answer a message, whose modules are loaded for the first of it, and what is said where that fails:
 * another version of the server may have other modules.
 */
const ANSWERS: Readonly<Record<string, readonly [element: string, text: string]>> = {
  'session.ended': ['x-session', 'over'],
  'site.updated': ['x-updated', 'updated'],
};

/**
 * Dispatches what happens on this page: each message of the stream becomes an event of the document, such as
 * `parley:post.created`, with its data as `detail`. All tabs of a browser share one stream. `data-events` names the
 * messages there can be.
 */
class Live extends HTMLElement {
  #source: Source | undefined;
  /** The session of this page's member is over, and nobody has logged in again. */
  #over = false;
  #disconnected: AbortController | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  connectedCallback(): void {
    const { viewer } = document.body.dataset;
    const about = { version: page.version, ...(viewer && { viewer }) };
    this.#source = new Source((this.dataset['events'] ?? '').split(' '), about, async (name, detail) => {
      if (name === 'session.ended') this.#end();
      const [answer, text] = ANSWERS[name] ?? [];
      if (answer) await loadElement(answer).catch(() => toast(t(text!)));
      document.dispatchEvent(new CustomEvent(`parley:${name}`, { detail }));
    });
    this.#disconnected = new AbortController();
    const { signal } = this.#disconnected;
    // A page with an open connection could not be restored from the back/forward cache.
    addEventListener('pagehide', () => this.#source?.stop(), { signal });
    addEventListener('pageshow', () => this.#update(), { signal });
    document.addEventListener('visibilitychange', () => this.#update(), { signal });
    document.addEventListener('forum:logged-in', () => ((this.#over = false), this.#update()), { signal });
    this.#update();
  }

  disconnectedCallback(): void {
    this.#disconnected?.abort();
    clearTimeout(this.#timer);
    this.#source?.stop();
  }

  /** A stream of a guest's tells a member's page nothing. */
  #end(): void {
    this.#over = true;
    this.#source?.stop();
  }

  #update(): void {
    clearTimeout(this.#timer);
    if (this.#over) return;
    if (!document.hidden) this.#source?.start();
    else this.#timer = setTimeout(() => this.#source?.stop(), HIDDEN_TIMEOUT);
  }
}
define('x-live', Live);
