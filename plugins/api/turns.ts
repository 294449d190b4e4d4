/** Runs work with the same key one after the other, within this process. */
export class Turns {
  /** By key, a promise for the end of the last work queued. */
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: mine, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(key, mine);
    try {
      await before;
      return await work();
    } finally {
      end();
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }
}
