import { api, define, escapeMarkdown, type Completion, type CompletionSource } from '@forum/client';

interface Tag {
  readonly slug: string;
  readonly name: string;
  readonly discussion_count: number;
}

/**
 * Completes tags by a part of their name, as links to their pages; suggests the most used ones while nothing is typed.
 */
class TagNames extends HTMLElement implements CompletionSource {
  async complete(typed: string, signal: AbortSignal): Promise<readonly Completion[]> {
    const path = `/api/tags?limit=8&q=${encodeURIComponent(typed)}`;
    const { tags } = await api<{ tags: readonly Tag[] }>(path, undefined, 'GET', { signal });
    return tags.map(({ slug, name, discussion_count: count }) => ({
      text: `[#${escapeMarkdown(name)}](/t/${encodeURIComponent(slug)})`,
      label: name,
      hint: count.toLocaleString(document.documentElement.lang),
    }));
  }
}
define('x-complete-tag', TagNames);
