import type { Cache, Clock } from 'parley-forum';

/** Milliseconds after which a typist without another signal counts as having stopped. */
const TTL = 8_000;

/** Stores who is writing in which discussion. */
export interface TypistStore {
  add(discussionId: string, userId: string): Promise<void>;
  /** Resolves to whether they were writing. */
  remove(discussionId: string, userId: string): Promise<boolean>;
  /** The ids, ascending. */
  of(discussionId: string): Promise<readonly string[]>;
  /** When the next typist expires (epoch milliseconds); undefined if other processes can add typists. */
  freshUntil(): number | undefined;
}

interface TypingEntry {
  readonly discussionId: string;
  readonly userId: string;
  readonly at: number;
}

/** For a single process. */
export class MemoryTypistStore implements TypistStore {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #entries = new Map<string, TypingEntry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(discussionId: string, userId: string): Promise<void> {
    void this.remove(discussionId, userId);
    this.#entries.set(`${discussionId} ${userId}`, { discussionId, userId, at: this.#clock.now() });
    this.#expire();
    return Promise.resolve();
  }

  remove(discussionId: string, userId: string): Promise<boolean> {
    return Promise.resolve(this.#entries.delete(`${discussionId} ${userId}`));
  }

  of(discussionId: string): Promise<readonly string[]> {
    this.#expire();
    return Promise.resolve(
      [...this.#entries.values()].flatMap((sign) => (sign.discussionId === discussionId ? [sign.userId] : [])).sort(),
    );
  }

  freshUntil(): number {
    return (this.#entries.values().next().value?.at ?? Infinity) + TTL;
  }

  #expire(): void {
    const expired = this.#clock.now() - TTL;
    for (const [key, { at }] of this.#entries) {
      if (at > expired) break;
      this.#entries.delete(key);
    }
  }
}

// Uses Redis's own time, so that the clocks of processes need not agree.
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;
const ADD = `${NOW}
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])`;
const OF = `${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1])
return redis.call('ZRANGE', KEYS[1], 0, -1)`;
const keyOf = (discussionId: string): string => `typing:${discussionId}`;

/** Shared by all processes. */
export class RedisTypistStore implements TypistStore {
  readonly #redis: NonNullable<Cache['redis']>;
  readonly #ttl: number;

  constructor(redis: NonNullable<Cache['redis']>, ttl = TTL) {
    this.#redis = redis;
    this.#ttl = ttl;
  }

  async add(discussionId: string, userId: string): Promise<void> {
    await this.#redis.eval(ADD, 1, keyOf(discussionId), this.#ttl, userId);
  }

  async remove(discussionId: string, userId: string): Promise<boolean> {
    return (await this.#redis.zrem(keyOf(discussionId), userId)) > 0;
  }

  freshUntil(): undefined {
    return undefined;
  }

  async of(discussionId: string): Promise<readonly string[]> {
    return ((await this.#redis.eval(OF, 1, keyOf(discussionId), this.#ttl)) as string[]).sort();
  }
}
