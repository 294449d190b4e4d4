import { api, define } from '@forum/client';

/** Milliseconds between heartbeats; a visitor without one for five minutes counts as gone. */
const EVERY = 60_000;

/** Reports periodically that this page is still being viewed. */
class Heartbeat extends HTMLElement {
  #timer: ReturnType<typeof setInterval> | undefined;

  connectedCallback(): void {
    this.#timer = setInterval(() => {
      // The next heartbeat makes up for one that fails.
      if (!document.hidden) api('/api/presence/update', { page: location.pathname }).catch(() => undefined);
    }, EVERY);
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
  }
}
define('x-heartbeat', Heartbeat);
