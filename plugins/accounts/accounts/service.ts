import { randomBytes } from 'node:crypto';
import {
  InvalidInput,
  notFound,
  sql,
  type Clock,
  type EntityManager,
  type FieldProblem,
  type PluginHandle,
} from 'parley-forum';
import {
  accountsTag,
  addressesViewed,
  emailChanged,
  groupChanged,
  passwordChanged,
  sessionsRevoked,
  statusChanged,
  userChanged,
  userRegistered,
  type Account,
  type AccountChange,
  type AccountNotice,
  type Accounts,
  type AccountStatus,
  type ImportedAccount,
  type NetworkAddresses,
  type NewAccount,
  type PasswordPolicy,
  type EmailConfirmation,
  type TokenStore,
} from 'parley-forum/plugins/accounts';
import { AccountEntity } from './entity.ts';
import { isId, newId } from '../identifiers.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { AccountReader, NO_PASSWORD, type ReaderParts } from './reader.ts';

const USERNAME = /^(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{3,30}$/;
const EMAIL = /^[^\s@<>()"\\,;:]{1,64}@(?=.{3,190}$)[^\s@<>()"\\,;:]+\.[^\s@<>()"\\,;:.]{2,}$/;
/** What stands for "address unknown": never stored. */
const UNKNOWN_ADDRESS = '0.0.0.0';

/** Rows per statement of an import. */
const IMPORT_BATCH = 2_000;

export interface AccountsOptions extends ReaderParts {
  readonly clock: Clock;
  readonly passwords: Passwords;
  /** `user.changed` purges what is held of the account before the transaction resolves. */
  readonly emit: PluginHandle['emit'];
  notices(): readonly AccountNotice[];
  tokenStores(): readonly TokenStore[];
}

/** The stored form of a client's address; `null` for the address that means "unknown". */
const storedAddress = (ip: string | undefined): string | null =>
  ip === undefined || ip === '' || ip === UNKNOWN_ADDRESS ? null : ip;

/** Accounts, and all that changes them. */
export class AccountsService extends AccountReader implements Accounts {
  readonly #options: AccountsOptions;

  constructor(options: AccountsOptions) {
    super(options);
    this.#options = options;
  }

  get passwordPolicy(): PasswordPolicy {
    return this.#options.passwords.policy;
  }

  /** What is wrong with a sign-up, apart from names that are taken. */
  problems({
    username,
    email,
    password,
  }: Pick<NewAccount, 'username' | 'email' | 'password'>): readonly FieldProblem[] {
    return [
      ...(USERNAME.test(username)
        ? []
        : [{ field: 'username', message: 'must have 3 to 30 letters, digits, "_", "-" or "."' }]),
      ...(EMAIL.test(email) ? [] : [{ field: 'email', message: 'is not an e-mail address' }]),
      ...this.#options.passwords.problems(password, [username, email.split('@')[0] ?? '']),
    ];
  }

  /** `stored` runs in the transaction that stores the account. */
  async create(
    { username, email, password, groupId = 'member', bio = '', joinedAt, ip, by }: NewAccount,
    stored?: EmailConfirmation['begin'],
  ): Promise<Account> {
    const problems = this.problems({ username, email, password });
    if (problems.length > 0) throw new InvalidInput(problems);
    this.#knownGroup(groupId);
    const now = this.#options.clock.now();
    const passwordHash = await this.#options.passwords.hash(password);
    const address = storedAddress(ip);
    const values = {
      id: newId(now),
      username,
      email,
      passwordHash,
      groupId,
      bio,
      joinedAt: joinedAt ?? new Date(now),
      registrationIp: address,
      lastIp: address,
    };
    await this.#unique(
      () => this.taken({ username, email }),
      () =>
        this.#options.data.transaction(async (em) => {
          const taken = await this.taken({ username, email });
          if (taken.length > 0) throw new InvalidInput(taken);
          em.persist(em.create(AccountEntity, values));
          await em.flush();
          await this.#options.emit(userRegistered, {
            user: { id: values.id, username, joined_at: values.joinedAt.toISOString() },
            ...(by !== undefined && { by }),
          });
          await stored?.({ id: values.id, username, email });
        }),
    );
    return (await this.load(values.id))!;
  }

  async setGroup(id: string, groupId: string, by?: string, partOf?: string, address?: string): Promise<void> {
    this.#knownGroup(groupId);
    await this.#change(id, async (account) => {
      const { groupId: from } = account;
      if (from === groupId) return;
      Object.assign(account, { groupId, permissionsVersion: account.permissionsVersion + 1 });
      await this.#options.emit(groupChanged, { id, from, to: groupId, by, partOf, address });
    });
  }

  async setPassword(
    id: string,
    password: string,
    by?: string,
    { keepTokens = false }: { readonly keepTokens?: boolean } = {},
  ): Promise<void> {
    await this.#newPassword(id, password, { by, what: 'password', keepTokens });
  }

  async resetPassword(id: string, password: string): Promise<void> {
    await this.#newPassword(id, password, { by: id, what: 'reset', keepTokens: false });
  }

  /** Throws 400 for what is no address. */
  checkEmail(email: string): void {
    if (!EMAIL.test(email)) throw new InvalidInput([{ field: 'email', message: 'is not an e-mail address' }]);
  }

  async setEmail(id: string, email: string, by?: string): Promise<void> {
    this.checkEmail(email);
    await this.#unique(
      () => [{ field: 'email', message: 'is in use by another member' }],
      () =>
        this.#change(id, async (account, em) => {
          const { email: before } = account;
          if (before === email) return;
          account.email = email;
          await em.flush();
          await this.#options.emit(emailChanged, { id, by });
          await this.#notify('email', account, before);
        }),
    );
  }

  async setStatus(id: string, status: AccountStatus, by?: string): Promise<void> {
    await this.#change(id, async (account) => {
      const { status: from } = account;
      if (from === status) return;
      Object.assign(account, { status, permissionsVersion: account.permissionsVersion + 1 });
      await this.#options.emit(statusChanged, { id, from, to: status, by });
    });
  }

  async anonymise(id: string): Promise<void> {
    await this.#change(id, (account) => {
      // Not made of the id: nobody may find out by trying whose account it was.
      const username = `deleted-${randomBytes(4).toString('hex')}`;
      Object.assign(account, {
        username,
        email: `${username}-${id}@deleted.invalid`,
        passwordHash: NO_PASSWORD,
        apiToken: null,
        apiTokenUsedAt: null,
        registrationIp: null,
        lastIp: null,
        lastLoginAt: null,
        bio: '',
        avatarUrl: null,
        groupId: 'member',
        lastSeenAt: null,
        status: 'disabled',
        permissionsVersion: account.permissionsVersion + 1,
      });
    });
  }

  async setBio(id: string, bio: string): Promise<void> {
    await this.#change(id, (account) => void (account.bio = bio));
  }

  async setAvatar(id: string, url: string | undefined): Promise<void> {
    await this.#change(id, (account) => void (account.avatarUrl = url ?? null));
  }

  async endSessions(id: string, by?: string, partOf?: string): Promise<void> {
    await this.#change(id, async (account) => {
      account.permissionsVersion += 1;
      await this.#options.emit(sessionsRevoked, { id, by, which: 'all' });
      await this.#revokeTokens(id, by);
      if (partOf === undefined && by !== id) await this.#notify('sessions', account, account.email);
    });
  }

  /** The member's own wish; the one session that shall go on is renewed by the caller. */
  async endOtherSessions(id: string): Promise<void> {
    await this.#change(id, async (account) => {
      account.permissionsVersion += 1;
      await this.#options.emit(sessionsRevoked, { id, by: id, which: 'others' });
    });
  }

  async networkAddresses(id: string, by: string): Promise<NetworkAddresses | undefined> {
    const row =
      isId(id) &&
      (await this.#options.data.one(sql<{ registration: string | null; lastLogin: string | null }>`
      select registration_ip as registration, last_ip as "lastLogin" from account where id = ${id}`));
    if (!row) return undefined;
    await this.#options.emit(addressesViewed, { ids: [id], by });
    return { registration: row.registration ?? undefined, lastLogin: row.lastLogin ?? undefined };
  }

  async loggedInSince(id: string, moment: Date): Promise<boolean> {
    return (
      (await this.#options.data.one(sql`select 1 from account where id = ${id} and last_login_at > ${moment}`)) !==
      undefined
    );
  }

  /** A session has begun: the address where it changed. */
  async recordLogin(id: string, ip: string): Promise<void> {
    const [now, address] = [new Date(this.#options.clock.now()), storedAddress(ip)];
    await this.#options.data.transaction((em) =>
      em.nativeUpdate(
        AccountEntity,
        { id },
        { lastSeenAt: now, lastLoginAt: now, ...(address !== null && { lastIp: address }) },
      ),
    );
  }

  /** The same password under a hash of the cost in force, unless it was changed meanwhile. No session ends. */
  async rehash(id: string, before: string, passwordHash: string): Promise<void> {
    await this.#options.data.transaction((em) =>
      em.nativeUpdate(AccountEntity, { id, passwordHash: before }, { passwordHash }),
    );
  }

  /** Not announced: nothing that is held shows it. */
  async seen(id: string): Promise<void> {
    await this.#options.data.transaction((em) =>
      em.nativeUpdate(AccountEntity, { id }, { lastSeenAt: new Date(this.#options.clock.now()) }),
    );
  }

  async importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]> {
    const { data, clock } = this.#options;
    const now = clock.now();
    const rows = accounts.map((account, index) => ({
      id: newId(now + index),
      username: account.username,
      email: account.email,
      password_hash: NO_PASSWORD,
      group_id: account.groupId ?? 'member',
      bio: account.bio ?? '',
      joined_at: account.joinedAt ?? new Date(now),
    }));
    for (const groupId of new Set(rows.map((row) => row.group_id))) this.#knownGroup(groupId);
    await this.#unique(
      () => [{ field: 'accounts', message: 'one of the names or addresses is taken' }],
      () =>
        data.transaction(async () => {
          for (let at = 0; at < rows.length; at += IMPORT_BATCH) {
            await data.all(sql`insert into account (id, username, email, password_hash, group_id, bio, joined_at)
          select id, username, email, password_hash, group_id, bio, joined_at
          from jsonb_to_recordset(${JSON.stringify(rows.slice(at, at + IMPORT_BATCH))}::jsonb)
          as row(id uuid, username text, email text, password_hash text, group_id text, bio text, joined_at timestamptz)`);
          }
        }),
    );
    await this.#options.cache.purge(accountsTag);
    return rows.map(({ id }) => id);
  }

  #knownGroup(groupId: string): void {
    if (!this.#options.access.group(groupId))
      throw new InvalidInput([{ field: 'group_id', message: `names no group: ${groupId}` }]);
  }

  async #newPassword(
    id: string,
    password: string,
    {
      by,
      what,
      keepTokens,
    }: { readonly by: string | undefined; readonly what: 'password' | 'reset'; readonly keepTokens: boolean },
  ): Promise<void> {
    const { passwords, emit } = this.#options;
    const owner = await this.find(id);
    const problems = passwords.problems(password, owner ? [owner.username, owner.email.split('@')[0]!] : []);
    if (problems.length > 0) throw new InvalidInput(problems);
    const passwordHash = await passwords.hash(password);
    await this.#change(id, async (account) => {
      const first = account.passwordHash === NO_PASSWORD;
      Object.assign(account, { passwordHash, permissionsVersion: account.permissionsVersion + 1 });
      await emit(passwordChanged, { id, by });
      if (!keepTokens) await this.#revokeTokens(id, by);
      if (!first) await this.#notify(what, account, account.email, keepTokens);
    });
  }

  async #change(id: string, change: (account: LoadedAccount, em: EntityManager) => unknown): Promise<void> {
    await this.#options.data.transaction(async (em) => {
      const account = isId(id) ? await locked(em, id) : null;
      if (!account) throw notFound('There is no such member');
      await change(account, em);
      await em.flush();
      await this.#options.emit(userChanged, { id });
    });
  }

  async #revokeTokens(id: string, by: string | undefined): Promise<void> {
    for (const store of this.#options.tokenStores()) await store.revokeAll(id, by);
  }

  async #notify(what: AccountChange, stored: LoadedAccount, to: string, tokensKept = false): Promise<void> {
    const { id, username, email, groupId, bio, avatarUrl = null, status, permissionsVersion, joinedAt } = stored;
    const account: Account = { id, username, email, groupId, bio, avatarUrl, status, permissionsVersion, joinedAt };
    for (const notice of this.#options.notices()) await notice.changed(what, account, to, tokensKept);
  }

  /** Which of the two another member has. */
  async taken({ username, email }: { username: string; email: string }): Promise<readonly FieldProblem[]> {
    const [row] = await this.#options.data.all(sql<{ name: boolean; mail: boolean }>`
      select exists(select 1 from account where username = ${username}::text::citext) as name,
      exists(select 1 from account where email = ${email}::text::citext) as mail`);
    return [
      ...(row?.name ? [{ field: 'username', message: 'is taken' }] : []),
      ...(row?.mail ? [{ field: 'email', message: 'is in use by another member' }] : []),
    ];
  }

  /** Two at the same moment: the database refuses the second, and it is told the same as always. */
  async #unique(
    problems: () => readonly FieldProblem[] | Promise<readonly FieldProblem[]>,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      if ((error as { code?: string }).code !== '23505') throw error;
      throw new InvalidInput(await problems());
    }
  }
}

type LoadedAccount = NonNullable<Awaited<ReturnType<typeof locked>>>;

/** The row, locked until the transaction ends, so that two changes at once both count. */
async function locked(em: EntityManager, id: string) {
  await em.execute('select 1 from account where id = ? for update', [id]);
  return em.findOne(AccountEntity, { id }, { refresh: true });
}
