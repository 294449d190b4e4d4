import { LRUCache } from 'lru-cache';
import type { Clock } from 'parley-forum';

/** Feeds remembered at most. */
const MAX_FEEDS = 10_000;

/**
 * Since when each feed has been what it is, in whole epoch seconds. No second stands for two versions of a feed: the
 * second of two within one gets the next, and until that has come no one gets a 304 for it.
 */
export class LastModifiedTimes {
  readonly #clock: Clock;
  /** Not before this: a feed that was dropped may have had an earlier version. */
  #floor = 0;
  readonly #known = new LRUCache<string, { readonly etag: string; readonly at: number }>({
    maxSize: MAX_FEEDS,
    sizeCalculation: () => 1,
    dispose: ({ at }, _path, reason) => {
      if (reason === 'evict') this.#floor = Math.max(this.#floor, at);
    },
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(path: string, etag: string): number {
    const known = this.#known.get(path);
    if (known?.etag === etag) return known.at;
    const at = Math.max(Math.floor(this.#clock.now() / 1_000), (known?.at ?? this.#floor) + 1);
    this.#known.set(path, { etag, at });
    return at;
  }
}
