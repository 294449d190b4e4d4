import { LRUCache } from 'lru-cache';

/** What stands in the last id of a moment. */
interface Last {
  time: number;
  sequence: number;
}

/** By the moment asked for: ids of real time and of a clock that stands still in tests may take turns. */
const moments = new LRUCache<number, Last>({ max: 100 });

/**
 * A UUID of version 7: ids made later sort later, to the millisecond of `at` (epoch milliseconds), and within one in
 * the order they were made.
 */
export function createId(at: number): string {
  const random = crypto.randomUUID();
  let last = moments.get(at);
  if (!last) moments.set(at, (last = { time: at, sequence: Number.parseInt(random.slice(0, 2), 16) }));
  else if (++last.sequence > 0xfff) {
    // A millisecond that is full borrows from the next.
    last.time++;
    last.sequence = 0;
  }
  const moment = last.time.toString(16).padStart(12, '0');
  return `${moment.slice(0, 8)}-${moment.slice(8)}-7${last.sequence.toString(16).padStart(3, '0')}-${random.slice(19)}`;
}

/** Sorts before every id, and is none. */
export const ZERO_ID = '00000000-0000-0000-0000-000000000000';

/** The moment in an id of version 7: when it was made, however late it is written down. */
export const timeOf = (id: string): Date => new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16));

/** No id of that moment (epoch milliseconds) or a later one is less, so that the index of ids finds what is older. */
export const firstIdAt = (time: number): string => {
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
};
