import { define, fragment, togglePopover } from '@forum/client';

/** Number of notifications shown in the menu. */
const MOST = 10;
/** Minimum width for the menu; on smaller screens, the page of notifications has more room. */
const ROOM = matchMedia('(min-width: 48rem)');

/** A menu with the newest notifications, opened by the bell in place of the page that it links to. */
class NotificationsMenu extends HTMLElement {
  readonly #menu = Object.assign(document.createElement('div'), {
    className: 'menu notifications-menu',
    popover: 'auto',
  });
  #gone: AbortController | undefined;

  connectedCallback(): void {
    this.#menu.role = 'dialog';
    this.#menu.ariaLabel = this.dataset['title'] ?? '';
    this.append(this.#menu);
    this.#gone = new AbortController();
    const { signal } = this.#gone;
    const bell = document.querySelector<HTMLAnchorElement>('.bell');
    bell?.addEventListener('click', (event) => this.#press(bell, event), { signal });
    document.addEventListener(
      'parley:notifications',
      () => void (bell && this.#menu.matches(':popover-open') && this.#fill(bell).catch(() => undefined)),
      { signal },
    );
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
  }

  #press(bell: HTMLAnchorElement, event: MouseEvent): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || !ROOM.matches) return;
    event.preventDefault();
    this.#fill(bell).then(
      () => togglePopover(this.#menu, bell, event),
      () => location.assign(bell.href),
    );
  }

  async #fill(bell: HTMLAnchorElement): Promise<void> {
    const page = await fragment(bell.pathname);
    const list = page.querySelector('.cards');
    for (const item of [...(list?.children ?? [])].slice(MOST)) item.remove();
    // Opening a notification marks it as read, so these buttons are not needed.
    for (const form of list?.querySelectorAll('form') ?? []) form.remove();
    const readAll = page.querySelector('.page-head-actions form');
    readAll?.setAttribute('data-enhance', 'stay');
    const head = Object.assign(document.createElement('p'), { className: 'menu-head row' });
    head.append(this.dataset['title'] ?? '', ...(readAll ? [readAll] : []));
    const all = Object.assign(document.createElement('a'), {
      className: 'menu-item',
      href: bell.href,
      textContent: this.dataset['all'] ?? '',
    });
    const shown = list ?? page.querySelector('.empty');
    this.#show(head, ...(shown ? [shown] : []), all);
  }

  /** Moves the focus to the same link as before, or to the first one. */
  #show(...parts: readonly Element[]): void {
    const focused = document.activeElement;
    const within = this.#menu.contains(focused);
    this.#menu.replaceChildren(...parts);
    if (!within) return;
    const links = [...this.#menu.querySelectorAll('a')];
    (links.find(({ href }) => href === (focused as HTMLAnchorElement).href) ?? links[0])?.focus();
  }
}
define('x-notifications-menu', NotificationsMenu);
