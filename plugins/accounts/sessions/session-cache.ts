import type { Clock, Cluster } from 'parley-forum';
import type { Stored } from './session-store.ts';

/** Sessions held in this process at most, each of less than a kilobyte. */
const MOST = 10_000;
/** Milliseconds after Redis last confirmed a session for which it is good for reading without Redis. */
const GOOD = 900_000;
const ENDED = 'accounts.sessions-ended';

interface Held {
  readonly text: string;
  readonly confirmedAt: number;
}

/**
 * What Redis last said about sessions, so that members can read on while it does not answer. An ended session is
 * dropped in every process.
 */
export class HeldSessions {
  readonly #clock: Clock;
  readonly #cluster: Cluster;
  /** The one that was confirmed longest ago comes first. */
  readonly #sessions = new Map<string, Held>();
  /** To be called when nothing asks any more. */
  readonly stop: () => void;

  constructor(clock: Clock, cluster: Cluster) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.stop = cluster.subscribe(ENDED, (keys) => this.#drop(keys as readonly string[] | undefined));
  }

  /** `session` undefined: there is none. */
  keep(key: string, session: Stored | undefined): void {
    this.#sessions.delete(key);
    if (session) this.#sessions.set(key, { text: JSON.stringify(session), confirmedAt: this.#clock.now() });
    const [first] = this.#sessions.keys();
    if (first !== undefined && this.#sessions.size > MOST) this.#sessions.delete(first);
  }

  /** A copy that says of itself that nobody has confirmed it. */
  find(key: string): Stored | undefined {
    const held = this.#sessions.get(key);
    if (!held || this.#clock.now() - held.confirmedAt >= GOOD) return undefined;
    return { ...(JSON.parse(held.text) as Stored), unconfirmed: true };
  }

  async end(keys: readonly string[]): Promise<void> {
    this.#drop(keys);
    await this.#cluster.publish(ENDED, keys);
  }

  /** Undefined: something may have been missed, so all. */
  #drop(keys: readonly string[] | undefined): void {
    if (keys) for (const key of keys) this.#sessions.delete(key);
    else this.#sessions.clear();
  }
}
