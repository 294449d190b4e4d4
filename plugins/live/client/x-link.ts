import { define, loadElement, t, toast, type Bar, type LoginDialog } from '@forum/client';

/** Initial and maximum interval, in milliseconds, at which this page polls while there is no stream. */
const MIN_POLL_DELAY = 60_000;
const MAX_POLL_DELAY = 300_000;
/** Milliseconds within which a page that is being left, for example by logging out, is gone. */
const LEAVING = 1_000;

/**
 * Reacts when the connection to the server is down, when the session has ended, and when the server has been updated.
 * While the connection is down, `parley:poll` events on the document tell when to request what the stream would have
 * delivered.
 */
class Link extends HTMLElement {
  readonly #stream = document.querySelector('x-live');
  #gone: AbortController | undefined;
  #polling: ReturnType<typeof setTimeout> | undefined;
  #updated = false;

  connectedCallback(): void {
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    const on = (message: string, run: () => void): void => document.addEventListener(message, run, { signal });
    on('parley:down', () => (this.#polling ??= this.#poll(MIN_POLL_DELAY)));
    on('parley:open', () => this.#stop());
    on('parley:session.ended', () => void this.#end());
    on('parley:site.updated', () => void this.#update());
    on('forum:logged-in', () => this.#begin());
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
    this.#stop();
  }

  /** While the connection is down, tells the page at growing intervals to request what the stream would have sent. */
  #poll(delay: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.#polling = this.#poll(Math.min(delay * 2, MAX_POLL_DELAY));
      if (!document.hidden) document.dispatchEvent(new CustomEvent('parley:poll'));
    }, delay);
  }

  #stop(): void {
    clearTimeout(this.#polling);
    this.#polling = undefined;
  }

  /**
   * Tells the reader that the session has ended and asks them to log in again. The stream is removed, as a guest's
   * stream would be of no use to this page.
   */
  async #end(): Promise<void> {
    this.#stream?.remove();
    await new Promise((done) => setTimeout(done, LEAVING));
    // A member who logs in on the visible page need not be asked on the others.
    while (document.hidden)
      await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
    try {
      await loadElement('x-login');
      await (document.createElement('x-login') as LoginDialog).ask(t('over'));
    } catch {
      toast(t('over'));
    }
  }

  /**
   * Restarts the stream, and asks the page to load everything again, as events that happened in the meantime will not
   * be delivered.
   */
  #begin(): void {
    if (!this.#stream || this.#stream.isConnected) return;
    document.body.prepend(this.#stream);
    document.dispatchEvent(new CustomEvent('parley:reset'));
  }

  /** Shown once; the reader decides when to reload this page. */
  async #update(): Promise<void> {
    if (this.#updated) return;
    this.#updated = true;
    try {
      await loadElement('x-bar');
      (document.createElement('x-bar') as Bar).show(t('updated'), t('reload'), () => location.reload());
    } catch {
      toast(t('updated'));
    }
  }
}
define('x-link', Link);
