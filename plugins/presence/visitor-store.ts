import { LRUCache } from 'lru-cache';
import type { Clock } from 'parley-forum';

/** Milliseconds after which a visitor who has not been seen again counts as gone. */
export const WINDOW = 5 * 60_000;
/** The maximum number of visitors of a kind; beyond it, the one seen longest ago is dropped. */
export const MAX_VISITORS = 100_000;

export type Kind = 'member' | 'guest' | 'bot';

/** A visitor was seen on a page. */
export interface Visit {
  readonly kind: Kind;
  /** A member's id, a guest's digest or a bot's name. */
  readonly id: string;
  /** The id the same guest had before they sent a cookie. */
  readonly before?: string | undefined;
  /** Empty if nobody may see it. */
  readonly page: string;
}
export interface Visitor {
  readonly kind: Kind;
  readonly id: string;
  readonly page: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Recently seen visitors and the pages they were seen on. */
export interface VisitorStore {
  /** A guest who is new under `id` replaces the one recorded under `before`. */
  record(visits: readonly Visit[]): Promise<void>;
  /** Marks the first of these guests that is known as seen again; none is added. */
  refresh(guests: readonly string[], page: string): Promise<void>;
  count(): Promise<Readonly<Record<Kind, number>>>;
  /** Kind by kind, most recently seen first: at most `length` visitors after the first `start`. */
  list(kinds: readonly Kind[], start: number, length: number): Promise<readonly Visitor[]>;
  /** Those of the given members who are here. */
  among(members: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * When the first visitor expires unless seen again (epoch milliseconds); undefined if other processes can record
   * visitors too.
   */
  freshUntil(): number | undefined;
  /** True for a single caller across all processes: the first whose text differs from the last one. */
  claimChange(text: string): Promise<boolean>;
}

/** Most recently seen first. Bounded by size, because `max` would preallocate memory for all entries. */
const emptyStore = (): LRUCache<string, Visitor> => new LRUCache({ maxSize: MAX_VISITORS, sizeCalculation: () => 1 });

/** For a single process. */
export class MemoryVisitorStore implements VisitorStore {
  readonly #clock: Clock;
  readonly #visitors: Readonly<Record<Kind, LRUCache<string, Visitor>>> = {
    member: emptyStore(),
    guest: emptyStore(),
    bot: emptyStore(),
  };
  #lastClaimed = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record(visits: readonly Visit[]): Promise<void> {
    for (const { kind, id, before, page } of visits) {
      const visitors = this.#visitors[kind];
      if (!visitors.delete(id) && before !== undefined) visitors.delete(before);
      visitors.set(id, { kind, id, page, at: this.#clock.now() });
    }
    return Promise.resolve();
  }

  refresh(guests: readonly string[], page: string): Promise<void> {
    const known = guests.find((id) => this.#present('guest').has(id));
    return known === undefined ? Promise.resolve() : this.record([{ kind: 'guest', id: known, page }]);
  }

  count(): Promise<Readonly<Record<Kind, number>>> {
    return Promise.resolve({
      member: this.#present('member').size,
      guest: this.#present('guest').size,
      bot: this.#present('bot').size,
    });
  }

  list(kinds: readonly Kind[], start: number, length: number): Promise<readonly Visitor[]> {
    return Promise.resolve(kinds.flatMap((kind) => [...this.#present(kind).values()]).slice(start, start + length));
  }

  among(members: readonly string[]): Promise<ReadonlySet<string>> {
    const present = this.#present('member');
    return Promise.resolve(new Set(members.filter((id) => present.has(id))));
  }

  freshUntil(): number {
    const first = (['member', 'guest', 'bot'] as const).map(
      (kind) => this.#present(kind).rvalues().next().value?.at ?? Infinity,
    );
    return Math.min(...first) + WINDOW;
  }

  claimChange(text: string): Promise<boolean> {
    const changed = text !== this.#lastClaimed;
    this.#lastClaimed = text;
    return Promise.resolve(changed);
  }

  /** The visitors of a kind, after expired ones are removed. */
  #present(kind: Kind): LRUCache<string, Visitor> {
    const visitors = this.#visitors[kind];
    const gone = this.#clock.now() - WINDOW;
    while ((visitors.rvalues().next().value?.at ?? Infinity) <= gone) visitors.pop();
    return visitors;
  }
}
