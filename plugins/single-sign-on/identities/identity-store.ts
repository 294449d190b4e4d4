import { HttpError, notFound, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Account, Accounts, LoginMethod } from 'parley-forum/plugins/accounts';
import { identityLinked, identityUnlinked } from 'parley-forum/plugins/single-sign-on';

/** Accounts per query. */
const BATCH_SIZE = 200;

/** Identifies a person at a provider. */
export interface SubjectKey {
  readonly providerId: string;
  /**
   * The issuer of the subject, which means nothing at any other issuer that the provider may have been moved to since.
   */
  readonly issuer: string;
  readonly subject: string;
}
/** A person at a provider, as described by it. */
export interface Subject extends SubjectKey {
  /** Their name there, to tell accounts apart. */
  readonly label: string | null;
  /** An e-mail address that the provider has verified, if it is trusted to do so. */
  readonly provenEmail: string | null;
}
/** An account elsewhere by which a member logs in. */
export interface Identity extends Omit<Subject, 'issuer'> {
  readonly accountId: string;
  readonly linkedAt: Date;
  readonly usedAt: Date | null;
}

interface Link {
  /** The IP address of the request that links the account. */
  readonly address: string;
  /** The member who makes the request. If absent, the request created the account, so that there is nobody to warn. */
  readonly member?: Account | undefined;
}

export interface IdentityStoreDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'withPassword' | 'findByIdentifier'>;
  readonly emit: PluginHandle['emit'];
  /** Notifies the member by mail; called inside the transaction of the change. */
  notify(accountId: string, event: 'linked' | 'unlinked', providerId: string): Promise<void>;
}

const COLUMNS =
  sql.raw(`provider_id as "providerId", subject, label, proven_email as "provenEmail", account_id as "accountId",
  linked_at as "linkedAt", used_at as "usedAt"`);
const lockOf = (accountId: string): string => `single-sign-on:account ${accountId}`;
/** Messages if an account cannot be unlinked. */
const REFUSALS = {
  member: {
    last: 'You would no longer be able to log in: set a password first',
    none: 'No account at this provider is linked to yours',
  },
  operator: {
    last: 'The member would no longer be able to log in: they need a password first, set with “Forgot your password?” or the command user reset-password',
    none: 'The member has no linked account at this provider',
  },
} as const;
/** SQLSTATE of a unique violation. */
const TAKEN = '23505';
/** The provider has been removed or moved. */
const gone = (): HttpError => notFound('Members cannot log in with this provider');

/**
 * The accounts at providers that members have linked: each member has at most one at each provider, and each belongs to
 * one member.
 */
export class IdentityStore implements LoginMethod {
  readonly #deps: IdentityStoreDeps;

  constructor(deps: IdentityStoreDeps) {
    this.#deps = deps;
  }

