/** Items added while a batch is being written are collected and written as the next batch. */
export class Batcher<T> {
  readonly #write: (items: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  /** The batch that is being collected. */
  #next: Promise<void> | undefined;
  /** Never rejects. */
  #last: Promise<void> = Promise.resolve();

  constructor(write: (items: readonly T[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the batch with the item is written. */
  add(item: T): Promise<void> {
    this.#waiting.push(item);
    if (!this.#next) {
      this.#next = this.#last.then(() => this.#flush());
      this.#last = this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  #flush(): Promise<void> {
    this.#next = undefined;
    const items = this.#waiting;
    this.#waiting = [];
    return this.#write(items);
  }
}
