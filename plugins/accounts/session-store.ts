import { RedisStore } from 'connect-redis';
import { Store, type SessionData } from 'express-session';
import { sql, type Cache, type Clock, type Data } from '#core';
import { digest } from './identifier.ts';

/** Seconds. */
export const IDLE_TIMEOUT = 3_600;
const MAX_LIFETIME = 86_400;
const REMEMBER_ME_LIFETIME = 2_592_000;

/** What a login session knows. Times are epoch milliseconds. */
export interface Login {
  readonly account: string;
  /** The account's `permissionsVersion` at login. */
  readonly version: number;
  readonly fingerprint: string;
  readonly address: string;
  readonly remember: boolean;
  /** The forgery token is made of it, so it lives as long as the login. */
  readonly csrf: string;
  readonly startedAt: number;
  /** When this session id was issued. */
  readonly issuedAt: number;
  /** Exact to a minute. */
  seenAt: number;
  /** Set when the id was replaced: the key of the session that took over. Requests already under way may still use this one. */
  readonly successor?: string;
  readonly retiredAt?: number;
}

export type Stored = SessionData & { login?: Login };

/** When the session is certainly over, whatever happens until then. */
export const endOf = ({ startedAt, remember }: Login): number => startedAt + (remember ? REMEMBER_ME_LIFETIME : MAX_LIFETIME) * 1000;

/** Sessions by the digest of their id. A session is created only after `admit`, so that a late save cannot bring back one that was ended. */
export interface SessionStore extends Store {
  admit(id: string): void;
  has(key: string): Promise<boolean>;
  /** Ends it, as `destroy` does. */
  remove(id: string): Promise<void>;
  write(id: string, session: Stored): Promise<void>;
}

type Done = (error?: unknown) => void;
const report = (work: Promise<unknown>, done: Done | undefined): void => void work.then(() => done?.(), (error: unknown) => done?.(error));
/** Both express-session and connect-redis tell "no such session" by `null`. */
type Found = (error: unknown, session?: Stored | null) => void;

/** Sessions in the database, read from memory until they change: without Redis there is only this process. */
export class DatabaseSessions extends Store implements SessionStore {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #admitted = new Set<string>();

  constructor({ data, cache, clock }: { data: Data; cache: Cache; clock: Clock }) {
    super();
    this.#data = data;
    this.#cache = cache;
    this.#clock = clock;
  }

  admit(id: string): void {
    this.#admitted.add(digest(id));
  }

  override get(id: string, done: Found): void {
    // Parsed anew for each request: express-session changes what it is given.
    this.#read(digest(id)).then((text) => done(undefined, text === undefined ? null : (JSON.parse(text) as Stored)), done);
  }

  override set(id: string, session: Stored, done?: Done): void {
    report(this.write(id, session), done);
  }

  override destroy(id: string, done?: Done): void {
    report(this.remove(id), done);
  }

  async has(key: string): Promise<boolean> {
    return (await this.#read(key)) !== undefined;
  }

  async remove(id: string): Promise<void> {
    const key = digest(id);
    await this.#data.all(sql`delete from accounts_session where key = ${key}`);
    await this.#cache.purge(tagOf(key));
  }

  async write(id: string, session: Stored): Promise<void> {
    const { login } = session;
    if (!login) return;
    const key = digest(id);
    const text = JSON.stringify(session);
    if (this.#admitted.delete(key)) {
      await this.#data.all(sql`insert into accounts_session (key, account_id, data, expires_at) values (${key}, ${login.account}, ${text}::jsonb, ${new Date(endOf(login))})`);
    } else {
      await this.#data.all(sql`update accounts_session set data = ${text}::jsonb where key = ${key} and data->'login'->'successor' is null`);
    }
    await this.#cache.purge(tagOf(key));
  }

  /** Deletes what is over; how many there were. */
  async clean(): Promise<number> {
    const gone = await this.#data.all(sql`delete from accounts_session where expires_at < ${new Date(this.#clock.now())} returning key`);
    return gone.length;
  }

  #read(key: string): Promise<string | undefined> {
    return this.#cache.remember(tagOf(key), [tagOf(key)], async () => (await this.#data.one(sql<{ text: string }>`select data::text as text from accounts_session where key = ${key}`))?.text);
  }
}

const tagOf = (key: string): string => `session:${key}`;

type Redis = NonNullable<Cache['redis']>;

/** What connect-redis calls, with the ids replaced by their digests and writes that never create unless admitted. */
function hashing(redis: Redis, admitted: Set<string>, prefix: string) {
  const keyOf = (id: string): string => prefix + digest(id);
  return {
    get: (id: string) => redis.get(keyOf(id)),
    set: (id: string, text: string, unit: 'EX', seconds: number) =>
      admitted.delete(id) ? redis.set(keyOf(id), text, unit, seconds) : redis.set(keyOf(id), text, unit, seconds, 'XX'),
    del: (ids: readonly string[]) => redis.del(...ids.map(keyOf)),
  };
}

/** Sessions in Redis, for any number of processes. */
export class RedisSessions extends RedisStore implements SessionStore {
  readonly #admitted: Set<string>;
  readonly #exists: (key: string) => Promise<number>;

  constructor({ redis, clock, prefix }: { redis: Redis; clock: Clock; prefix: string }) {
    const admitted = new Set<string>();
    const ttl = ({ login }: Stored): number => (login ? Math.ceil((endOf(login) - clock.now()) / 1000) : 0);
    super({ client: hashing(redis, admitted, prefix), prefix: '', ttl, disableTouch: true });
    this.#admitted = admitted;
    this.#exists = (key) => redis.exists(prefix + key);
  }

  admit(id: string): void {
    this.#admitted.add(id);
  }

  async has(key: string): Promise<boolean> {
    return (await this.#exists(key)) === 1;
  }

  async remove(id: string): Promise<void> {
    await promised((done) => void this.destroy(id, done));
  }

  async write(id: string, session: Stored): Promise<void> {
    await promised((done) => void this.set(id, session, done));
  }
}

const promised = (work: (done: Done) => void): Promise<void> =>
  new Promise((resolve, reject) => work((error) => (error ? reject(error instanceof Error ? error : new Error(String(error))) : resolve())));
