import { api, define, type Completion, type CompletionSource } from '@forum/client';

/** Minimum number of letters to search for members who are neither in the discussion nor on the page. */
const LEAST = 2;
/** Maximum number of participants to choose from; those with the most posts. */
const MOST = 100;

interface Found {
  readonly username: string;
  readonly display_name: string | null;
}

/**
 * Completes member names: first those in the discussion, beginning with those on this page, then others on the page,
 * then all.
 */
class MemberNames extends HTMLElement implements CompletionSource {
  #participants: Promise<readonly Found[]> | undefined;

  async complete(typed: string, signal: AbortSignal): Promise<readonly Completion[]> {
    this.#participants ??= this.#ask();
    const participants = await this.#participants;
    const onPage = namesOnPage();
    const place = ({ username }: Found): number => {
      const at = onPage.indexOf(username);
      return at < 0 ? onPage.length : at;
    };
    const low = typed.toLowerCase();
    const begins = (name: string | null): boolean => name?.toLowerCase().startsWith(low) === true;
    const here = participants.filter((one) => begins(one.username) || begins(one.display_name));
    const found = typed.length < LEAST ? [] : await search(typed, signal);
    const shown = new Map([...found, ...participants].map((user) => [user.username, user.display_name]));
    const names = [
      ...here.toSorted((a, b) => place(a) - place(b)).map(({ username }) => username),
      ...onPage.filter(begins),
      ...found.map(({ username }) => username),
    ];
    return [...new Set(names)].map((name) => {
      const own = shown.get(name);
      return { text: `@${name}`, label: own ?? name, ...(own && { hint: `@${name}` }) };
    });
  }

  /** The participants of the discussion that the field belongs to; none where there is no such thing. */
  async #ask(): Promise<readonly Found[]> {
    const path = this.parentElement?.dataset['participants'];
    if (path === undefined) return [];
    try {
      const { participants } = await api<{ participants: readonly { user: Found }[] }>(`${path}?limit=${MOST}`);
      return participants.map(({ user }) => user);
    } catch {
      this.#participants = undefined;
      return [];
    }
  }
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
