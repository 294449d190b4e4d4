import type { Progress } from 'parley-forum/plugins/installer';

/** One installation and its progress. */
export class Attempt {
  readonly #failed: (error: unknown) => void;
  #line = '';
  #failure: unknown;

  /** `failed` is called with errors that occur after `begin` has resolved. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** The latest line of progress; empty at first. */
  get line(): string {
    return this.#line;
  }

  /** Why the installation failed, if it did. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Resolves with the first line of progress or at the end of `work`, which then continues in the background. Throws
   * any error that occurs before that.
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
