import { loadElement } from '@forum/client';

/** Where a reply is written while one goes on reading. */
export interface Dock extends HTMLElement {
  /** By what asks for it: the address of a reply, or of the form below. Rejects where what is quoted cannot be had. */
  open(link: HTMLAnchorElement): Promise<void>;
}

/** Opens the dock, instead of following a link; false where there is none, or no room for it. */
export function dock(link?: HTMLAnchorElement): boolean {
  const element = document.querySelector<Dock>('x-dock');
  if (!element?.checkVisibility()) return false;
  const asks = link ?? element.querySelector('a')!;
  loadElement('x-dock')
    .then(() => element.open(asks))
    .catch(() => location.assign(asks.href));
  return true;
}
