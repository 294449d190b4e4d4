import { HttpError } from 'parley-forum';

/**
 * Guests' previews under way together, of all addresses: whoever comes last waits this many times the time of one at
 * most.
 */
const MOST = 8;

/**
 * Lets guests have one preview at a time per address, and few at once. Counted in this process, whose worker thread
 * they share.
 */
export class GuestPreviews {
  readonly #under = new Set<string>();

  /** `key`: what an address counts as. Throws 429 while another preview of it is under way, 503 when too many are. */
  async one(key: string, preview: () => Promise<string>): Promise<string> {
    if (this.#under.has(key))
      throw new HttpError(429, 'Guests have one preview at a time; wait for the last one', {
        headers: { 'Retry-After': '1' },
      });
    if (this.#under.size >= MOST)
      throw new HttpError(503, 'Too many guests preview texts at once; try again soon, or log in', {
        headers: { 'Retry-After': '2' },
      });
    this.#under.add(key);
    try {
      return await preview();
    } finally {
      this.#under.delete(key);
    }
  }
}
