import { messageOf, type Cluster, type Logger } from 'parley-forum';
import type { LoggedEvent } from 'parley-forum/plugins/events';
import type { EventReader } from './event-reader.ts';

/** Number of entries read at a time. */
const CHUNK = 200;
/** How long batches are collected before the other processes are notified, in milliseconds. */
const PUBLISH_DELAY = 5;
/** Milliseconds until reading is retried after a failure. */
const RETRY = 1_000;
/** The cluster subject that announces new entries. */
const ADDED = 'events.added';

export interface TailDeps {
  readonly reader: EventReader;
  readonly cluster: Cluster;
  readonly log: Logger;
}

/**
 * Follows the end of the log, whichever process appends to it, and passes every entry to the watchers of this process
 * once, in order.
 */
export class Tail {
  readonly #deps: TailDeps;
  readonly #watchers = new Set<(events: readonly LoggedEvent[]) => void>();
  #position = 0;
  #reading: Promise<void> | undefined;
  #again = false;
  #publishing: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(deps: TailDeps) {
    this.#deps = deps;
  }

  /** Starts at the end of the log. Resolves to a function that stops it. */
  async open(): Promise<() => Promise<void> | undefined> {
    this.#position = (await this.#deps.reader.bounds()).newest;
    const stop = this.#deps.cluster.subscribe(ADDED, () => this.#follow());
    this.#follow();
    return () => {
      stop();
      this.#watchers.clear();
      for (const timer of [this.#publishing, this.#retry]) clearTimeout(timer);
      return this.#reading;
    };
  }

  /** Called when this process has added entries. */
  added(): void {
    this.#follow();
    this.#publishing ??= setTimeout(() => {
      this.#publishing = undefined;
      void this.#deps.cluster.publish(ADDED);
    }, PUBLISH_DELAY).unref();
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
        const { events, hasMore } = await this.#deps.reader.entries(this.#position, CHUNK);
        this.#position = events.at(-1)?.position ?? this.#position;
        this.#again ||= hasMore || events.length === CHUNK;
        if (events.length > 0) for (const run of this.#watchers) run(events);
      } catch (error) {
        this.#deps.log.warn({ error: messageOf(error) }, 'the end of the event log could not be read');
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.#follow(), RETRY).unref();
      }
    }
    this.#reading = undefined;
  }
}
