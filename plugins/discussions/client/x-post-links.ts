import { define } from '@forum/client';
import { goTo } from './parts/posts.ts';

/**
 * Makes links between posts of the discussion, whose URLs start with `data-path`, scroll to posts that are on the page
 * instead of loading it.
 */
class PostLinks extends HTMLElement {
  #gone: AbortController | undefined;

  connectedCallback(): void {
    const { signal } = (this.#gone = new AbortController());
    document.addEventListener('click', (event) => this.#clicked(event), { signal });
  }

  disconnectedCallback(): void {
    this.#gone?.abort();
  }

  #clicked(event: MouseEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    // The permalink of a post is excluded: it is there to be opened, copied and shared.
    const link = (event.target as Element).closest<HTMLAnchorElement>('.stream > .post a:not(.post-link)');
    const path = this.dataset['path'] ?? '';
    if (!link || link.target || link.origin !== location.origin || !link.pathname.startsWith(path)) return;
    const number = link.pathname.slice(path.length);
    const post = document.getElementById(`post-${number}`);
    if (!post) return;
    event.preventDefault();
    goTo(post, link.href);
  }
}
define('x-post-links', PostLinks);
