import { loadElement } from '@forum/client';

/** The panel in which a reply is written while reading on. */
export interface Dock extends HTMLElement {
  /**
   * Opens the dock for a link: the URL of a reply or of an edit form, or a link to the form below. Rejects if the
   * quoted text cannot be fetched.
   */
  open(link: HTMLAnchorElement): Promise<void>;
}

/** Opens the dock instead of following a link; returns false if there is no dock, or no room for it. */
export function dock(link?: HTMLAnchorElement): boolean {
  const element = document.querySelector<Dock>('x-dock');
  if (!element?.checkVisibility()) return false;
  const asks = link ?? element.querySelector('a')!;
  loadElement('x-dock')
    .then(() => element.open(asks))
    .catch(() => location.assign(asks.href));
  return true;
}
