import { HttpError } from 'parley-forum';

/** The maximum number of pending tasks. */
const MAX_PENDING = 16;

/**
 * Runs tasks one after the other: decoding a large picture takes a lot of memory, and two of them take twice as much.
 */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** Throws 503 if too many are pending. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#pending >= MAX_PENDING)
      throw new HttpError(503, 'Too many pictures are being processed; try again soon', {
        headers: { 'Retry-After': '10' },
      });
    this.#pending++;
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      this.#pending--;
    }
  }
}
