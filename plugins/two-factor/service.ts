import { HttpError, sql, type Clock, type Data, type SealedStore, type Secrets } from 'parley-forum';
import type { TwoFactor, TwoFactorChange } from 'parley-forum/plugins/two-factor';
import { digestOf, newBackupCodes, parseCode } from './codes.ts';

/** The TOTP library is loaded on first use. */
const totp = () => import('./totp.ts');

/** The member who changes their own second factor, and their IP address. */
export interface FactorOwner {
  readonly id: string;
  readonly address: string;
}

export interface State {
  readonly enabled: boolean;
  /** The number of unused backup codes. */
  readonly codesLeft: number;
  /** The secret that still awaits its first code. A secret in use is never shown again. */
  readonly pendingSecret: string | undefined;
}

/**
 * Seconds to wait once the allowed number of wrong codes is reached; doubled for each further one, up to half a day.
 */
const FIRST_WAIT = 60;
const MAX_WAIT = 43_200;
/** The minimum number of milliseconds between two mails about wrong codes. */
const WARNING_INTERVAL = 86_400_000;

export interface TwoFactorDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly secrets: Secrets;
  /** Raises `two-factor.changed` and notifies the member; inside the transaction of the change. */
  changed(what: TwoFactorChange): Promise<void>;
  /** Warns the owner that this many wrong codes were entered after the right password; inside a transaction. */
  warn(accountId: string, failures: number): Promise<void>;
}

interface Row {
  readonly secret: string;
  readonly enabled: boolean;
  readonly codes: number;
}

/** Stores secrets, sealed, and backup codes, as hashes only. */
export class TwoFactorService implements TwoFactor, SealedStore {
  readonly #deps: TwoFactorDeps;

  constructor(deps: TwoFactorDeps) {
    this.#deps = deps;
  }

