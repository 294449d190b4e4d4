import { isId, type Page } from 'parley-forum/plugins/api';
import { randomBytes } from 'node:crypto';
import { domainToASCII } from 'node:url';
import {
  createId,
  InvalidInput,
  notFound,
  sql,
  type Cache,
  type Clock,
  type Data,
  type EntityManager,
  type Extension,
  type FieldProblem,
  type PluginHandle,
} from 'parley-forum';
import { isStaff, type Access, type Viewer } from 'parley-forum/plugins/access';
import {
  accountsTag,
  accountTag,
  ipAddressesViewed,
  emailChanged,
  groupChanged,
  isPlainLine,
  passwordChanged,
  sessionsRevoked,
  statusChanged,
  timezoneNamed,
  userChanged,
  userRegistered,
  type Account,
  type AccountChange,
  type AccountChangeListener,
  type Accounts,
  type AccountStatus,
  type Author,
  type ImportedAccount,
  type IpAddresses,
  type MemberListRequest,
  type NewAccount,
  type PasswordPolicy,
  type ProfileChanges,
  type LocaleSettings,
  type LocaleChanges,
  type EmailConfirmation,
  type LoginMethod,
  type UserRecord,
  type StaffRequirement,
  type TokenStore,
} from 'parley-forum/plugins/accounts';
import { AccountEntity } from './entity.ts';

import type { Passwords } from '../passwords/passwords.ts';
import type { UserRecords } from '../profiles/user-records.ts';
import { AccountLoader } from './account-loader.ts';
import { listMembers } from './member-list.ts';
import { fittingName, foldedName, NAME_OF_ANOTHER, nameColumns, OFFICIAL_NAME } from './display-names.ts';
import { namesLike } from './name-search.ts';
import { RESERVED, soundsOfficial } from './reserved-names.ts';
import { fittedUsername, freeUsername, USERNAME } from './usernames.ts';

const EMAIL = /^[^\s@<>()"\\,;:]{1,64}@(?=.{3,190}$)[^\s@<>()"\\,;:]+\.[^\s@<>()"\\,;:.]{2,}$/;
/**
 * Accepts only one spelling of each mailbox. Invisible characters are dropped on the way and a domain has many
 * spellings, so otherwise one person could be sent mail under any number of addresses. Domains in other scripts must be
 * in the form that browsers and mail servers send: `xn--bcher-kva.example`.
 */
function isEmail(text: string): boolean {
  const domain = text.slice(text.lastIndexOf('@') + 1).toLowerCase();
  return EMAIL.test(text) && isPlainLine(text) && domainToASCII(domain) === domain;
}
const NO_NAMES: ReadonlySet<string> = new Set();
/** Represents an unknown address; never stored. */
const UNKNOWN_IP = '0.0.0.0';

const COLUMNS = sql`id, username::text as username, email::text as email, group_id as "groupId",
  display_name as "displayName", bio, avatar_url as "avatarUrl", language, timezone, status,
  permissions_version as "permissionsVersion", joined_at as "joinedAt"`;

/** Stored in place of a hash; no password matches it. */
const NO_PASSWORD = '!';

/** The data for checking a login. Never cached. */
export interface Credentials {
  readonly account: Account;
  readonly passwordHash: string;
}

/** Number of rows per statement of an import. */
const IMPORT_BATCH = 2_000;

export interface AccountsDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly access: Access;
  readonly clock: Clock;
  readonly passwords: Passwords;
  readonly users: UserRecords;
  readonly record: Accounts['record'];
  siteName(): string;
  languageOffered(language: string): Promise<boolean>;
  /** `user.changed` purges the cached account before the transaction resolves. */
  readonly emit: PluginHandle['emit'];
  changeListeners(): readonly Extension<AccountChangeListener>[];
  /** How e-mail addresses are confirmed; undefined if confirmation is not required. */
  confirmation(): EmailConfirmation | undefined;
  tokenStores(): readonly Extension<TokenStore>[];
  readonly run: PluginHandle['run'];
  loginMethods(): readonly LoginMethod[];
  staffRequirements(): readonly StaffRequirement[];
}

