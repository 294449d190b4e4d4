import { define, fragment } from '@forum/client';

/** Discussions about what this one is about, in place of the link to them. */
class RelatedDiscussions extends HTMLElement {
  async connectedCallback(): Promise<void> {
    const link = this.querySelector('a');
    if (!link) return;
    try {
      const list = (await fragment(link.pathname)).querySelector('.related-list');
      if (list) link.replaceWith(list);
      else this.remove();
    } catch {
      // The link leads there.
    }
  }
}
define('x-related', RelatedDiscussions);