  async enabled(accountId: string): Promise<boolean> {
    return (
      (await this.#deps.data.one(
        sql`select 1 from two_factor where account_id = ${accountId} and enabled_at is not null`,
      )) !== undefined
    );
  }

  /** The ids of the accounts that have it on, with a single statement. */
  async enabledAmong(accountIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(sql<{ id: string }>`
      select account_id as id from two_factor where account_id = any(${accountIds}::uuid[])
        and enabled_at is not null`);
    return new Set(rows.map(({ id }) => id));
  }

  async state(accountId: string): Promise<State> {
    const row = await this.#row(accountId);
    return {
      enabled: row?.enabled ?? false,
      codesLeft: row?.codes ?? 0,
      pendingSecret: row && !row.enabled ? this.#deps.secrets.open(row.secret) : undefined,
    };
  }

  /**
   * Creates a secret that takes effect once a code generated from it is confirmed, replacing one that is still pending.
   * Throws 409 if the second factor is on.
   */
  async begin(accountId: string): Promise<string> {
    const { data, secrets } = this.#deps;
    const { newSecret } = await totp();
    const secret = newSecret();
    const row =
      await data.one(sql`insert into two_factor (account_id, secret) values (${accountId}, ${secrets.seal(secret)})
      on conflict (account_id) do update set secret = excluded.secret, last_counter = 0
      where two_factor.enabled_at is null returning account_id`);
    if (!row) throw new HttpError(409, 'Two-factor login is already on; switch it off to set it up again');
    return secret;
  }

  /**
   * Switches the second factor on. Resolves to the backup codes, which cannot be read again later, or to undefined if
   * the code is wrong.
   */
  async confirm({ id, address }: FactorOwner, input: string): Promise<readonly string[] | undefined> {
    const { data, clock } = this.#deps;
    const row = await this.#row(id);
    const counter = row && !row.enabled ? await this.#counter(input, row.secret) : undefined;
    if (!row || counter === undefined) return undefined;
    return data.transaction(async () => {
      const done =
        await data.one(sql`update two_factor set enabled_at = ${new Date(clock.now())}, last_counter = ${counter}
        where account_id = ${id} and enabled_at is null and secret = ${row.secret} returning account_id`);
      if (!done) return undefined;
      await this.#deps.changed({ account: id, event: 'enabled', actor: id, address });
      return this.#replaceCodes(id);
    });
  }

  /** Replaces all backup codes. Resolves to undefined if the second factor is off. */
  async renewCodes({ id, address }: FactorOwner): Promise<readonly string[] | undefined> {
    const { data } = this.#deps;
    return data.transaction(async () => {
      const on = await data.one(
        sql`select 1 from two_factor where account_id = ${id} and enabled_at is not null for update`,
      );
      if (!on) return undefined;
      await this.#deps.changed({ account: id, event: 'codes-renewed', actor: id, address });
      return this.#replaceCodes(id);
    });
  }

  /**
   * Counts an attempt in advance, as a failure until a right code resets the count. Resolves to 0, or to the number of
   * seconds to wait, in which case nothing was counted. Waits start after `allowed` consecutive failures.
   */
  async countAttempt(accountId: string, allowed: number): Promise<number> {
    const { data, clock } = this.#deps;
    const now = clock.now();
    return data.transaction(async () => {
      const row = await data.one(sql<{ failures: number; retryAt: Date | null }>`
        select failures, retry_at as "retryAt" from two_factor
        where account_id = ${accountId} and enabled_at is not null for update`);
      if (!row) return 0;
      const wait = (row.retryAt?.getTime() ?? 0) - now;
      if (wait > 0) return Math.ceil(wait / 1_000);
      const failures = row.failures + 1;
      const retryAt =
        failures < allowed ? null : new Date(now + Math.min(FIRST_WAIT * 2 ** (failures - allowed), MAX_WAIT) * 1_000);
      await data.all(
        sql`update two_factor set failures = ${failures}, retry_at = ${retryAt} where account_id = ${accountId}`,
      );
      return 0;
    });
  }

  /** Called after a wrong code: warns the owner, at most once a day, after `allowed` consecutive failures. */
  async warnOwner(accountId: string, allowed: number): Promise<void> {
    const { data, clock, warn } = this.#deps;
    const now = clock.now();
    await data.transaction(async () => {
      const row = await data.one(sql<{ failures: number }>`update two_factor set warned_at = ${new Date(now)}
        where account_id = ${accountId} and failures >= ${allowed} and (warned_at is null
            or warned_at <= ${new Date(now - WARNING_INTERVAL)}) returning failures`);
      if (row) await warn(accountId, row.failures);
    });
  }

  /** Lets the next attempt go ahead without waiting; previous failures still count. */
  async endWait(accountId: string): Promise<void> {
    await this.#deps.data.all(sql`update two_factor set retry_at = null where account_id = ${accountId}`);
  }

  /** Whether the code is right and unused; if so, it counts as used from now on. */
  async accept({ id, address }: FactorOwner, input: string): Promise<boolean> {
    const { data } = this.#deps;
    const given = parseCode(input);
    if (!given) return false;
    if (given.kind === 'time') {
      const row = await this.#row(id);
      const counter = row?.enabled ? await this.#counter(given.code, row.secret) : undefined;
      if (counter === undefined) return false;
      const used = await data.one(sql`update two_factor
          set last_counter = ${counter}, failures = 0, retry_at = null, warned_at = null
        where account_id = ${id} and enabled_at is not null and last_counter < ${counter} returning 1`);
      return used !== undefined;
    }
    return data.transaction(async () => {
      const used = await data.one(
        sql`delete from two_factor_backup_code where account_id = ${id} and hash = ${digestOf(given.code)} returning 1`,
      );
      if (used) {
        await data.all(
          sql`update two_factor set failures = 0, retry_at = null, warned_at = null where account_id = ${id}`,
        );
        await this.#deps.changed({ account: id, event: 'code-used', actor: id, address });
      }
      return used !== undefined;
    });
  }

  /** Switches the second factor off at the member's own request; the caller checks the permission. */
  async disable({ id, address }: FactorOwner): Promise<void> {
    await this.#remove({ account: id, event: 'disabled', actor: id, address });
  }

  reset(accountId: string, actor?: string): Promise<boolean> {
    return this.#remove({ account: accountId, event: 'reset', ...(actor !== undefined && { actor }) });
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const { data } = this.#deps;
    const rows = await data.all(
      sql<{
        id: string;
        secret: string;
      }>`select account_id as id, secret from two_factor order by account_id for update`,
    );
    const fresh = JSON.stringify(rows.map(({ id, secret }) => ({ id, secret: seal(secret) })));
    await data.all(
      sql`update two_factor t set secret = f.secret from json_to_recordset(${fresh}::json) as f(id uuid, secret text)
        where t.account_id = f.id`,
    );
  }

  async #remove(what: TwoFactorChange): Promise<boolean> {
    const { data } = this.#deps;
    return data.transaction(async () => {
      const removed = await data.one(
        sql`delete from two_factor where account_id = ${what.account} and enabled_at is not null returning 1`,
      );
      if (removed) await this.#deps.changed(what);
      return removed !== undefined;
    });
  }

  async #replaceCodes(accountId: string): Promise<readonly string[]> {
    const { data } = this.#deps;
    const codes = newBackupCodes();
    await data.all(sql`delete from two_factor_backup_code where account_id = ${accountId}`);
    await data.all(sql`insert into two_factor_backup_code (account_id, hash)
      select ${accountId}::uuid, hash from unnest(${codes.map(digestOf)}::text[]) as hash`);
    return codes;
  }

  async #counter(input: string, sealed: string): Promise<number | undefined> {
    const given = parseCode(input);
    const { counterOf } = await totp();
    return given?.kind === 'time'
      ? counterOf(given.code, this.#deps.secrets.open(sealed), this.#deps.clock.now())
      : undefined;
  }

  #row(accountId: string): Promise<Row | undefined> {
    return this.#deps.data.one(sql<Row>`select secret, enabled_at is not null as enabled,
      (select count(*)::int from two_factor_backup_code c where c.account_id = t.account_id) as codes from two_factor t
        where account_id = ${accountId}`);
  }
}
