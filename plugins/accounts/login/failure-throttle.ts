import { assertAllowed, type Allowance, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/**
 * Counts only failures, but never lets more attempts run at once than failures are left: otherwise a thousand guesses
 * sent at the same time would all be checked before the first of them has failed. Further attempts wait for their turn.
 */
export class FailureThrottle {
  readonly #limits: Limits;
  readonly #bucket: Bucket;
  readonly #active = new Map<string, number>();
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(limits: Limits, bucket: Bucket) {
    this.#limits = limits;
    this.#bucket = bucket;
  }

  /** Throws 429 if `key` has no failures left. */
  async attempt<T>(key: string, limit: number, work: () => Promise<T>): Promise<T> {
    await this.#acquire(key, limit);
    try {
      return await work();
    } finally {
      this.#release(key);
    }
  }

  recordFailure(key: string, limit: number): Promise<Allowance> {
    return this.#limits.consume(this.#bucket, key, limit);
  }

  async clear(key: string): Promise<void> {
    await this.#limits.reset(this.#bucket, key);
  }

  async #acquire(key: string, limit: number): Promise<void> {
    for (;;) {
      const allowance = await this.#limits.peek(this.#bucket, key, limit);
      assertAllowed(allowance, tooManyAttempts);
      const active = this.#active.get(key) ?? 0;
      if (active < allowance.remaining) return void this.#active.set(key, active + 1);
      await new Promise<void>((resolve) => this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), resolve]));
    }
  }

  #release(key: string): void {
    const active = (this.#active.get(key) ?? 1) - 1;
    if (active > 0) this.#active.set(key, active);
    else this.#active.delete(key);
    const waiting = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    for (const go of waiting) go();
  }
}

/** The message of a 429. */
export const tooManyAttempts = (seconds: number): string =>
  `Too many attempts. Try again in ${seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`}.`;
