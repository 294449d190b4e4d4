import { define } from '@forum/client';
import type { Leaving } from './parts/leaving.ts';

/** The link to the next unread post. If that post is on this page, moves the focus there instead. */
class NextUnread extends HTMLElement {
  connectedCallback(): void {
    const link = this.querySelector('a');
    if (!link) return;
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      void this.#go(link);
    });
  }

  async #go(link: HTMLAnchorElement): Promise<void> {
    const leaving: Leaving = { sending: [] };
    /** The reader follows the link to the next unread post; `detail.sending` collects what must be sent before. */
    if (!document.dispatchEvent(new CustomEvent('read-marks:next', { cancelable: true, detail: leaving }))) return;
    await Promise.allSettled(leaving.sending);
    const address = new URL(link.href);
    if (leaving.in !== undefined) address.searchParams.set('in', leaving.in);
    location.assign(address);
  }
}
define('x-next-unread', NextUnread);
