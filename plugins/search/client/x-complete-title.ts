import { api, define, escapeMarkdown, type Completion, type CompletionSource } from '@forum/client';

/** Minimum number of letters to search titles for. */
const LEAST = 2;

interface Group {
  readonly kind: string;
  readonly suggestions: readonly { readonly label: string; readonly path: string; readonly detail: string | null }[];
}

/** Completes discussions by words of their titles, as links. */
class Titles extends HTMLElement implements CompletionSource {
  async complete(typed: string, signal: AbortSignal): Promise<readonly Completion[]> {
    if (typed.trim().length < LEAST) return [];
    const path = `/api/search/suggestions?q=${encodeURIComponent(typed)}`;
    const { groups } = await api<{ groups: readonly Group[] }>(path, undefined, 'GET', { signal });
    const found = groups.find(({ kind }) => kind === 'discussions')?.suggestions ?? [];
    return found.map(({ label, path: to, detail }) => ({
      text: `[${escapeMarkdown(label)}](${to})`,
      label,
      ...(detail !== null && { hint: detail }),
    }));
  }
}
define('x-complete-title', Titles);
