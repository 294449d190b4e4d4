import { HttpError } from 'parley-forum';

/** How many may wait. */
const QUEUE = 16;

/** One after the other: a large picture takes a lot of memory while it is read, and two of them take twice as much. */
export class Lane {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** 503 where too many wait already. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= QUEUE)
      throw new HttpError(503, 'Many pictures are on their way in; try again soon', {
        headers: { 'Retry-After': '10' },
      });
    this.#waiting++;
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      this.#waiting--;
    }
  }
}
