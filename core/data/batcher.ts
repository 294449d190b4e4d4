/**
 * Collects items that arrive while a batch is running and processes them as the next batch: under load, one statement
 * or transaction serves many items. One batch runs at a time. Must not be used inside a transaction, which the batch
 * would join together with other callers' items.
 */
export class Batcher<T, R = void> {
  readonly #run: (items: readonly T[]) => Promise<R>;
  #waiting: T[] = [];
  /** The batch that is being collected. */
  #next: Promise<R> | undefined;
  /** Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  /** `run` gets the items in order of arrival. */
  constructor(run: (items: readonly T[]) => Promise<R>) {
    this.#run = run;
  }

  /** Resolves to the result of `run` for the item's batch; if it rejects, every item of the batch does. */
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
