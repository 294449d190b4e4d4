import { define, fragment } from '@forum/client';

/** Loads a list of related discussions in place of the link to it. */
class RelatedDiscussions extends HTMLElement {
  async connectedCallback(): Promise<void> {
    const link = this.querySelector('a');
    if (!link) return;
    try {
      const list = (await fragment(link.pathname)).querySelector('.related-list');
      if (list) link.replaceWith(list);
      else this.remove();
    } catch {
      // The link remains.
    }
  }
}
define('x-related', RelatedDiscussions);
