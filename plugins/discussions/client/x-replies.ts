import { define } from '@forum/client';

interface NewPost {
  readonly data: { readonly post: { readonly discussion_id: string; readonly number: number } };
}

interface MovedPosts {
  readonly data: {
    readonly discussion: { readonly id: string } | null;
    readonly posts: readonly { readonly number: number | null }[];
  };
}

/**
 * Announces replies that arrived after the page was rendered, with a link to the first of them, unless they are
 * appended automatically. Stays empty without the live stream.
 */
class Replies extends HTMLElement {
  readonly #onReply = (event: Event): void => this.#show((event as CustomEvent<NewPost>).detail.data.post);
  readonly #onMove = (event: Event): void => {
    const { discussion, posts } = (event as CustomEvent<MovedPosts>).detail.data;
    for (const { number } of posts) this.#show({ discussion_id: discussion?.id ?? '', number: number ?? 0 });
  };
  #address = '';
  #newest = 0;

  connectedCallback(): void {
    this.#address = this.querySelector('a')?.pathname ?? '';
    document.addEventListener('parley:post.created', this.#onReply);
    document.addEventListener('parley:posts.moved', this.#onMove);
    document.addEventListener('discussions:posts', this.#update);
  }

  disconnectedCallback(): void {
    document.removeEventListener('parley:post.created', this.#onReply);
    document.removeEventListener('parley:posts.moved', this.#onMove);
    document.removeEventListener('discussions:posts', this.#update);
  }

  #show({ discussion_id: discussion, number }: NewPost['data']['post']): void {
    if (discussion !== this.dataset['discussion']) return;
    this.#newest = Math.max(this.#newest, number);
  }

  /**
   * By now it is known whether the replies were appended automatically. Post numbers have no gaps, so the newest number
   * gives the count; posts loaded since then are no longer new.
   */
  readonly #update = (): void => {
    const link = this.querySelector('a');
    const shown = [...document.querySelectorAll('.stream > .post')].at(-1)?.id.slice('post-'.length) ?? 0;
    const last = Math.max(Number(this.dataset['last']), Number(shown));
    const count = this.#newest - last;
    if (!link) return;
    link.href = `${this.#address}/${last + 1}?here=1`;
    link.textContent = (this.dataset['text'] ?? '').replace('{count}', String(count));
    link.hidden = count <= 0;
  };
}
define('x-replies', Replies);
