import { LRUCache } from 'lru-cache';
import type { Clock } from 'parley-forum';

/** The maximum number of feeds remembered. */
const MAX_FEEDS = 10_000;

/**
 * When each feed last changed, in whole epoch seconds. No second stands for two versions of a feed: if a feed changes
 * twice within a second, the second version gets the next second, and until that has come nobody gets a 304 for it.
 */
export class LastModifiedTimes {
  readonly #clock: Clock;
  /** The lower bound for new times, because an evicted feed may have had an earlier version. */
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
