import { RedisStore } from 'connect-redis';
import type { Cache, Clock } from 'parley-forum';
import type { HeldSessions } from './session-cache.ts';
import { digest } from '../identifiers.ts';
import {
  endOf,
  REMEMBER_ME_LIFETIME,
  type Found,
  type SessionStore,
  type Stored,
  type StoredLogin,
} from './session-store.ts';

type Redis = NonNullable<Cache['redis']>;

const PREFIX = 'session:';
const keyOf = (id: string): string => PREFIX + digest(id);
/** The keys of an account's sessions, scored by when each is certainly over. */
const indexOf = (account: string): string => `sessions-of:${account}`;

/** What connect-redis calls, with the ids replaced by their digests and writes that never create. */
const hashing = (redis: Redis) => ({
  get: (id: string) => redis.get(keyOf(id)),
  set: (id: string, text: string, unit: 'EX', seconds: number) => redis.set(keyOf(id), text, unit, seconds, 'XX'),
  del: (ids: readonly string[]) => redis.del(...ids.map(keyOf)),
});

/** Sessions in Redis, for any number of processes. */
export class RedisSessions extends RedisStore implements SessionStore {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #held: HeldSessions;

  constructor({ redis, clock, held }: { redis: Redis; clock: Clock; held: HeldSessions }) {
    super({
      client: hashing(redis),
      prefix: '',
      ttl: ({ login }: Stored) => (login ? secondsLeft(endOf(login), clock) : 0),
      disableTouch: true,
    });
    this.#redis = redis;
    this.#clock = clock;
    this.#held = held;
  }

  /** While Redis is away, what it said last. */
  override async get(id: string, done: Found): Promise<void> {
    await super.get(id, (error: unknown, session?: Stored | null) => {
      const key = digest(id);
      if (!error) this.#held.keep(key, session ?? undefined);
      const held = error ? this.#held.find(key) : undefined;
      if (held) done(undefined, held);
      else done(error, session);
    });
  }

  async create(id: string, session: Stored): Promise<void> {
    const { login } = session;
    if (!login) return;
    const index = indexOf(login.account);
    // In one step: there is no session that its member cannot see, and none is listed that is not there yet.
    const done = await this.#redis
      .multi()
      .zadd(index, endOf(login), digest(id))
      .zremrangebyscore(index, '-inf', String(this.#clock.now()))
      .expire(index, REMEMBER_ME_LIFETIME)
      .set(keyOf(id), JSON.stringify(session), 'EX', secondsLeft(endOf(login), this.#clock))
      .exec();
    const failed = done?.find(([error]) => error)?.[0];
    if (!done || failed) throw failed ?? new Error('Redis did not store a session');
  }

  async write(id: string, session: Stored): Promise<boolean> {
    const { login } = session;
    if (!login) return false;
    return (
      (await this.#redis.set(
        keyOf(id),
        JSON.stringify(session),
        'EX',
        secondsLeft(endOf(login), this.#clock),
        'XX',
      )) === 'OK'
    );
  }

  async has(key: string): Promise<boolean> {
    return (await this.#redis.exists(PREFIX + key)) === 1;
  }

  async of(account: string): Promise<readonly StoredLogin[]> {
    const index = indexOf(account);
    const keys = await this.#redis.zrange(index, '0', '-1');
    if (keys.length === 0) return [];
    const texts = await this.#redis.mget(keys.map((key) => PREFIX + key));
    const gone = keys.filter((_key, at) => texts[at] === null);
    if (gone.length > 0) await this.#redis.zrem(index, ...gone);
    return keys.flatMap((key, at) => {
      const { login } = JSON.parse(texts[at] ?? '{}') as Partial<Stored>;
      return login ? [{ key, login }] : [];
    });
  }

  async remove(id: string): Promise<boolean> {
    const there = await this.#redis.del(keyOf(id));
    await this.#held.end([digest(id)]);
    return there === 1;
  }

  async removeKeys(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#redis.del(...keys.map((key) => PREFIX + key));
    await this.#held.end(keys);
  }
}

const secondsLeft = (end: number, clock: Clock): number => Math.max(1, Math.ceil((end - clock.now()) / 1000));
