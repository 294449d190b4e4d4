import { announce, api, define, toast } from '@forum/client';
import { showBadge } from './parts/badge.ts';

/** The form of all buttons at posts that keep them: it is sent without leaving the page. */
class BookmarkForm extends HTMLElement {
  connectedCallback(): void {
    this.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#keep(event.submitter as HTMLButtonElement);
    });
  }

  async #keep(button: HTMLButtonElement): Promise<void> {
    const post = button.closest<HTMLElement>('.post');
    const [, , id] = new URL(button.formAction).pathname.split('/');
    const { label = '', short = '' } = this.dataset;
    try {
      const { bookmark } = await api<{ bookmark: { id: string } }>('/api/bookmarks', { post_id: id });
      const focused = document.activeElement === button;
      const texts = { label: label.replace('{number}', post?.dataset['number'] ?? ''), short };
      const badge = showBadge(post, bookmark.id, { ...texts, icon: button.querySelector('.icon')! });
      announce(short);
      // The button has gone with it.
      if (focused) badge.focus({ preventScroll: true });
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error));
    }
  }
}
define('x-bookmark-form', BookmarkForm);
