import { HttpError } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { decodePosition, encodeCursor, type Page } from 'parley-forum/plugins/api';
import type {
  Discretion,
  Part,
  PlaceShown,
  Presence,
  PresenceStatistics,
  ShownBot,
  ShownVisitor,
} from 'parley-forum/plugins/presence';
import type { Sightings } from './sightings.ts';
import type { Kind, Visitor, Visits } from './visits.ts';
import type { Whereabouts } from './whereabouts.ts';

interface Parts {
  readonly visits: Visits;
  readonly sightings: Sightings;
  readonly whereabouts: Whereabouts;
  readonly accounts: Pick<Accounts, 'authors'>;
  discretions(): readonly Discretion[];
}

/** What is known of visitors, for others' eyes. What this process has seen counts at once. */
export class PresenceService implements Presence {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async statistics(): Promise<PresenceStatistics> {
    const { member, guest, bot } = await this.#read((visits) => visits.count());
    return { total: member + guest + bot, anonymous: guest, authenticated: member, bots: bot };
  }

  async visitors(part: Part, viewer: Viewer): Promise<Page<ShownVisitor>> {
    const { items, ...page } = await this.#page(['member', 'guest'], part);
    const members = items.flatMap(({ kind, id }) => (kind === 'member' ? [id] : []));
    const [authors, hidden, places] = await Promise.all([
      this.#parts.accounts.authors(members),
      this.#hidden(members),
      this.#places(items, viewer),
    ]);
    return {
      ...page,
      items: items.map(({ id, at }, index) => ({
        user: (hidden.has(id) ? undefined : authors.get(id)) ?? null,
        place: places[index],
        last_seen_at: timeOf(at),
      })),
    };
  }

  async bots(part: Part, viewer: Viewer): Promise<Page<ShownBot>> {
    const { items, ...page } = await this.#page(['bot'], part);
    const places = await this.#places(items, viewer);
    return {
      ...page,
      items: items.map(({ id, at }, index) => ({ name: id, place: places[index], last_seen_at: timeOf(at) })),
    };
  }

  async #hidden(members: readonly string[]): Promise<ReadonlySet<string>> {
    const sets =
      members.length === 0 ? [] : await Promise.all(this.#parts.discretions().map((one) => one.hidden(members)));
    return new Set(sets.flatMap((set) => [...set]));
  }

  async #page(kinds: readonly Kind[], { limit, offset = 0, cursor }: Part): Promise<Page<Visitor>> {
    const start = offset + (cursor === undefined ? 0 : decodePosition(cursor));
    const found = await this.#read((visits) => visits.list(kinds, start, limit + 1));
    const hasMore = found.length > limit;
    return { items: found.slice(0, limit), hasMore, nextCursor: hasMore ? encodeCursor([start + limit]) : undefined };
  }

  #places(visitors: readonly Visitor[], viewer: Viewer): Promise<readonly (PlaceShown | undefined)[]> {
    return this.#parts.whereabouts.shown(
      visitors.map(({ page }) => page),
      viewer,
    );
  }

  async #read<T>(question: (visits: Visits) => Promise<T>): Promise<T> {
    const { visits, sightings } = this.#parts;
    await sightings.flush();
    try {
      return await question(visits);
    } catch (error) {
      throw new HttpError(503, 'Who is here is not known at the moment; try again soon', {
        headers: { 'Retry-After': '5' },
        cause: error,
      });
    }
  }
}

const timeOf = (at: number): string => new Date(at).toISOString();
