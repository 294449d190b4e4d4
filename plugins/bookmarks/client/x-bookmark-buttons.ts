import { announce, api, define, toast } from '@forum/client';
import { showBadge } from './parts/badge.ts';

/** Adds a bookmark button to each post, including posts loaded later, if the screen is wide enough. */
class BookmarkButtons extends HTMLElement {
  readonly #observer = new MutationObserver(() => this.#add());

  connectedCallback(): void {
    const posts = document.querySelector('.stream');
    if (!posts || !matchMedia('(min-width: 40rem)').matches) return;
    this.#observer.observe(posts, { childList: true, subtree: true });
    this.#add();
  }

  disconnectedCallback(): void {
    this.#observer.disconnect();
  }

  #add(): void {
    for (const menu of document.querySelectorAll<HTMLAnchorElement>(
      '.post-actions:not(:has(.bookmark-add)) [data-menu]',
    ))
      menu.parentElement!.prepend(this.#button(menu));
  }

  /** `menu` is the link to the post's menu; its URL contains the post's id. */
  #button(menu: HTMLAnchorElement): HTMLButtonElement {
    const { content } = this.querySelector('template')!;
    const button = content.firstElementChild!.cloneNode(true) as HTMLButtonElement;
    const post = menu.closest<HTMLElement>('.post')!;
    button.ariaLabel = this.#text('add', post);
    button.addEventListener('click', () => void this.#keep(button, post, menu.pathname.split('/')[2]!));
    return button;
  }

  #text(name: string, post: HTMLElement): string {
    return this.dataset[name]!.replace('{number}', post.dataset['number']!);
  }

  async #keep(button: HTMLButtonElement, post: HTMLElement, id: string): Promise<void> {
    try {
      const { bookmark } = await api<{ bookmark: { id: string } }>('/api/bookmarks', { post_id: id });
      const focused = document.activeElement === button;
      const short = this.#text('short', post);
      const icon = button.querySelector('.icon')!;
      const badge = showBadge(post, bookmark.id, { label: this.#text('label', post), short, icon });
      announce(short);
      // The focused button has been removed.
      if (focused) badge.focus({ preventScroll: true });
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }
}
define('x-bookmark-buttons', BookmarkButtons);
