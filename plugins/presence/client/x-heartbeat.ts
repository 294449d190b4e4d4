import { api, define } from '@forum/client';

/** Milliseconds between two signs; whoever gives none for five minutes counts as gone. */
const EVERY = 60_000;

/** Says now and then that this page is still being looked at. */
class Heartbeat extends HTMLElement {
  #timer: ReturnType<typeof setInterval> | undefined;

  connectedCallback(): void {
    this.#timer = setInterval(() => {
      // A sign that is lost is made up for by the next.
      if (!document.hidden) api('/api/presence/update', { page: location.pathname }).catch(() => undefined);
    }, EVERY);
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer);
  }
}
define('x-heartbeat', Heartbeat);
