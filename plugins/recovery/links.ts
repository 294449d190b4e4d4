import { hash, randomBytes } from 'node:crypto';
import { sql, type Clock, type Data } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';

/** Seconds for which a confirmation link is valid: a mail may not be read until the next day. */
export const CONFIRMATION_LIFETIME = 86_400;
/** Checked first, so that a malformed token costs no query. */
const TOKEN = /^[a-f0-9]{64}$/;

export interface LinksDeps<Holder> {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly purpose: 'reset' | 'confirm' | 'address';
  /** Seconds for which a link is valid, determined when it is created. */
  lifetime(): number;
  /** A value that invalidates the link when it changes, such as the address it was sent to. */
  boundTo(account: Holder): string;
}

/** A link that has just been used. */
export interface UsedLink {
  readonly account: Account;
  /** Makes the link valid again until its original expiry, unless there is a newer one. */
  restore(): Promise<void>;
}

interface Row {
  readonly hash: string;
  readonly accountId: string;
  readonly boundTo: string;
  readonly expiresAt: Date;
}

const COLUMNS = sql`hash, account_id as "accountId", bound_to as "boundTo", expires_at as "expiresAt"`;

/**
 * Tokens for links in mails: 256 random bits, stored only as a SHA-256 hash. Each can be used once, and only the newest
 * of its kind is valid.
 */
export class Links<Holder extends Pick<Account, 'id'>> {
  readonly #deps: LinksDeps<Holder>;

  constructor(deps: LinksDeps<Holder>) {
    this.#deps = deps;
  }

  /** Creates a link and resolves to its token, which cannot be read again later. */
  async make(account: Holder): Promise<string> {
    const { clock, lifetime, boundTo } = this.#deps;
    const token = randomBytes(32).toString('hex');
    const expiresAt = new Date(clock.now() + lifetime() * 1_000);
    await this.#insert(
      { hash: hash('sha256', token), accountId: account.id, boundTo: hash('sha256', boundTo(account)), expiresAt },
      sql`do update
      set hash = excluded.hash, bound_to = excluded.bound_to, expires_at = excluded.expires_at`,
    );
    return token;
  }

  /** The account a link belongs to, without using the link up; undefined if it is invalid or has expired. */
  async find(token: string): Promise<Account | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const row = await this.#deps.data.one(sql<Row>`select ${COLUMNS} from recovery_link where ${this.#usable(token)}`);
    return row && this.#holder(row);
  }

  /** Whether a link sent to this account is currently valid. */
  async hasUsable(account: Holder): Promise<boolean> {
    const { data, clock, purpose } = this.#deps;
    const row = await data.one(sql<Row>`select ${COLUMNS} from recovery_link
      where purpose = ${purpose} and account_id = ${account.id} and expires_at > ${new Date(clock.now())}`);
    return row !== undefined && (await this.#holder(row)) !== undefined;
  }

  /** Like `find`, but uses the link up: only one of several concurrent calls gets it. */
  async use(token: string): Promise<UsedLink | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const row = await this.#deps.data.one(
      sql<Row>`delete from recovery_link where ${this.#usable(token)} returning ${COLUMNS}`,
    );
    const account = row && (await this.#holder(row));
    return account && { account, restore: () => this.#insert(row, sql`do nothing`) };
  }

  async deleteExpired(): Promise<void> {
    const { data, clock, purpose } = this.#deps;
    await data.all(
      sql`delete from recovery_link where purpose = ${purpose} and expires_at <= ${new Date(clock.now())}`,
    );
  }

  async #insert({ hash, accountId, boundTo, expiresAt }: Row, conflict: ReturnType<typeof sql>): Promise<void> {
    const { data, purpose } = this.#deps;
    await data.all(sql`insert into recovery_link (hash, purpose, account_id, bound_to, expires_at)
      values (${hash}, ${purpose}, ${accountId}, ${boundTo}, ${expiresAt})
      on conflict (purpose, account_id) ${conflict}`);
  }

  #usable(token: string) {
    const { clock, purpose } = this.#deps;
    return sql`hash = ${hash('sha256', token)} and purpose = ${purpose} and expires_at > ${new Date(clock.now())}`;
  }

  async #holder({ accountId, boundTo }: Row): Promise<Account | undefined> {
    const account = await this.#deps.accounts.find(accountId);
    if (account?.status !== 'active') return undefined;
    return hash('sha256', this.#deps.boundTo(account as Account & Holder)) === boundTo ? account : undefined;
  }
}
