import { HttpError } from 'parley-forum';

/**
 * Guests' previews under way together, of all IP addresses: the last one waits this many times the time of one at most.
 */
const MAX_CONCURRENT = 8;

/**
 * Lets guests have one preview at a time per IP address, and few at once. Counted in this process, whose worker thread
 * they share.
 */
export class GuestPreviews {
  readonly #running = new Set<string>();

  /** `key`: what an IP address counts as. Throws 429 while another preview of it is under way, 503 when too many are. */
  async run(key: string, preview: () => Promise<string>): Promise<string> {
    if (this.#running.has(key))
      throw new HttpError(429, 'Guests have one preview at a time; wait for the last one', {
        headers: { 'Retry-After': '1' },
      });
    if (this.#running.size >= MAX_CONCURRENT)
      throw new HttpError(503, 'Too many guests preview texts at once; try again soon, or log in', {
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
