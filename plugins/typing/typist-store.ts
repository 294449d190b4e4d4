import type { Cache, Clock } from 'parley-forum';

/** Milliseconds after which somebody who gave no further sign counts as having stopped. */
export const EXPIRY = 8_000;

/** Who is writing where. */
export interface Writers {
  add(discussionId: string, userId: string): Promise<void>;
  remove(discussionId: string, userId: string): Promise<void>;
  /** Ascending. */
  of(discussionId: string): Promise<readonly string[]>;
  /**
   * When somebody counts as having stopped unless they give a sign (epoch milliseconds); undefined where another
   * process may hear of somebody.
   */
  holdsUntil(): number | undefined;
}

interface Sign {
  readonly discussionId: string;
  readonly userId: string;
  readonly at: number;
}

/** For one process. */
export class MemoryWriters implements Writers {
  readonly #clock: Clock;
  /** The oldest sign first. */
  readonly #signs = new Map<string, Sign>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(discussionId: string, userId: string): Promise<void> {
    void this.remove(discussionId, userId);
    this.#signs.set(`${discussionId} ${userId}`, { discussionId, userId, at: this.#clock.now() });
    this.#expire();
    return Promise.resolve();
  }

  remove(discussionId: string, userId: string): Promise<void> {
    this.#signs.delete(`${discussionId} ${userId}`);
    return Promise.resolve();
  }

  of(discussionId: string): Promise<readonly string[]> {
    this.#expire();
    return Promise.resolve(
      [...this.#signs.values()].flatMap((sign) => (sign.discussionId === discussionId ? [sign.userId] : [])).sort(),
    );
  }

  holdsUntil(): number {
    return (this.#signs.values().next().value?.at ?? Infinity) + EXPIRY;
  }

  #expire(): void {
    const gone = this.#clock.now() - EXPIRY;
    for (const [key, { at }] of this.#signs) {
      if (at > gone) break;
      this.#signs.delete(key);
    }
  }
}

// By Redis's own time, so that clocks of processes need not agree.
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

/** For all processes. */
export class RedisWriters implements Writers {
  readonly #redis: NonNullable<Cache['redis']>;
  readonly #expiry: number;

  constructor(redis: NonNullable<Cache['redis']>, expiry = EXPIRY) {
    this.#redis = redis;
    this.#expiry = expiry;
  }

  async add(discussionId: string, userId: string): Promise<void> {
    await this.#redis.eval(ADD, 1, keyOf(discussionId), this.#expiry, userId);
  }

  async remove(discussionId: string, userId: string): Promise<void> {
    await this.#redis.zrem(keyOf(discussionId), userId);
  }

  holdsUntil(): undefined {
    return undefined;
  }

  async of(discussionId: string): Promise<readonly string[]> {
    return ((await this.#redis.eval(OF, 1, keyOf(discussionId), this.#expiry)) as string[]).sort();
  }
}
