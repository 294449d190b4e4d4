import { api, define, type Completion, type CompletionSource } from '@forum/client';

/** Minimum number of letters to search for members who are not on the page. */
const LEAST = 2;

/** Completes member names: first those on this page, then all. */
class MemberNames extends HTMLElement implements CompletionSource {
  async complete(typed: string, signal: AbortSignal): Promise<readonly Completion[]> {
    const low = typed.toLowerCase();
    const here = namesOnPage().filter((name) => name.toLowerCase().startsWith(low));
    const found = typed.length < LEAST ? [] : await search(typed, signal);
    const chosen = new Map(found.map((user) => [user.username, user.display_name]));
    return [...new Set([...here, ...chosen.keys()])].map((name) => {
      const own = chosen.get(name);
      return { text: `@${name}`, label: own ?? name, ...(own && { hint: `@${name}` }) };
    });
  }
}

interface Found {
  readonly username: string;
  readonly display_name: string | null;
}

async function search(typed: string, signal: AbortSignal): Promise<readonly Found[]> {
  const path = `/api/users/search?limit=8&q=${encodeURIComponent(typed)}`;
  return (await api<{ users: readonly Found[] }>(path, undefined, 'GET', { signal })).users;
}

/** Names of members who have written or are mentioned on this page, last ones first. */
function namesOnPage(): readonly string[] {
  const links = document.querySelectorAll<HTMLAnchorElement>('main a[href^="/u/"]');
  return [...new Set([...links].map(({ pathname }) => decodeURIComponent(pathname.split('/')[2] ?? '')).toReversed())];
}
define('x-complete-member', MemberNames);
