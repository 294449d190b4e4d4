import { announce, api, define, toast } from '@forum/client';
import { showBadge } from './parts/badge.ts';

/** The menu items of a post that add and remove its bookmark without leaving the page; the post's badge is updated. */
class BookmarkItems extends HTMLElement {
  connectedCallback(): void {
    this.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#toggle();
    });
  }

  async #toggle(): Promise<void> {
    const { post, bookmark } = this.dataset;
    try {
      if (bookmark) await api(`/api/bookmarks/${bookmark}`, {}, 'DELETE');
      const kept = bookmark ? undefined : await api<{ bookmark: { id: string } }>('/api/bookmarks', { post_id: post });
      // Only now: when the focus returns to the opener, it fetches the menu's next content.
      this.closest<HTMLElement>('[popover]')?.hidePopover();
      this.#show(kept?.bookmark.id ?? '');
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }

  #show(id: string): void {
    this.dataset['bookmark'] = id;
    const button = this.querySelector('button')!;
    const [add, remove] = button.querySelectorAll('span');
    const details = this.querySelector('a')!;
    announce((id ? this.dataset['short'] : remove!.textContent) ?? '');
    button.value = String(!id);
    [add!.hidden, remove!.hidden, details.hidden] = [id !== '', id === '', id === ''];
    details.href = `/bookmarks/${id}`;
    const post = document.getElementById(`post-${this.dataset['number']}`);
    const { label = '', short = '' } = this.dataset;
    showBadge(post, id, { label, short, icon: this.querySelector('.icon')! });
  }
}
define('x-bookmark', BookmarkItems);
