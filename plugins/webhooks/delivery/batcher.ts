/** Lets what comes while the last batch is written wait and go together. */
export class Gathering<T> {
  readonly #write: (items: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  /** The batch that gathers what waits. */
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
      this.#next = this.#last.then(() => this.#take());
      this.#last = this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  #take(): Promise<void> {
    this.#next = undefined;
    const items = this.#waiting;
    this.#waiting = [];
    return this.#write(items);
  }
}
