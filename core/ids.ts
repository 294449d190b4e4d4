import { LRUCache } from 'lru-cache';

/** The timestamp and sequence number of the last id made for a given moment. */
interface Last {
  time: number;
  sequence: number;
}

/** Keyed by the requested time: real time and a frozen test clock may be used in turn. */
const moments = new LRUCache<number, Last>({ max: 100 });

/** Creates a UUIDv7. Ids sort by `at` (epoch milliseconds) and, within a millisecond, by creation order. */
export function createId(at: number): string {
  const random = crypto.randomUUID();
  let last = moments.get(at);
  if (!last) moments.set(at, (last = { time: at, sequence: Number.parseInt(random.slice(0, 2), 16) }));
  else if (++last.sequence > 0xfff) {
    // When a millisecond's sequence is exhausted, borrow from the next.
    last.time++;
    last.sequence = 0;
  }
  const moment = last.time.toString(16).padStart(12, '0');
  return `${moment.slice(0, 8)}-${moment.slice(8)}-7${last.sequence.toString(16).padStart(3, '0')}-${random.slice(19)}`;
}

/** Sorts before every id and is never a real one. */
export const ZERO_ID = '00000000-0000-0000-0000-000000000000';

/** The creation time encoded in a UUIDv7, regardless of when the row was written. */
export const timeOf = (id: string): Date => new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16));

/**
 * A lower bound for all ids created at or after `time` (epoch milliseconds), so that older rows can be found through
 * the id index.
 */
export const firstIdAt = (time: number): string => {
  const hex = Math.max(0, time).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
};
