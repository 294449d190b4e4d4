import { button, define, fragment, loadElement } from '@forum/client';
import { dock, type Dock } from './parts/dock.ts';
import { focusOn, readPost } from './parts/posts.ts';
import { appendTo } from './parts/reply-text.ts';

/**
 * Keeps the form of a reply at the foot of the window while one goes on reading. It is the form that stands below the
 * posts: what is written in it stays, and where it is closed it is there again.
 */
class ReplyDock extends HTMLElement implements Dock {
  readonly #head = document.createElement('p');
  readonly #answers = document.createElement('span');
  #opener: HTMLElement | undefined;
  #answered: HTMLElement | null = null;
  #path = '';
  readonly #size = new ResizeObserver(([entry]) =>
    document.documentElement.style.setProperty('--docked', `${(entry!.target as HTMLElement).offsetHeight}px`),
  );

  connectedCallback(): void {
    const close = button(this.dataset['close'] ?? '', () => this.#close());
    close.className = 'button quiet small';
    this.#head.className = 'dock-head';
    this.#head.replaceChildren(this.#answers, close);
    this.addEventListener('click', (event) => {
      const link = (event.target as Element).closest('a');
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      if (dock(link)) event.preventDefault();
    });
  }

  disconnectedCallback(): void {
    this.#size.disconnect();
  }

  async open(link: HTMLAnchorElement): Promise<void> {
    const panel = this.nextElementSibling as HTMLElement;
    const area = panel.querySelector('textarea')!;
    const { form } = area;
    this.#path ||= form!.getAttribute('action')!;
    const { searchParams: asked } = new URL(link.href);
    const [to, quoted] = [asked.get('to') ?? asked.get('quote'), asked.has('quote')];
    // It brings a draft back first.
    const [page] = await Promise.all([quoted ? fragment(link.href) : undefined, loadElement('x-composer')]);
    if (page) appendTo(area, page.querySelector('textarea')?.value ?? '');
    form!.action = to ? `${this.#path}?to=${to}` : this.#path;
    this.#answered = to === null ? null : document.getElementById(`post-${to}`);
    const author = this.#answered?.querySelector('.post-by bdi')?.textContent;
    this.#answers.textContent = author
      ? (this.dataset['answers'] ?? '').replace('{author}', () => author).replace('{number}', to!)
      : (this.dataset['label'] ?? '');
    if (!panel.classList.contains('docked')) {
      panel.classList.add('docked');
      panel.prepend(this.#head);
      panel.addEventListener('keydown', this.#key);
      this.#size.observe(panel);
    }
    this.#opener = link;
    area.focus({ preventScroll: true });
  }

  /** Leaves lists and menus that are open within to themselves. */
  readonly #key = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector(':popover-open')) this.#close();
  };

  #close(): void {
    const panel = this.nextElementSibling as HTMLElement;
    panel.classList.remove('docked');
    panel.removeEventListener('keydown', this.#key);
    this.#head.remove();
    this.#size.disconnect();
    // The bar below and a menu that is closed by now are no places for the keyboard to go on from.
    if (this.#opener?.closest('.post')) this.#opener.focus({ preventScroll: true });
    else focusOn(this.#answered ?? readPost()!);
  }
}

define('x-dock', ReplyDock);
