import { messageOf, type Cluster, type Logger } from 'parley-forum';
import type { LoggedEvent } from 'parley-forum/plugins/events';
import type { Reading } from './reading.ts';

/** Entries read at once. */
const CHUNK = 200;
/** Milliseconds in which batches gather before the other processes are told. */
const TELL_EVERY = 5;
/** Milliseconds until the end is looked at again when it could not be read. */
const RETRY = 1_000;
/** The subject under which processes tell each other that there is more. */
const ADDED = 'events.added';

export interface TailParts {
  readonly reading: Reading;
  readonly cluster: Cluster;
  readonly log: Logger;
}

/**
 * Follows the log's end, whichever process adds to it, and hands every entry to the watchers of this process once, in
 * order.
 */
export class Tail {
  readonly #parts: TailParts;
  readonly #watchers = new Set<(events: readonly LoggedEvent[]) => void>();
  #position = 0;
  #reading: Promise<void> | undefined;
  #again = false;
  #telling: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(parts: TailParts) {
    this.#parts = parts;
  }

  /** Begins at the log's end. Resolves to what ends it. */
  async open(): Promise<() => Promise<void> | undefined> {
    this.#position = (await this.#parts.reading.bounds()).newest;
    const stop = this.#parts.cluster.subscribe(ADDED, () => this.#follow());
    this.#follow();
    return () => {
      stop();
      this.#watchers.clear();
      for (const timer of [this.#telling, this.#retry]) clearTimeout(timer);
      return this.#reading;
    };
  }

  /** This process has added entries. */
  added(): void {
    this.#follow();
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      void this.#parts.cluster.publish(ADDED);
    }, TELL_EVERY).unref();
  }

  watch(run: (events: readonly LoggedEvent[]) => void): () => void {
    this.#watchers.add(run);
    return () => void this.#watchers.delete(run);
  }

  #follow(): void {
    this.#again = true;
    this.#reading ??= this.#read();
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        const { events, hasMore } = await this.#parts.reading.entries(this.#position, CHUNK);
        this.#position = events.at(-1)?.position ?? this.#position;
        this.#again ||= hasMore || events.length === CHUNK;
        if (events.length > 0) for (const run of this.#watchers) run(events);
      } catch (error) {
        this.#parts.log.warn({ error: messageOf(error) }, 'the end of the event log could not be read');
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.#follow(), RETRY).unref();
      }
    }
    this.#reading = undefined;
  }
}
