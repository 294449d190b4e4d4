import type { Clock } from 'parley-forum';

/** Feeds remembered at most; then all are dropped. */
const MAX_FEEDS = 10_000;

/**
 * Since when each feed has been what it is, in whole epoch seconds. No second stands for two versions of a feed: the
 * second of two within one gets the next, and until that has come no one gets a 304 for it.
 */
export class LastModifiedTimes {
  readonly #clock: Clock;
  readonly #known = new Map<string, { readonly etag: string; readonly at: number }>();
  #last = 0;
  /** Not before this: a feed that was dropped may have had an earlier version. */
  #floor = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(path: string, etag: string): number {
    const known = this.#known.get(path);
    if (known?.etag === etag) return known.at;
    if (this.#known.size >= MAX_FEEDS) {
      this.#floor = this.#last;
      this.#known.clear();
    }
    const at = Math.max(Math.floor(this.#clock.now() / 1_000), (known?.at ?? this.#floor) + 1);
    this.#last = Math.max(this.#last, at);
    this.#known.set(path, { etag, at });
    return at;
  }
}
