import { button, define, fragment, loadElement } from '@forum/client';
import type { Dock } from './parts/dock.ts';
import { focusOn, readPost } from './parts/posts.ts';
import { answer, answeredBy, appendTo } from './parts/reply-text.ts';

/** What may change which post is answered. */
const CHANGES = ['input', 'change', 'reset'];

/**
 * Keeps the form of a reply at the foot of the window while one goes on reading. It is the form that stands below the
 * posts: what is written in it stays, and where it is closed it is there again.
 */
class ReplyDock extends HTMLElement implements Dock {
  readonly #head = document.createElement('p');
  readonly #answers = document.createElement('span');
  #opener: HTMLElement | undefined;
  readonly #size = new ResizeObserver(([entry]) =>
    document.documentElement.style.setProperty('--docked', `${(entry!.target as HTMLElement).offsetHeight}px`),
  );

  connectedCallback(): void {
    const close = button(this.dataset['close'] ?? '', () => this.#close());
    close.className = 'button quiet small';
    this.#head.className = 'dock-head';
    this.#head.replaceChildren(this.#answers, close);
  }

  disconnectedCallback(): void {
    this.#size.disconnect();
  }

  async open(link: HTMLAnchorElement): Promise<void> {
    const panel = this.nextElementSibling as HTMLElement;
    const area = panel.querySelector('textarea')!;
    const { searchParams: asked } = new URL(link.href);
    const [to, quoted] = [asked.get('to') ?? asked.get('quote'), asked.has('quote')];
    // It brings a draft back first.
    const [page] = await Promise.all([quoted ? fragment(link.href) : undefined, loadElement('x-composer')]);
    if (page) appendTo(area, page.querySelector('textarea')?.value ?? '');
    // Whoever goes on with what is written goes on answering the same post.
    if (to !== null || area.value.trim() === '') answer(area.form!, to);
    this.#say();
    if (!panel.classList.contains('docked')) {
      panel.classList.add('docked');
      panel.prepend(this.#head);
      panel.addEventListener('keydown', this.#key);
      for (const change of CHANGES) panel.addEventListener(change, this.#say);
      this.#size.observe(panel);
    }
    this.#opener = link;
    area.focus({ preventScroll: true });
  }

  get #answered(): HTMLElement | null {
    const form = this.nextElementSibling!.querySelector('form')!;
    return document.getElementById(`post-${answeredBy(form)}`);
  }

  /** Which post is answered. */
  readonly #say = (): void => {
    const author = this.#answered?.querySelector('.post-by bdi')?.textContent;
    const text = this.dataset[author ? 'answers' : 'label'] ?? '';
    const number = this.#answered?.dataset['number'] ?? '';
    this.#answers.textContent = text.replace('{author}', () => author ?? '').replace('{number}', number);
  };

  /** Leaves lists and menus that are open within to themselves. */
  readonly #key = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector(':popover-open')) this.#close();
  };

  #close(): void {
    const panel = this.nextElementSibling as HTMLElement;
    panel.classList.remove('docked');
    panel.removeEventListener('keydown', this.#key);
    for (const change of CHANGES) panel.removeEventListener(change, this.#say);
    this.#head.remove();
    this.#size.disconnect();
    // The bar below and a menu that is closed by now are no places for the keyboard to go on from.
    if (this.#opener?.closest('.post')) this.#opener.focus({ preventScroll: true });
    else focusOn(this.#answered ?? readPost()!);
  }
}

define('x-dock', ReplyDock);
