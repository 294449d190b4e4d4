/**
 * Collects what comes while a batch is under way, and does it as the next batch: under load one statement or
 * transaction serves many. One batch runs at a time. Not for use in a transaction, which a batch would join with the
 * items of others.
 */
export class Batcher<T, R = void> {
  readonly #run: (items: readonly T[]) => Promise<R>;
  #waiting: T[] = [];
  /** The batch that is being collected. */
  #next: Promise<R> | undefined;
  /** Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  /** `run` gets the items in the order in which they came. */
  constructor(run: (items: readonly T[]) => Promise<R>) {
    this.#run = run;
  }

  /** Resolves to what `run` made of the batch with the item; rejects as it did, for every item of the batch. */
  add(item: T): Promise<R> {
    this.#waiting.push(item);
    if (!this.#next) {
      this.#next = this.#last.then(() => this.#flush());
      this.#last = this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  #flush(): Promise<R> {
    this.#next = undefined;
    const items = this.#waiting;
    this.#waiting = [];
    return this.#run(items);
  }
}
