import { LRUCache } from 'lru-cache';
import type { Clock, Cluster } from 'parley-forum';
import type { StoredSession } from './session-store.ts';

/** Maximum number of sessions cached in this process, each less than a kilobyte. */
const MAX_ENTRIES = 10_000;
/** Milliseconds after Redis last confirmed a session during which it may be read from the cache without Redis. */
const MAX_AGE = 900_000;
const SESSIONS_ENDED = 'accounts.sessions-ended';

interface CachedSession {
  readonly text: string;
  readonly confirmedAt: number;
}

/**
 * Sessions as last read from Redis, so that members can continue reading while Redis is down. A session that ends is
 * dropped in every process.
 */
export class SessionCache {
  readonly #clock: Clock;
  readonly #cluster: Cluster;
  /** When full, the session that was confirmed longest ago is dropped. */
  readonly #sessions = new LRUCache<string, CachedSession>({ maxSize: MAX_ENTRIES, sizeCalculation: () => 1 });
  /** Must be called when the cache is no longer used. */
  readonly stop: () => void;

  constructor(clock: Clock, cluster: Cluster) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.stop = cluster.subscribe(SESSIONS_ENDED, (keys) => this.#drop(keys as readonly string[] | undefined));
  }

  /** `session` is undefined if it does not exist. */
  set(key: string, session: StoredSession | undefined): void {
    if (session) this.#sessions.set(key, { text: JSON.stringify(session), confirmedAt: this.#clock.now() });
    else this.#sessions.delete(key);
  }

  /** Returns a copy marked as unconfirmed. */
  get(key: string): StoredSession | undefined {
    const cached = this.#sessions.peek(key);
    if (!cached || this.#clock.now() - cached.confirmedAt >= MAX_AGE) return undefined;
    return { ...(JSON.parse(cached.text) as StoredSession), unconfirmed: true };
  }

  async invalidate(keys: readonly string[]): Promise<void> {
    this.#drop(keys);
    await this.#cluster.publish(SESSIONS_ENDED, keys);
  }

  /** Drops everything if `keys` is undefined, because messages may have been missed. */
  #drop(keys: readonly string[] | undefined): void {
    if (keys) for (const key of keys) this.#sessions.delete(key);
    else this.#sessions.clear();
  }
}
