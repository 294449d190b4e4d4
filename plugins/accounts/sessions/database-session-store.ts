import { Store } from 'express-session';
import { sql, type Cache, type Clock, type Data } from 'parley-forum';
import { digest } from '../identifiers.ts';
import {
  expiryOf,
  type DoneCallback,
  type SessionCallback,
  type Login,
  type SessionStore,
  type StoredSession,
  type StoredLogin,
} from './session-store.ts';

const report = (work: Promise<unknown>, done: DoneCallback | undefined): void =>
  void work.then(
    () => done?.(),
    (error: unknown) => done?.(error),
  );

/** Sessions in the database, cached in memory until they change: without Redis there is only this process. */
export class DatabaseSessionStore extends Store implements SessionStore {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #clock: Clock;

  constructor({ data, cache, clock }: { data: Data; cache: Cache; clock: Clock }) {
    super();
    this.#data = data;
    this.#cache = cache;
    this.#clock = clock;
  }

  override get(id: string, done: SessionCallback): void {
    // Parsed for each request, because express-session modifies the object it gets.
    this.#read(digest(id)).then(
      (text) => done(undefined, text === undefined ? null : (JSON.parse(text) as StoredSession)),
      done,
    );
  }

  override set(id: string, session: StoredSession, done?: DoneCallback): void {
    report(this.write(id, session), done);
  }

  override destroy(id: string, done?: DoneCallback): void {
    report(this.remove(id), done);
  }

  async create(id: string, session: StoredSession): Promise<void> {
    const { login } = session;
    if (!login) return;
    const key = digest(id);
    await this.#data.all(sql`insert into accounts_session (key, account_id, data, expires_at)
      values (${key}, ${login.account}, ${JSON.stringify(session)}::jsonb, ${new Date(expiryOf(login))})`);
    await this.#cache.purge(tagOf(key));
  }

  async write(id: string, session: StoredSession): Promise<boolean> {
    if (!session.login) return false;
    const key = digest(id);
    const changed = await this.#data.all(sql`update accounts_session set data = ${JSON.stringify(session)}::jsonb
      where key = ${key} and data->'login'->'successor' is null returning key`);
    await this.#cache.purge(tagOf(key));
    return changed.length > 0;
  }

  async has(key: string): Promise<boolean> {
    return (await this.#read(key)) !== undefined;
  }

  async byAccount(account: string): Promise<readonly StoredLogin[]> {
    return this.#data.all(
      sql<{
        key: string;
        login: Login;
      }>`select key, data->'login' as login from accounts_session where account_id = ${account}`,
    );
  }

  async remove(id: string): Promise<boolean> {
    return (await this.#delete([digest(id)])) > 0;
  }

  async removeKeys(keys: readonly string[]): Promise<void> {
    if (keys.length > 0) await this.#delete(keys);
  }

  /** Deletes expired sessions; returns their number. */
  async deleteExpired(): Promise<number> {
    const gone = await this.#data.all(
      sql`delete from accounts_session where expires_at < ${new Date(this.#clock.now())} returning key`,
    );
    return gone.length;
  }

  async #delete(keys: readonly string[]): Promise<number> {
    const gone = await this.#data.all(sql`delete from accounts_session where key = any(${keys}::text[]) returning key`);
    await this.#cache.purge(...keys.map(tagOf));
    return gone.length;
  }

  #read(key: string): Promise<string | undefined> {
    return this.#cache.remember(
      tagOf(key),
      [tagOf(key)],
      async () =>
        (
          await this.#data.one(
            sql<{ text: string }>`select data::text as text from accounts_session where key = ${key}`,
          )
        )?.text,
    );
  }
}

const tagOf = (key: string): string => `session:${key}`;
