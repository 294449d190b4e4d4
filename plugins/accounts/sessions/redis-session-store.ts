import { RedisStore } from 'connect-redis';
import type { Cache, Clock } from 'parley-forum';
import type { SessionCache } from './session-cache.ts';
import { digest } from '../identifiers.ts';
import {
  expiryOf,
  REMEMBER_ME_LIFETIME,
  type SessionCallback,
  type SessionStore,
  type StoredSession,
  type StoredLogin,
} from './session-store.ts';

type Redis = NonNullable<Cache['redis']>;

const PREFIX = 'session:';
const keyOf = (id: string): string => PREFIX + digest(id);
/** Redis key of the sorted set of an account's session keys, scored by their expiry. */
const indexOf = (account: string): string => `sessions-of:${account}`;

/**
 * Atomically overwrites a session if it still exists and has no successor, so that concurrent changes by other
 * processes are respected.
 */
const WRITE = `
local stored = redis.call('GET', KEYS[1])
if not stored or cjson.decode(stored).login.successor then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1`;

const replace = async (redis: Redis, id: string, text: string, seconds: number): Promise<boolean> =>
  (await redis.eval(WRITE, 1, keyOf(id), text, seconds)) === 1;

/** The client for connect-redis, which replaces ids by their digests and never creates sessions on write. */
const hashedKeys = (redis: Redis) => ({
  get: (id: string) => redis.get(keyOf(id)),
  set: (id: string, text: string, _unit: 'EX', seconds: number) => replace(redis, id, text, seconds),
  del: (ids: readonly string[]) => redis.del(...ids.map(keyOf)),
});

/** Sessions in Redis, for any number of processes. */
export class RedisSessionStore extends RedisStore implements SessionStore {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #cache: SessionCache;

  constructor({ redis, clock, cache }: { redis: Redis; clock: Clock; cache: SessionCache }) {
    super({
      client: hashedKeys(redis),
      prefix: '',
      ttl: ({ login }: StoredSession) => (login ? secondsLeft(expiryOf(login), clock) : 0),
      disableTouch: true,
    });
    this.#redis = redis;
    this.#clock = clock;
    this.#cache = cache;
  }

  /** Falls back to the cached session while Redis is unavailable. */
  override async get(id: string, done: SessionCallback): Promise<void> {
    await super.get(id, (error: unknown, session?: StoredSession | null) => {
      const key = digest(id);
      if (!error) this.#cache.set(key, session ?? undefined);
      const cached = error ? this.#cache.get(key) : undefined;
      if (cached) done(undefined, cached);
      else done(error, session);
    });
  }

  async create(id: string, session: StoredSession): Promise<void> {
    const { login } = session;
    if (!login) return;
    const index = indexOf(login.account);
    // Atomic, so that no session is missing from its member's list, and none is listed before it exists.
    const done = await this.#redis
      .multi()
      .zadd(index, expiryOf(login), digest(id))
      .zremrangebyscore(index, '-inf', String(this.#clock.now()))
      .expire(index, REMEMBER_ME_LIFETIME)
      .set(keyOf(id), JSON.stringify(session), 'EX', secondsLeft(expiryOf(login), this.#clock))
      .exec();
    const failed = done?.find(([error]) => error)?.[0];
    if (!done || failed) throw failed ?? new Error('Redis did not store a session');
  }

  async write(id: string, session: StoredSession): Promise<boolean> {
    const { login } = session;
    if (!login) return false;
    return replace(this.#redis, id, JSON.stringify(session), secondsLeft(expiryOf(login), this.#clock));
  }

  async has(key: string): Promise<boolean> {
    return (await this.#redis.exists(PREFIX + key)) === 1;
  }

  async byAccount(account: string): Promise<readonly StoredLogin[]> {
    const index = indexOf(account);
    const keys = await this.#redis.zrange(index, '0', '-1');
    if (keys.length === 0) return [];
    const texts = await this.#redis.mget(keys.map((key) => PREFIX + key));
    const gone = keys.filter((_key, at) => texts[at] === null);
    if (gone.length > 0) await this.#redis.zrem(index, ...gone);
    return keys.flatMap((key, at) => {
      const { login } = JSON.parse(texts[at] ?? '{}') as Partial<StoredSession>;
      return login ? [{ key, login }] : [];
    });
  }

  async remove(id: string): Promise<boolean> {
    const there = await this.#redis.del(keyOf(id));
    await this.#cache.invalidate([digest(id)]);
    return there === 1;
  }

  async removeKeys(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#redis.del(...keys.map((key) => PREFIX + key));
    await this.#cache.invalidate(keys);
  }
}

const secondsLeft = (end: number, clock: Clock): number => Math.max(1, Math.ceil((end - clock.now()) / 1000));
