import type { Progress } from 'parley-forum/plugins/installer';

/** One installation and its progress. */
export class Attempt {
  readonly #failed: (error: unknown) => void;
  #line = '';
  #failure: unknown;

  /** `failed` is called with an error after `begin` has resolved. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** What it did last; empty at the beginning. */
  get line(): string {
    return this.#line;
  }

  /** Why it broke off, where it broke off. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Resolves with the first line of progress or the end of `work`, which then goes on by itself; throws what went wrong
   * before.
   */
  async begin(work: (progress: Progress) => Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const whole = work((line) => {
      this.#line = line;
      resolve();
    });
    whole.then(resolve, (error: unknown) => {
      this.#failure = error;
      if (this.#line !== '') this.#failed(error);
      reject(error);
    });
    await promise;
  }
}
