import { sql, type Clock, type Data, type Request, type Response } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import type { Cookies } from '../sessions/cookies.ts';
import { digest, randomToken } from '../identifiers.ts';
import { fingerprintOf } from '../sessions/session-rules.ts';

const COOKIE = 'parley.waiting';
/** Milliseconds within which all steps must be completed. */
const LIFETIME = 600_000;

/** A login that has passed the password but has no session yet. */
export interface StoredPendingLogin {
  readonly accountId: string;
  /** The account's `permissionsVersion` when the password was right. */
  readonly version: number;
  readonly step: string;
  /** The steps completed before it. */
  readonly done: readonly string[];
  readonly remember: boolean;
  readonly returnTo: string;
  readonly expiresAt: Date;
}

export interface NewPendingLogin {
  readonly account: Account;
  readonly step: string;
  readonly remember: boolean;
  readonly returnTo: string;
}

const COLUMNS = sql`account_id as "accountId", version, step, done, remember, return_to as "returnTo",
  expires_at as "expiresAt"`;

/**
 * Logins that are waiting for a further step, stored under the digest of a cookie that only the browser in which the
 * password was entered has. They are not sessions.
 */
export class PendingLogins {
  readonly #data: Data;
  readonly #clock: Clock;
  readonly #cookies: Cookies;

  constructor({ data, clock, cookies }: { readonly data: Data; readonly clock: Clock; readonly cookies: Cookies }) {
    this.#data = data;
    this.#clock = clock;
    this.#cookies = cookies;
  }

  /** Always sets a new cookie; an earlier pending login in this browser is discarded. */
  async create(req: Request, res: Response, { account, step, remember, returnTo }: NewPendingLogin): Promise<void> {
    const token = randomToken();
    const end = new Date(this.#clock.now() + LIFETIME);
    const before = this.#keyOf(req);
    await this.#data.transaction(async () => {
      if (before !== undefined) await this.#data.all(sql`delete from accounts_waiting where key = ${before}`);
      await this.#data
        .all(sql`insert into accounts_waiting (key, account_id, version, fingerprint, step, done, remember, return_to,
          expires_at)
        values (${digest(token)}, ${account.id}, ${account.permissionsVersion}, ${fingerprintOf(req)}, ${step}, '{}', ${remember}, ${returnTo}, ${end})`);
    });
    const secure = this.#cookies.secure(req);
    res.append('Set-Cookie', this.#cookies.serialize(this.#cookies.name(COOKIE, secure), token, secure));
  }

  async find(req: Request): Promise<StoredPendingLogin | undefined> {
    const key = this.#keyOf(req);
    return key === undefined
      ? undefined
      : this.#data.one(
          sql<StoredPendingLogin>`select ${COLUMNS} from accounts_waiting where ${this.#usable(key, req)}`,
        );
  }

  /** Removes the pending login: if two requests try at once, only one of them gets it. */
  async consume(req: Request, res: Response): Promise<StoredPendingLogin | undefined> {
    const key = this.#keyOf(req);
    if (key === undefined) return undefined;
    const [taken] = await this.#data.all(
      sql<StoredPendingLogin>`delete from accounts_waiting where ${this.#usable(key, req)} returning ${COLUMNS}`,
    );
    const secure = this.#cookies.secure(req);
    this.#cookies.clear(res, this.#cookies.name(COOKIE, secure), secure);
    return taken;
  }

  /**
   * Proceeds to a further step, within the same ten minutes. `done` includes the step just completed. False if the
   * pending login has expired.
   */
  async advance(req: Request, step: string, done: readonly string[]): Promise<boolean> {
    const key = this.#keyOf(req) ?? '';
    const changed = await this.#data.all(
      sql`update accounts_waiting set step = ${step}, done = ${done}::text[]
        where ${this.#usable(key, req)} returning key`,
    );
    return changed.length > 0;
  }

  /** Deletes expired pending logins. */
  async deleteExpired(): Promise<void> {
    await this.#data.all(sql`delete from accounts_waiting where expires_at <= ${new Date(this.#clock.now())}`);
  }

  #usable(key: string, req: Request) {
    return sql`key = ${key} and expires_at > ${new Date(this.#clock.now())} and fingerprint = ${fingerprintOf(req)}`;
  }

  #keyOf(req: Request): string | undefined {
    const token = this.#cookies.read(req.headers.cookie, this.#cookies.name(COOKIE, this.#cookies.secure(req)));
    return token === undefined || token === '' ? undefined : digest(token);
  }
}
