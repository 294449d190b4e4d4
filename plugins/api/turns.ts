/** Runs what has a key in common one after the other, in this process. */
export class Turns {
  /** By key, the end of the last one. */
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
