import { LRUCache } from 'lru-cache';
import type { Clock } from 'parley-forum';

/** Milliseconds after which a visitor who was not seen again counts as gone. */
export const WINDOW = 5 * 60_000;
/** Visitors of one kind at most; beyond it the one seen longest ago is dropped. */
export const MAX_VISITORS = 100_000;

export type Kind = 'member' | 'guest' | 'bot';

/** A visitor was seen on a page. */
export interface Visit {
  readonly kind: Kind;
  /** A member's id, a guest's digest, a bot's name. */
  readonly id: string;
  /** The id of the same guest before they sent a cookie. */
  readonly before?: string | undefined;
  /** Empty where no one may see it. */
  readonly page: string;
}
export interface Visitor {
  readonly kind: Kind;
  readonly id: string;
  readonly page: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Who was seen lately, and where. */
export interface VisitorStore {
  /** A guest who is new under `id` replaces the one recorded under `before`. */
  record(visits: readonly Visit[]): Promise<void>;
  /** The first of these guests that is known is seen again; none is added. */
  refresh(guests: readonly string[], page: string): Promise<void>;
  count(): Promise<Readonly<Record<Kind, number>>>;
  /** Kind by kind, those seen last first: at most `length` after the first `start`. */
  list(kinds: readonly Kind[], start: number, length: number): Promise<readonly Visitor[]>;
  /**
   * When the first visitor expires unless seen again (epoch milliseconds); undefined where another process may see
   * visitors.
   */
  freshUntil(): number | undefined;
  /** True for the one caller, over all processes, whose text differs first from the last one. */
  claimChange(text: string): Promise<boolean>;
}

/** The one seen last comes first. By size, because `max` would allocate room for all of them at once. */
const emptyStore = (): LRUCache<string, Visitor> => new LRUCache({ maxSize: MAX_VISITORS, sizeCalculation: () => 1 });

/** For one process. */
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

  /** Those who have not been gone for too long. */
  #present(kind: Kind): LRUCache<string, Visitor> {
    const visitors = this.#visitors[kind];
    const gone = this.#clock.now() - WINDOW;
    while ((visitors.rvalues().next().value?.at ?? Infinity) <= gone) visitors.pop();
    return visitors;
  }
}
