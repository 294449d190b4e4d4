import { define, loadElement, t, toast, type Bar, type LoginDialog } from '@forum/client';

/** Milliseconds without a stream after which this page asks by itself, and the most they grow to. */
const MIN_POLL_DELAY = 60_000;
const MAX_POLL_DELAY = 300_000;
/** Milliseconds in which a page that is about to be left, as by logging out on it, is gone. */
const LEAVING = 1_000;

/**
 * Does what there is to do when the link to the server is down, is over with the session, or leads to another version
 * of it. While it is down, `parley:poll` on the document says when to ask for what the stream would have told.
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

  /** Says that the session is over, and asks to log in again. A stream of a guest's would tell this page nothing. */
  async #end(): Promise<void> {
    this.#stream?.remove();
    await new Promise((done) => setTimeout(done, LEAVING));
    // Whoever logs in on the page they look at need not be asked on the others.
    while (document.hidden)
      await new Promise((done) => document.addEventListener('visibilitychange', done, { once: true }));
    try {
      await loadElement('x-login');
      await (document.createElement('x-login') as LoginDialog).ask(t('over'));
    } catch {
      toast(t('over'));
    }
  }

  /** What happened meanwhile is not told any more. */
  #begin(): void {
    if (!this.#stream || this.#stream.isConnected) return;
    document.body.prepend(this.#stream);
    document.dispatchEvent(new CustomEvent('parley:reset'));
  }

  /** Once: when this page is loaded again is up to its reader. */
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
