import { define } from '@forum/client';

interface NewPost {
  readonly data: { readonly post: { readonly discussion_id: string; readonly number: number } };
}

/**
 * Says that replies have come since the page was made, and leads to the first of them. Without a stream it stays empty.
 */
class Replies extends HTMLElement {
  readonly #onReply = (event: Event): void => this.#show((event as CustomEvent<NewPost>).detail.data.post);
  #address = '';

  connectedCallback(): void {
    this.#address = this.querySelector('a')?.pathname ?? '';
    document.addEventListener('parley:post.created', this.#onReply);
  }

  disconnectedCallback(): void {
    document.removeEventListener('parley:post.created', this.#onReply);
  }

  /** Numbers have no gaps, so the newest says how many there are. */
  #show({ discussion_id: discussion, number }: NewPost['data']['post']): void {
    const link = this.querySelector('a');
    const last = Number(this.dataset['last']);
    const count = Math.max(number - last, Number(this.dataset['count'] ?? 0));
    if (!link || discussion !== this.dataset['discussion'] || count <= 0) return;
    this.dataset['count'] = String(count);
    link.href = `${this.#address}/${last + 1}`;
    link.textContent = (this.dataset['text'] ?? '').replace('{count}', String(count));
    link.hidden = false;
  }
}
define('x-replies', Replies);