/** A client's IP address as stored; `null` for the address that means "unknown". */
const storedIp = (ip: string | undefined): string | null =>
  ip === undefined || ip === '' || ip === UNKNOWN_IP ? null : ip;

/** Reads and changes accounts. */
export class AccountsService implements Accounts {
  readonly #deps: AccountsDeps;
  readonly #loader: AccountLoader;

  constructor(deps: AccountsDeps) {
    this.#deps = deps;
    const { cache, data } = deps;
    const load = (ids: readonly string[]) =>
      data.all(sql<Account>`select ${COLUMNS} from account where id = any(${ids}::uuid[]) order by id`);
    this.#loader = new AccountLoader({ cache, data, load });
  }

  find(id: string): Promise<Account | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    const key = accountTag(id);
    const cached = this.#deps.cache.peek<Account>(key);
    return cached ? Promise.resolve(cached) : this.#deps.cache.remember(key, [key], () => this.#load(id));
  }

  async findByIdentifier(identifier: string): Promise<Account | undefined> {
    return this.#deps.data.one(sql<Account>`select ${COLUMNS} from account where ${this.#identifies(identifier)}`);
  }

  async viewers(ids: readonly string[]): Promise<ReadonlyMap<string, Viewer>> {
    const { data, access } = this.#deps;
    await access.refresh();
    const rows = await data.all(sql<{ id: string; username: string; groupId: string }>`
      select id, username::text as username, group_id as "groupId" from account
      where id = any(${ids.filter(isId)}::uuid[]) and status = 'active'`);
    return new Map(await Promise.all(rows.map(async (row) => [row.id, await this.viewerOf(row)] as const)));
  }

  /** The viewer that an active account is now: staff who do not meet a requirement act as members. */
  async viewerOf({ id, username, groupId }: Pick<Account, 'id' | 'username' | 'groupId'>): Promise<Viewer> {
    const { access, staffRequirements } = this.#deps;
    const viewer = { id, username, group: access.group(groupId) ?? access.groupOf('guest') };
    if (!isStaff(viewer)) return viewer;
    for (const { unmet, code, message, path } of staffRequirements()) {
      if (await unmet(id)) return { ...viewer, group: access.groupOf('member'), requirement: { code, message, path } };
    }
    return viewer;
  }

  async ableToLogIn(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const known = ids.filter(isId);
    const methods = await Promise.all(this.#deps.loginMethods().map((method) => method.available(known)));
    const rows = await this.#deps.data.all(sql<{ id: string; password: boolean }>`
      select id, password_hash <> ${NO_PASSWORD} as password from account
      where id = any(${known}::uuid[]) and status = 'active'`);
    const able = rows.filter(({ id, password }) => password || methods.some((accounts) => accounts.has(id)));
    return new Set(able.map(({ id }) => id));
  }

  async withPassword(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(sql<{ id: string }>`
      select id from account where id = any(${ids.filter(isId)}::uuid[]) and password_hash <> ${NO_PASSWORD}`);
    return new Set(rows.map(({ id }) => id));
  }

  async emails(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#deps.data.all(sql<{ id: string; email: string }>`
      select id, email::text as email from account where id = any(${ids.filter(isId)}::uuid[]) and status = 'active'`);
    // Otherwise one could sign up with someone else's address and have the forum send them mail.
    const unconfirmed = await this.#deps.confirmation()?.unconfirmed?.(rows.map(({ id }) => id));
    return new Map(rows.filter(({ id }) => !unconfirmed?.has(id)).map(({ id, email }) => [id, email]));
  }

  async idsByUsername(usernames: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#deps.data.all(sql<{ id: string; name: string }>`
      select id, lower(username::text) as name from account where username = any(${usernames}::text[]::citext[])
        and status = 'active'`);
    return new Map(rows.map(({ id, name }) => [name, id]));
  }

  async freeUsername(name: string, besides: ReadonlySet<string> = NO_NAMES): Promise<string | undefined> {
    const fitted = fittedUsername(name);
    if (fitted === undefined) return undefined;
    return freeUsername(
      fitted,
      async (usernames) => new Set([...RESERVED, ...(await this.#usernamesAmong(usernames)), ...besides]),
    );
  }

  async authors(ids: readonly string[]): Promise<ReadonlyMap<string, Author>> {
    return new Map(
      [...(await this.#loader.many(ids))].map(([id, { username, displayName, avatarUrl }]) => [
        id,
        { id, username, display_name: displayName, avatar_url: avatarUrl },
      ]),
    );
  }

  async search({
    text,
    namesOnly = false,
    groupId,
    limit,
    offset,
  }: Parameters<Accounts['search']>[0]): ReturnType<Accounts['search']> {
    const pattern = `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
    const byAddress = namesOnly ? sql`` : sql` or lower(email::text) like ${pattern}`;
    const where = sql`(lower(username::text) like ${pattern}${byAddress})
      and (${groupId ?? null}::text is null or group_id::text = ${groupId ?? null}::text)`;
    const [accounts, counted] = await Promise.all([
      this.#deps.data.all(
        sql<Account>`select ${COLUMNS} from account
          where ${where} order by lower(username::text), id limit ${limit} offset ${offset}`,
      ),
      this.#deps.data.one(sql<{ total: number }>`select count(*)::int as total from account where ${where}`),
    ]);
    return { accounts, total: counted?.total ?? 0 };
  }

  async searchNames({ text, limit, offset }: Parameters<Accounts['searchNames']>[0]): Promise<readonly Account[]> {
    const { matches, order } = namesLike(text, offset + limit);
    return this.#deps.data.all(
      sql<Account>`select ${COLUMNS} from account
        where ${matches} and status = 'active' order by ${order} limit ${limit} offset ${offset}`,
    );
  }

  get record(): Accounts['record'] {
    return this.#deps.record;
  }

  records(ids: readonly string[], viewer: Viewer): Promise<readonly UserRecord[]> {
    return this.#deps.users.many(ids.filter(isId), viewer);
  }

  list(request: MemberListRequest): Promise<Page<string>> {
    const { data, users } = this.#deps;
    return listMembers(data, request, (account) => users.hiding(account));
  }

  /** The data to check a login against. Always queries the database. */
  async credentials(identifier: string): Promise<Credentials | undefined> {
    const row = await this.#deps.data.one(sql<Account & { passwordHash: string }>`
      select ${COLUMNS}, password_hash as "passwordHash" from account where ${this.#identifies(identifier)}`);
    if (!row) return undefined;
    const { passwordHash, ...account } = row;
    return { account, passwordHash };
  }

  #load(id: string): Promise<Account | undefined> {
    return this.#deps.data.one(sql<Account>`select ${COLUMNS} from account where id = ${id}`);
  }

  /** Usernames never contain "@", so the identifier is either a username or an e-mail address. */
  #identifies(identifier: string) {
    return identifier.includes('@')
      ? sql`email = ${identifier}::text::citext`
      : sql`username = ${identifier}::text::citext`;
  }

  get passwordPolicy(): PasswordPolicy {
    return this.#deps.passwords.policy;
  }

  /** Validation errors of a sign-up, except for names that are taken. */
  problems({
    username,
    email,
    password,
  }: Pick<NewAccount, 'username' | 'email' | 'password'>): readonly FieldProblem[] {
    return [
      ...(USERNAME.test(username)
        ? []
        : [{ field: 'username', message: 'must have 3 to 30 letters a–z, digits, "_", "-" or "."' }]),
      ...(isEmail(email) ? [] : [{ field: 'email', message: 'is not an e-mail address' }]),
      ...(password === undefined ? [] : this.#deps.passwords.problems(password, [username, email.split('@')[0] ?? ''])),
    ];
  }

  /** `stored` runs in the transaction that stores the account. */
  async create(
    { username, email, password, groupId = 'member', bio = '', joinedAt, language, ip, by }: NewAccount,
    stored?: EmailConfirmation['begin'],
  ): Promise<Account> {
    const problems = this.problems({ username, email, ...(password !== undefined && { password }) });
    if (problems.length > 0) throw new InvalidInput(problems);
    this.#checkGroup(groupId);
    await this.#checkLanguage(language);
    const now = this.#deps.clock.now();
    const passwordHash = password === undefined ? NO_PASSWORD : await this.#deps.passwords.hash(password);
    const address = storedIp(ip);
    const values = {
      id: createId(now),
      username,
      email,
      passwordHash,
      groupId,
      bio,
      language: language ?? null,
      joinedAt: joinedAt ?? new Date(now),
      registrationIp: address,
      lastIp: address,
    };
    await this.#withTakenNames(
      () => this.taken({ username, email }),
      () =>
        this.#deps.data.transaction(async (em) => {
          await this.#lockName(foldedName(username));
          const taken = await this.taken({ username, email });
          if (taken.length > 0) throw new InvalidInput(taken);
          em.persist(em.create(AccountEntity, values));
          await em.flush();
          await this.#deps.emit(userRegistered, {
            user: { id: values.id, username, joined_at: values.joinedAt.toISOString() },
            ...(by !== undefined && { by }),
          });
          await stored?.({ id: values.id, username, email });
        }),
    );
    return (await this.#load(values.id))!;
  }

  async setGroup(id: string, groupId: string, by?: string, partOf?: string, address?: string): Promise<void> {
    this.#checkGroup(groupId);
    await this.#update(id, async (account) => {
      const { groupId: from } = account;
      if (from === groupId) return;
      Object.assign(account, { groupId, permissionsVersion: account.permissionsVersion + 1 });
      await this.#deps.emit(groupChanged, { id, from, to: groupId, by, partOf, address });
    });
  }

  async setPassword(
    id: string,
    password: string,
    by?: string,
    { keepTokens = false }: { readonly keepTokens?: boolean } = {},
  ): Promise<void> {
    await this.#replacePassword(id, password, { by, what: 'password', keepTokens });
  }

  /** For a change by the owner; like `endOtherSessions`, resolves to the new `permissionsVersion`. */
  changePassword(
    id: string,
    password: string,
    kept: { readonly keepTokens: boolean; readonly session: string | undefined },
  ): Promise<number> {
    return this.#replacePassword(id, password, { by: id, what: 'password', ...kept });
  }

  async resetPassword(id: string, password: string): Promise<void> {
    await this.#replacePassword(id, password, { by: id, what: 'reset', keepTokens: false });
  }

  /** Throws 400 if the text is not a valid e-mail address. */
  checkEmail(email: string): void {
    if (!isEmail(email)) throw new InvalidInput([{ field: 'email', message: 'is not an e-mail address' }]);
  }

  async setEmail(id: string, email: string, by?: string): Promise<void> {
    this.checkEmail(email);
    await this.#withTakenNames(
      () => [{ field: 'email', message: 'is in use by another member' }],
      () =>
        this.#update(id, async (account, em) => {
          const { email: before } = account;
          if (before === email) return;
          account.email = email;
          await em.flush();
          await this.#deps.emit(emailChanged, { id, by });
          await this.#notifyListeners('email', account, before);
        }),
    );
  }

  async setStatus(id: string, status: AccountStatus, by?: string): Promise<void> {
    await this.#update(id, async (account) => {
      const { status: from } = account;
      if (from === status) return;
      Object.assign(account, { status, permissionsVersion: account.permissionsVersion + 1 });
      await this.#deps.emit(statusChanged, { id, from, to: status, by });
    });
  }

  async anonymise(id: string): Promise<void> {
    await this.#update(id, (account) => {
      // Not derived from the id, because trying ids would then reveal whose account it was.
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
        displayName: null,
        displayNameKey: null,
        bio: '',
        avatarUrl: null,
        language: null,
        timezone: null,
        groupId: 'member',
        lastSeenAt: null,
        status: 'disabled',
        permissionsVersion: account.permissionsVersion + 1,
      });
    });
  }

  async setProfile(id: string, { bio, displayName }: ProfileChanges): Promise<void> {
    const { display_name: name, display_name_key: key } = nameColumns(displayName ?? '');
    await this.#deps.data.transaction(async () => {
      if (key !== null) await this.#lockName(key);
      await this.#update(id, async (account) => {
        if (bio !== undefined) account.bio = bio.trim();
        if (displayName === undefined || name === account.displayName) return;
        if (name !== null && key !== null) await this.#checkName(name, key, account);
        Object.assign(account, { displayName: name, displayNameKey: key });
      });
    });
  }

  /** Whether a name is reserved for staff, and the group is not one of theirs. */
  #isOfficial(name: string, groupId: string): boolean {
    const { access, siteName } = this.#deps;
    const level = access.group(groupId)?.level;
    if (level === 'moderator' || level === 'admin') return false;
    return soundsOfficial(name, [siteName(), ...access.groups().map((group) => group.name)]);
  }

  /** Clears display names that `#checkName` would reject from accounts to be stored. One statement. */
  async #withoutNamesOfOthers<Row extends ReturnType<typeof nameColumns> & { username: string; group_id: string }>(
    rows: readonly Row[],
  ): Promise<readonly Row[]> {
    const keys = rows.flatMap(({ display_name_key: key }) => key ?? []);
    const found = await this.#usernamesAmong(keys);
    const own = rows.map(({ username }) => username.toLowerCase());
    const usernames = new Set([...found, ...own]);
    return rows.map((row, at) => {
      const { display_name: name, display_name_key: key } = row;
      if (name === null || key === null) return row;
      const another = usernames.has(key) && own[at] !== key;
      return another || this.#isOfficial(name, row.group_id) ? { ...row, ...nameColumns('') } : row;
    });
  }

  /** Those of the names, in lower case, that are usernames; inactive accounts keep theirs. */
  async #usernamesAmong(names: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#deps.data.all(sql<{ name: string }>`
      select lower(username::text) as name from account where username = any(${names}::text[]::citext[])`);
    return rows.map(({ name }) => name);
  }

  async #checkName(name: string, key: string, { id, groupId }: LoadedAccount): Promise<void> {
    if (await this.#isAnothersUsername(key, id)) throw new InvalidInput([NAME_OF_ANOTHER]);
    if (this.#isOfficial(name, groupId)) throw new InvalidInput([OFFICIAL_NAME]);
  }

  /**
   * Locks a name until the transaction ends, so that nobody else can take it as username or display name. Must be
   * called before any row is locked.
   */
  #lockName(key: string): Promise<void> {
    return this.#deps.data.lock(`accounts:name ${key}`);
  }

  async setLocale(id: string, { language, timezone }: LocaleChanges): Promise<void> {
    await this.#checkLanguage(language);
    const zone = typeof timezone === 'string' ? timezoneNamed(timezone) : timezone;
    if (typeof timezone === 'string' && zone === undefined)
      throw new InvalidInput([{ field: 'timezone', message: 'is not the name of a time zone' }]);
    await this.#update(id, (account) => {
      if (language !== undefined) account.language = language;
      if (zone !== undefined) account.timezone = zone;
    });
  }

  async #checkLanguage(language: string | null | undefined): Promise<void> {
    if (typeof language === 'string' && !(await this.#deps.languageOffered(language)))
      throw new InvalidInput([{ field: 'language', message: 'is not a language of this site' }]);
  }

  async localeSettings(ids: readonly string[]): Promise<ReadonlyMap<string, LocaleSettings>> {
    return this.#loader.many(ids);
  }

  async setAvatar(id: string, url: string | undefined): Promise<void> {
    await this.#update(id, (account) => void (account.avatarUrl = url ?? null));
  }

  async endSessions(id: string, by?: string, partOf?: string): Promise<void> {
    await this.#update(id, async (account) => {
      account.permissionsVersion += 1;
      await this.#deps.emit(sessionsRevoked, { id, by, which: 'all' });
      await this.#revokeTokens(id, by);
      if (partOf === undefined && by !== id) await this.#notifyListeners('sessions', account, account.email);
    });
  }

  /**
   * For a request by the owner. The caller renews the one session to keep (`kept`: its public id), with the
   * `permissionsVersion` that this resolves to.
   */
  endOtherSessions(id: string, kept?: string): Promise<number> {
    return this.#update(id, async (account) => {
      account.permissionsVersion += 1;
      await this.#deps.emit(sessionsRevoked, { id, by: id, which: 'others', session: kept });
      return account.permissionsVersion;
    });
  }

  async ipAddresses(id: string, by: string): Promise<IpAddresses | undefined> {
    const row =
      isId(id) &&
      (await this.#deps.data.one(sql<{ registration: string | null; lastLogin: string | null }>`
      select registration_ip as registration, last_ip as "lastLogin" from account where id = ${id}`));
    if (!row) return undefined;
    await this.#deps.emit(ipAddressesViewed, { ids: [id], by });
    return { registration: row.registration ?? undefined, lastLogin: row.lastLogin ?? undefined };
  }

  async loggedInSince(id: string, moment: Date): Promise<boolean> {
    return (
      (await this.#deps.data.one(sql`select 1 from account where id = ${id} and last_login_at > ${moment}`)) !==
      undefined
    );
  }

  /** Called when a session has started; records the IP address if it changed. */
  async recordLogin(id: string, ip: string): Promise<void> {
    const [now, address] = [new Date(this.#deps.clock.now()), storedIp(ip)];
    await this.#deps.data.transaction((em) =>
      em.nativeUpdate(
        AccountEntity,
        { id },
        { lastSeenAt: now, lastLoginAt: now, ...(address !== null && { lastIp: address }) },
      ),
    );
  }

  /**
   * Stores a hash of the same password with the current cost, unless the password has changed meanwhile. Sessions are
   * kept.
   */
  async rehash(id: string, before: string, passwordHash: string): Promise<void> {
    await this.#deps.data.transaction((em) =>
      em.nativeUpdate(AccountEntity, { id, passwordHash: before }, { passwordHash }),
    );
  }

  /** Emits no event, because no cached response shows it. */
  async recordSeen(id: string): Promise<void> {
    await this.#deps.data.transaction((em) =>
      em.nativeUpdate(AccountEntity, { id }, { lastSeenAt: new Date(this.#deps.clock.now()) }),
    );
  }

  async importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]> {
    const { data, clock } = this.#deps;
    const now = clock.now();
    const given = accounts.map((account, index) => ({
      id: createId(now + index),
      username: account.username,
      email: account.email,
      password_hash: NO_PASSWORD,
      group_id: account.groupId ?? 'member',
      ...nameColumns(fittingName(account.displayName ?? '')),
      bio: account.bio ?? '',
      joined_at: account.joinedAt ?? new Date(now),
    }));
    for (const groupId of new Set(given.map((row) => row.group_id))) this.#checkGroup(groupId);
    const rows = await this.#withoutNamesOfOthers(given);
    await this.#withTakenNames(
      () => [{ field: 'accounts', message: 'one of the names or addresses is taken' }],
      () =>
        data.transaction(async () => {
          for (let at = 0; at < rows.length; at += IMPORT_BATCH) {
            await data.all(sql`insert into account (id, username, email, password_hash, group_id, display_name,
              display_name_key, bio, joined_at)
          select id, username, email, password_hash, group_id, display_name, display_name_key, bio, joined_at
          from jsonb_to_recordset(${JSON.stringify(rows.slice(at, at + IMPORT_BATCH))}::jsonb)
          as row(id uuid, username text, email text, password_hash text, group_id text, display_name text, display_name_key text, bio text, joined_at timestamptz)`);
          }
        }),
    );
    await this.#deps.cache.purge(accountsTag);
    return rows.map(({ id }) => id);
  }

  #checkGroup(groupId: string): void {
    if (!this.#deps.access.group(groupId))
      throw new InvalidInput([{ field: 'group_id', message: `is not a group: ${groupId}` }]);
  }

  async #replacePassword(
    id: string,
    password: string,
    {
      by,
      what,
      keepTokens,
      session,
    }: {
      readonly by: string | undefined;
      readonly what: 'password' | 'reset';
      readonly keepTokens: boolean;
      readonly session?: string | undefined;
    },
  ): Promise<number> {
    const { passwords, emit } = this.#deps;
    const owner = await this.find(id);
    const problems = passwords.problems(password, owner ? [owner.username, owner.email.split('@')[0]!] : []);
    if (problems.length > 0) throw new InvalidInput(problems);
    const passwordHash = await passwords.hash(password);
    return this.#update(id, async (account) => {
      const first = account.passwordHash === NO_PASSWORD;
      Object.assign(account, { passwordHash, permissionsVersion: account.permissionsVersion + 1 });
      await emit(passwordChanged, { id, by, session });
      if (!keepTokens) await this.#revokeTokens(id, by);
      // The owner is notified even of a first password set in a session, because someone else may be using it.
      if (!first || by === id)
        await this.#notifyListeners(first && what === 'reset' ? 'first' : what, account, account.email, keepTokens);
      return account.permissionsVersion;
    });
  }

  #update<T>(id: string, change: (account: LoadedAccount, em: EntityManager) => T | Promise<T>): Promise<T> {
    return this.#deps.data.transaction(async (em) => {
      const account = isId(id) ? await locked(em, id) : null;
      if (!account) throw notFound('There is no such member');
      const result = await change(account, em);
      await em.flush();
      await this.#deps.emit(userChanged, { id });
      return result;
    });
  }

  async #revokeTokens(id: string, by: string | undefined): Promise<void> {
    const { run, tokenStores } = this.#deps;
    for (const { plugin, value } of tokenStores())
      await run(plugin, 'revocation of tokens', () => value.revokeAll(id, by));
  }

  async #notifyListeners(what: AccountChange, stored: LoadedAccount, to: string, tokensKept = false): Promise<void> {
    const { id, username, email, groupId, bio, status, permissionsVersion, joinedAt } = stored;
    const { displayName = null, avatarUrl = null, language = null, timezone = null } = stored;
    const chosen = { displayName, bio, avatarUrl, language, timezone };
    const account: Account = { id, username, email, groupId, ...chosen, status, permissionsVersion, joinedAt };
    const { run, changeListeners } = this.#deps;
    for (const { plugin, value } of changeListeners())
      await run(plugin, 'listener of account changes', () => value.changed(what, account, to, tokensKept));
  }

  async #isAnothersUsername(name: string, id: string): Promise<boolean> {
    const row = await this.#deps.data.one(
      sql`select 1 from account where username = ${name}::text::citext and id <> ${id}`,
    );
    return row !== undefined;
  }

  /**
   * Which of the two are taken by another member. Another member's display name is not available as a username either.
   */
  async taken({ username, email }: { username: string; email: string }): Promise<readonly FieldProblem[]> {
    const [row] = await this.#deps.data.all(sql<{ name: boolean; mail: boolean }>`
      select exists(select 1 from account where username = ${username}::text::citext)
        or exists(select 1 from account where display_name_key collate "C" = ${foldedName(username)}) as name,
      exists(select 1 from account where email = ${email}::text::citext) as mail`);
    return [
      ...(row?.name ? [{ field: 'username', message: 'is taken' }] : []),
      ...(row?.mail ? [{ field: 'email', message: 'is in use by another member' }] : []),
    ];
  }

  /** If two requests take a name at the same time, the database rejects the second, which gets the usual error. */
  async #withTakenNames(
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

/** Reads and locks the row until the transaction ends, so that no concurrent change is lost. */
async function locked(em: EntityManager, id: string) {
  await em.execute('select 1 from account where id = ? for update', [id]);
  return em.findOne(AccountEntity, { id }, { refresh: true });
}