  find({ providerId, issuer, subject }: SubjectKey): Promise<Identity | undefined> {
    return this.#deps.data.one(sql<Identity>`select ${COLUMNS} from single_sign_on_identity
      where provider_id = ${providerId} and subject = ${subject}
        and exists (select 1 from single_sign_on_provider p where p.id = provider_id and p.issuer = ${issuer})`);
  }

  of(accountId: string): Promise<readonly Identity[]> {
    return this.#deps.data.all(sql<Identity>`select ${COLUMNS} from single_sign_on_identity
      where account_id = ${accountId} order by linked_at, provider_id`);
  }

  async available(accountIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(sql<{ id: string }>`select distinct account_id as id
      from single_sign_on_identity i join single_sign_on_provider p on p.id = i.provider_id
      where account_id = any(${accountIds}::uuid[]) and p.active`);
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Links an account and raises `single-sign-on.linked`. Throws 409 if it is linked to another member, or if this
   * member has linked another account there; 404 if the provider was removed or moved to another issuer; 401 if the
   * member's sessions have ended.
   */
  async link(
    { providerId, issuer, subject, label, provenEmail }: Subject,
    accountId: string,
    { address, member }: Link,
  ): Promise<void> {
    const { data, clock, emit, notify } = this.#deps;
    const known = await this.find({ providerId, issuer, subject });
    if (known?.accountId === accountId) return;
    try {
      await data.transaction(async () => {
        if (member) await this.#checkSession(member);
        // The lock waits for an administrator who is changing the provider's issuer, and prevents such a change until
        // the commit.
        const rows =
          await data.all(sql`insert into single_sign_on_identity (provider_id, subject, account_id, label, proven_email, linked_at)
          select id, ${subject}, ${accountId}::uuid, ${label}, ${provenEmail}, ${new Date(clock.now())}::timestamptz
          from single_sign_on_provider where id = ${providerId} and issuer = ${issuer} for share returning 1`);
        if (rows.length === 0) throw gone();
        await emit(identityLinked, { account: accountId, provider: providerId, address });
        if (member) await notify(accountId, 'linked', providerId);
      });
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (code !== TAKEN) throw error;
      throw new HttpError(
        409,
        known
          ? 'That account is already linked to another member'
          : 'Another account at this provider is already linked to yours; unlink it first',
      );
    }
  }

  /** Throws 404 if no account there is linked, and 409 if the member could not log in any more. */
  async unlink(accountId: string, providerId: string, by: keyof typeof REFUSALS): Promise<void> {
    const { data, accounts } = this.#deps;
    await data.transaction(async () => {
      await data.lock(lockOf(accountId));
      const others = await data.one(sql`select 1 from single_sign_on_identity i
        join single_sign_on_provider p on p.id = i.provider_id
        where account_id = ${accountId} and provider_id <> ${providerId} and p.active limit 1`);
      if (!others && !(await accounts.withPassword([accountId])).has(accountId))
        throw new HttpError(409, REFUSALS[by].last);
      const gone = await this.#remove(accountId, by, sql`and provider_id = ${providerId}`);
      if (gone.length === 0) throw notFound(REFUSALS[by].none);
    });
  }

  /**
   * Unlinks the accounts of a member whose password was set by a link in a mail, or by an operator, since somebody else
   * may have linked theirs. Accounts stay whose provider has verified the e-mail address of the member's account and is
   * still trusted to do so.
   */
  async unlinkAfterReset(accountId: string, email: string): Promise<void> {
    const { data } = this.#deps;
    await data.transaction(async () => {
      await data.lock(lockOf(accountId));
      const which = sql`and not exists (select 1 from single_sign_on_provider p
        where p.id = provider_id and p.trusts_email and lower(proven_email) = lower(${email}))`;
      await this.#remove(accountId, 'password reset', which);
    });
  }

  async recordUse({ providerId, subject }: Identity): Promise<void> {
    const { data, clock } = this.#deps;
    await data.all(sql`update single_sign_on_identity set used_at = ${new Date(clock.now())}
      where provider_id = ${providerId} and subject = ${subject}`);
  }

  /** The number of members who have linked an account at each provider, by the provider's id. */
  async counts(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#deps.data.all(sql<{ id: string; count: number }>`
      select provider_id as id, count(*)::int as count from single_sign_on_identity group by 1`);
    return new Map(rows.map(({ id, count }) => [id, count]));
  }

  /** The number of members who could not log in without this provider: they have no password and no other provider. */
  async dependents(providerId: string): Promise<number> {
    const { data, accounts } = this.#deps;
    let count = 0;
    for (let after: string | null = null, full = true; full;) {
      const rows: readonly { readonly id: string }[] = await data.all(sql<{ id: string }>`
        select account_id as id from single_sign_on_identity i where provider_id = ${providerId}
          and (${after}::uuid is null or account_id > ${after}::uuid)
          and not exists (select 1 from single_sign_on_identity o join single_sign_on_provider p on p.id = o.provider_id
            where o.account_id = i.account_id and o.provider_id <> i.provider_id and p.active)
        order by account_id limit ${BATCH_SIZE}`);
      const ids = rows.map(({ id }) => id);
      count += ids.length - (await accounts.withPassword(ids)).size;
      after = ids.at(-1) ?? null;
      full = ids.length === BATCH_SIZE;
    }
    return count;
  }

  /** Ensures that a request that started before a password reset cannot link an account after it. */
  async #checkSession({ id, username, permissionsVersion }: Account): Promise<void> {
    const { data, accounts } = this.#deps;
    await data.lock(lockOf(id));
    const now = await accounts.findByIdentifier(username);
    if (now?.id !== id || now.permissionsVersion !== permissionsVersion)
      throw new HttpError(401, 'This session has ended; log in again', { code: 'login_needed' });
  }

  async #remove(
    accountId: string,
    cause: keyof typeof REFUSALS | 'password reset',
    which: ReturnType<typeof sql>,
  ): Promise<readonly { readonly id: string }[]> {
    const { data, emit, notify } = this.#deps;
    return data.transaction(async () => {
      const gone = await data.all(sql<{ id: string }>`delete from single_sign_on_identity
        where account_id = ${accountId} ${which} returning provider_id as id`);
      for (const { id } of gone) {
        await emit(identityUnlinked, { account: accountId, provider: id, cause });
        await notify(accountId, 'unlinked', id);
      }
      return gone;
    });
  }
}
