import { HttpError } from 'parley-forum';

/**
 * Maximum concurrent previews of guests across all IP addresses: the last one waits at most this many times the
 * duration of one.
 */
const MAX_CONCURRENT = 8;

/**
 * Limits guests to one preview at a time per IP address, and to a few in total. Counted per process, since they share
 * its worker thread.
 */
export class GuestPreviews {
  readonly #running = new Set<string>();

  /**
   * `key`: the rate limit key of an IP address. Throws 429 while it has another preview in progress, 503 if there are
   * too many in total.
   */
  async run(key: string, preview: () => Promise<string>): Promise<string> {
    if (this.#running.has(key))
      throw new HttpError(429, 'Guests can have only one preview at a time; wait for the previous one', {
        headers: { 'Retry-After': '1' },
      });
    if (this.#running.size >= MAX_CONCURRENT)
      throw new HttpError(503, 'Too many guests are previewing texts at once; try again soon, or log in', {
        headers: { 'Retry-After': '2' },
      });
    this.#running.add(key);
    try {
      return await preview();
    } finally {
      this.#running.delete(key);
    }
  }
}
