import { InvalidInput, notFound, sql, type Cache, type Clock, type Data, type EntityManager, type FieldProblem } from '#core';
import type { Access, Viewer } from '#plugins/access';
import { accountTag, type Account, type Accounts, type AccountStatus, type Author, type ImportedAccount, type NewAccount } from '#plugins/accounts';
import { AccountEntity } from './entities.ts';
import { digest, isId, newId, randomToken } from './identifier.ts';
import { namesLike } from './names.ts';
import type { Passwords } from './passwords.ts';

const USERNAME = /^(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{3,30}$/;
const EMAIL = /^[^\s@<>()"\\,;:]{1,64}@(?=.{3,190}$)[^\s@<>()"\\,;:]+\.[^\s@<>()"\\,;:.]{2,}$/;
/** What stands for "address unknown": never stored. */
const UNKNOWN_ADDRESS = '0.0.0.0';

/** In place of a hash: no password fits it. */
const NO_PASSWORD = '!';
/** Rows per statement of an import. */
const IMPORT_BATCH = 2_000;

const COLUMNS = sql`id, username::text as username, email::text as email, group_id as "groupId", bio, avatar_url as "avatarUrl", status,
  permissions_version as "permissionsVersion", joined_at as "joinedAt"`;

/** What checking a login needs beside the account. Never held in memory. */
export interface Credentials {
  readonly account: Account;
  readonly passwordHash: string;
  readonly lastIp: string | null;
}

export interface AccountsOptions {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly access: Access;
  readonly passwords: Passwords;
  /** Raises `user.registered`, inside the transaction that stored the account. */
  registered(user: { id: string; username: string; joined_at: string }): Promise<void>;
  /** Raises `user.changed`; a listener of this plugin purges what is held of the account before the transaction resolves. */
  changed(id: string): Promise<void>;
}

/** The stored form of a client's address; `null` for the address that means "unknown". */
const storedAddress = (ip: string | undefined): string | null => (ip === undefined || ip === '' || ip === UNKNOWN_ADDRESS ? null : ip);

export class AccountsService implements Accounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /** What is wrong with a sign-up, apart from names that are taken. */
  problems({ username, email, password }: Pick<NewAccount, 'username' | 'email' | 'password'>): readonly FieldProblem[] {
    return [
      ...(USERNAME.test(username) ? [] : [{ field: 'username', message: 'must have 3 to 30 letters, digits, "_", "-" or "."' }]),
      ...(EMAIL.test(email) ? [] : [{ field: 'email', message: 'is not an e-mail address' }]),
      ...this.#options.passwords.problems(password, [username, email.split('@')[0] ?? '']),
    ];
  }

  async create({ username, email, password, groupId = 'member', bio = '', joinedAt, ip }: NewAccount): Promise<Account> {
    const problems = this.problems({ username, email, password });
    if (problems.length > 0) throw new InvalidInput(problems);
    this.#knownGroup(groupId);
    const now = this.#options.clock.now();
    const passwordHash = await this.#options.passwords.hash(password);
    const values = { id: newId(now), username, email, passwordHash, groupId, bio, joinedAt: joinedAt ?? new Date(now), registrationIp: storedAddress(ip), lastIp: storedAddress(ip) };
    await this.#unique({ username, email }, () => this.#options.data.transaction(async (em) => {
      const taken = await this.#taken({ username, email });
      if (taken.length > 0) throw new InvalidInput(taken);
      em.persist(em.create(AccountEntity, values));
      await em.flush();
      await this.#options.registered({ id: values.id, username, joined_at: values.joinedAt.toISOString() });
    }));
    return (await this.#load(values.id))!;
  }

  find(id: string): Promise<Account | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    const key = accountTag(id);
    const held = this.#options.cache.peek<Account>(key);
    return held ? Promise.resolve(held) : this.#options.cache.remember(key, [key], () => this.#load(id));
  }

  async findByName(identifier: string): Promise<Account | undefined> {
    return this.#options.data.one(sql<Account>`select ${COLUMNS} from account where ${this.#named(identifier)}`);
  }

  async viewers(ids: readonly string[]): Promise<ReadonlyMap<string, Viewer>> {
    const { data, access } = this.#options;
    await access.refresh();
    const rows = await data.all(sql<{ id: string; username: string; groupId: string }>`
      select id, username::text as username, group_id as "groupId" from account where id = any(${ids.filter(isId)}::uuid[]) and status = 'active'`);
    return new Map(rows.map(({ id, username, groupId }) => [id, { id, username, group: access.group(groupId) ?? access.groupOf('guest') }]));
  }

  async addresses(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#options.data.all(sql<{ id: string; email: string }>`
      select id, email::text as email from account where id = any(${ids.filter(isId)}::uuid[]) and status = 'active'`);
    return new Map(rows.map(({ id, email }) => [id, email]));
  }

  async named(usernames: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#options.data.all(sql<{ id: string; name: string }>`
      select id, lower(username::text) as name from account where username = any(${usernames}::citext[]) and status = 'active'`);
    return new Map(rows.map(({ id, name }) => [name, id]));
  }

  async authors(ids: readonly string[]): Promise<ReadonlyMap<string, Author>> {
    const { cache, data } = this.#options;
    const found = new Map<string, Account>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const held = cache.peek<Account>(accountTag(id));
      if (held) found.set(id, held);
      else if (isId(id)) missing.push(id);
    }
    if (missing.length > 0) {
      const since = cache.mark();
      for (const account of await data.all(sql<Account>`select ${COLUMNS} from account where id = any(${missing}::uuid[]) order by id`)) {
        found.set(account.id, account);
        if (!data.inTransaction) cache.keep(accountTag(account.id), [accountTag(account.id)], account, since);
      }
    }
    return new Map([...found].map(([id, { username, avatarUrl }]) => [id, { id, username, avatar_url: avatarUrl }]));
  }

  async search({ text, groupId, limit, offset }: Parameters<Accounts['search']>[0]): ReturnType<Accounts['search']> {
    const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
    const where = sql`(lower(username::text) like ${pattern} or lower(email::text) like ${pattern}) and (${groupId ?? null}::text is null or group_id::text = ${groupId ?? null}::text)`;
    const [accounts, counted] = await Promise.all([
      this.#options.data.all(sql<Account>`select ${COLUMNS} from account where ${where} order by lower(username::text), id limit ${limit} offset ${offset}`),
      this.#options.data.one(sql<{ total: number }>`select count(*)::int as total from account where ${where}`),
    ]);
    return { accounts, total: counted?.total ?? 0 };
  }

  async searchNames({ text, limit, offset }: Parameters<Accounts['searchNames']>[0]): Promise<readonly Account[]> {
    const { matches, order } = namesLike(text);
    return this.#options.data.all(sql<Account>`select ${COLUMNS} from account where ${matches} order by ${order} limit ${limit} offset ${offset}`);
  }

  async setGroup(id: string, groupId: string): Promise<void> {
    this.#knownGroup(groupId);
    await this.#change(id, (account) => {
      if (account.groupId === groupId) return;
      account.groupId = groupId;
      account.permissionsVersion += 1;
    });
  }

  async setPassword(id: string, password: string): Promise<void> {
    const { passwords } = this.#options;
    const account = await this.find(id);
    const problems = passwords.problems(password, account ? [account.username, account.email.split('@')[0]!] : []);
    if (problems.length > 0) throw new InvalidInput(problems);
    const passwordHash = await passwords.hash(password);
    await this.#change(id, (stored) => void Object.assign(stored, { passwordHash, permissionsVersion: stored.permissionsVersion + 1 }));
  }

  async setStatus(id: string, status: AccountStatus): Promise<void> {
    await this.#change(id, (account) => {
      if (account.status === status) return;
      account.status = status;
      account.permissionsVersion += 1;
    });
  }

  async setBio(id: string, bio: string): Promise<void> {
    await this.#change(id, (account) => void (account.bio = bio));
  }

  async importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]> {
    const { data, clock } = this.#options;
    const now = clock.now();
    const rows = accounts.map((account, index) => ({
      id: newId(now + index), username: account.username, email: account.email, password_hash: NO_PASSWORD, group_id: account.groupId ?? 'member',
      bio: account.bio ?? '', joined_at: account.joinedAt ?? new Date(now),
    }));
    for (const groupId of new Set(rows.map((row) => row.group_id))) this.#knownGroup(groupId);
    await this.#unique(undefined, () => data.transaction(async () => {
      for (let at = 0; at < rows.length; at += IMPORT_BATCH) {
        await data.all(sql`insert into account (id, username, email, password_hash, group_id, bio, joined_at)
          select id, username, email, password_hash, group_id, bio, joined_at from jsonb_to_recordset(${JSON.stringify(rows.slice(at, at + IMPORT_BATCH))}::jsonb)
          as row(id uuid, username text, email text, password_hash text, group_id text, bio text, joined_at timestamptz)`);
      }
    }));
    return rows.map(({ id }) => id);
  }

  /** A new bearer token in place of the old one. This is the only time it can be read. */
  async issueToken(id: string): Promise<string> {
    const token = `parley_${randomToken()}`;
    await this.#change(id, (account) => void (account.apiToken = digest(token)));
    return token;
  }

  async revokeToken(id: string): Promise<void> {
    await this.#change(id, (account) => void (account.apiToken = null));
  }

  async hasToken(id: string): Promise<boolean> {
    return (await this.#options.data.one(sql`select 1 from account where id = ${id} and api_token is not null`)) !== undefined;
  }

  /** The account of a bearer token. Known tokens are held under the account's tag, unknown ones are not held at all. */
  async ofToken(token: string): Promise<Account | undefined> {
    if (!/^parley_[A-Za-z0-9_-]{43}$/.test(token)) return undefined;
    const { cache, data } = this.#options;
    const hash = digest(token);
    const key = `account-token:${hash}`;
    const held = cache.peek<string>(key);
    if (held) return this.find(held);
    const since = cache.mark();
    const row = await data.one(sql<{ id: string }>`select id from account where api_token = ${hash}`);
    if (!row) return undefined;
    cache.keep(key, [accountTag(row.id)], row.id, since);
    return this.find(row.id);
  }

  async credentials(identifier: string): Promise<Credentials | undefined> {
    const row = await this.#options.data.one(sql<Account & { passwordHash: string; lastIp: string | null }>`
      select ${COLUMNS}, password_hash as "passwordHash", last_ip as "lastIp" from account where ${this.#named(identifier)}`);
    if (!row) return undefined;
    const { passwordHash, lastIp, ...account } = row;
    return { account, passwordHash, lastIp };
  }

  /** After a login: the address where it changed, the hash where its cost rose. No session ends. */
  async recordLogin({ account, lastIp }: Credentials, ip: string, passwordHash: string | undefined): Promise<void> {
    const address = storedAddress(ip) ?? lastIp;
    await this.#options.data.transaction((em) =>
      em.nativeUpdate(AccountEntity, { id: account.id }, { lastIp: address, lastSeenAt: new Date(this.#options.clock.now()), ...(passwordHash !== undefined && { passwordHash }) }));
  }

  /** Not announced: nothing that is held shows it. */
  async seen(id: string): Promise<void> {
    await this.#options.data.transaction((em) => em.nativeUpdate(AccountEntity, { id }, { lastSeenAt: new Date(this.#options.clock.now()) }));
  }

  #load(id: string): Promise<Account | undefined> {
    return this.#options.data.one(sql<Account>`select ${COLUMNS} from account where id = ${id}`);
  }

  /** Names hold no "@", so the identifier says which of the two it is. */
  #named(identifier: string) {
    return identifier.includes('@') ? sql`email = ${identifier}::citext` : sql`username = ${identifier}::citext`;
  }

  #knownGroup(groupId: string): void {
    if (!this.#options.access.group(groupId)) throw new InvalidInput([{ field: 'group_id', message: `names no group: ${groupId}` }]);
  }

  async #change(id: string, change: (account: LoadedAccount) => void): Promise<void> {
    await this.#options.data.transaction(async (em) => {
      const account = isId(id) ? await locked(em, id) : null;
      if (!account) throw notFound('There is no such member');
      change(account);
      await em.flush();
      await this.#options.changed(id);
    });
  }

  async #taken({ username, email }: { username: string; email: string }): Promise<readonly FieldProblem[]> {
    const [row] = await this.#options.data.all(sql<{ name: boolean; mail: boolean }>`select exists(select 1 from account where username = ${username}::citext) as name,
      exists(select 1 from account where email = ${email}::citext) as mail`);
    return [
      ...(row?.name ? [{ field: 'username', message: 'is taken' }] : []),
      ...(row?.mail ? [{ field: 'email', message: 'is in use by another member' }] : []),
    ];
  }

  /** Two sign-ups at the same moment: the database refuses the second, and it is told the same as always. */
  async #unique(names: { username: string; email: string } | undefined, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if ((error as { code?: string }).code !== '23505') throw error;
      throw new InvalidInput(names ? await this.#taken(names) : [{ field: 'accounts', message: 'one of the names or addresses is taken' }]);
    }
  }
}

type LoadedAccount = NonNullable<Awaited<ReturnType<typeof locked>>>;

/** The row, locked until the transaction ends, so that two changes at once both count. */
async function locked(em: EntityManager, id: string) {
  await em.execute('select 1 from account where id = ? for update', [id]);
  return em.findOne(AccountEntity, { id }, { refresh: true });
}
