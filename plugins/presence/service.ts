import { HttpError, type Extension, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { decodePosition, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { HiddenMembers, VisiblePage } from 'parley-forum/ports/page-visibility';
import type {
  ListRange,
  Presence,
  PresenceStatistics,
  VisibleBot,
  VisibleVisitor,
} from 'parley-forum/plugins/presence';
import type { VisitRecorder } from './visit-recorder.ts';
import type { Kind, Visitor, VisitorStore } from './visitor-store.ts';
import type { PageVisibility } from './page-visibility.ts';

/** Milliseconds a plugin may take to say who is hidden. */
const HIDDEN_TIMEOUT = 2_000;

interface PresenceDeps {
  readonly store: VisitorStore;
  readonly recorder: VisitRecorder;
  readonly pageVisibility: PageVisibility;
  readonly accounts: Pick<Accounts, 'authors' | 'idsByUsername'>;
  hiddenMembers(): readonly Extension<HiddenMembers>[];
  readonly attempt: PluginHandle['attempt'];
}

/** Visitors as a viewer may see them. Visits seen by this process count immediately. */
export class PresenceService implements Presence {
  readonly #deps: PresenceDeps;

  constructor(deps: PresenceDeps) {
    this.#deps = deps;
  }

  async statistics(): Promise<PresenceStatistics> {
    const { member, guest, bot } = await this.#read((store) => store.count());
    return { total: member + guest + bot, anonymous: guest, authenticated: member, bots: bot };
  }

  async visitors(part: ListRange, viewer: Viewer): Promise<Page<VisibleVisitor>> {
    const { items, ...page } = await this.#page(['member', 'guest'], part);
    const members = items.flatMap(({ kind, id }) => (kind === 'member' ? [id] : []));
    const [authors, hidden, visiblePages] = await Promise.all([
      this.#deps.accounts.authors(members),
      this.hidden(members),
      this.#visiblePages(items, viewer),
    ]);
    return {
      ...page,
      items: items.map(({ id, at }, index) => ({
        user: (hidden.has(id) ? undefined : authors.get(id)) ?? null,
        page: visiblePages[index],
        last_seen_at: timeOf(at),
      })),
    };
  }

  async bots(part: ListRange, viewer: Viewer): Promise<Page<VisibleBot>> {
    const { items, ...page } = await this.#page(['bot'], part);
    const visiblePages = await this.#visiblePages(items, viewer);
    return {
      ...page,
      items: items.map(({ id, at }, index) => ({ name: id, page: visiblePages[index], last_seen_at: timeOf(at) })),
    };
  }

  async online(usernames: readonly string[]): Promise<readonly string[]> {
    const ids = await this.#deps.accounts.idsByUsername(usernames);
    const members = [...ids.values()];
    const [present, hidden] = await Promise.all([
      members.length === 0 ? new Set<string>() : this.#read((store) => store.among(members)),
      this.hidden(members),
    ]);
    return usernames.filter((username) => {
      const id = ids.get(username);
      return id !== undefined && present.has(id) && !hidden.has(id);
    });
  }

  /** Everyone is hidden while a plugin fails to say who is. */
  async hidden(members: readonly string[]): Promise<ReadonlySet<string>> {
    if (members.length === 0) return new Set();
    const { attempt, hiddenMembers } = this.#deps;
    const sets = await Promise.all(
      hiddenMembers().map(({ plugin, value }) =>
        attempt(plugin, 'hidden members', () => value.hidden(members), HIDDEN_TIMEOUT),
      ),
    );
    return new Set(sets.flatMap((set) => [...(set ?? members)]));
  }

  async #page(kinds: readonly Kind[], { limit, offset = 0, cursor }: ListRange): Promise<Page<Visitor>> {
    const start = offset + (cursor === undefined ? 0 : decodePosition(cursor));
    const found = await this.#read((store) => store.list(kinds, start, limit + 1));
    return pageOfRows(found, limit, () => [start + limit]);
  }

  #visiblePages(visitors: readonly Visitor[], viewer: Viewer): Promise<readonly (VisiblePage | undefined)[]> {
    return this.#deps.pageVisibility.visible(
      visitors.map(({ page }) => page),
      viewer,
    );
  }

  async #read<T>(question: (store: VisitorStore) => Promise<T>): Promise<T> {
    const { store, recorder } = this.#deps;
    await recorder.flush();
    try {
      return await question(store);
    } catch (error) {
      throw new HttpError(503, 'Who is online is currently unknown; try again soon', {
        headers: { 'Retry-After': '5' },
        cause: error,
      });
    }
  }
}

const timeOf = (at: number): string => new Date(at).toISOString();
