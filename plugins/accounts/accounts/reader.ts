import { sql, type Cache, type Data } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Account, type Accounts, type Author } from 'parley-forum/plugins/accounts';
import { isId } from '../identifiers.ts';
import { namesLike } from './username-search.ts';

const COLUMNS = sql`id, username::text as username, email::text as email, group_id as "groupId", bio, avatar_url as "avatarUrl", status,
  permissions_version as "permissionsVersion", joined_at as "joinedAt"`;

/** In place of a hash: no password fits it. */
export const NO_PASSWORD = '!';

/** What checking a login needs beside the account. Never held in memory. */
export interface Credentials {
  readonly account: Account;
  readonly passwordHash: string;
}

export interface ReaderParts {
  readonly data: Data;
  readonly cache: Cache;
  readonly access: Access;
}

/** What others ask about accounts. */
export class AccountReader {
  readonly #parts: ReaderParts;

  constructor(parts: ReaderParts) {
    this.#parts = parts;
  }

  find(id: string): Promise<Account | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    const key = accountTag(id);
    const held = this.#parts.cache.peek<Account>(key);
    return held ? Promise.resolve(held) : this.#parts.cache.remember(key, [key], () => this.load(id));
  }

  async findByName(identifier: string): Promise<Account | undefined> {
    return this.#parts.data.one(sql<Account>`select ${COLUMNS} from account where ${this.#named(identifier)}`);
  }

  async viewers(ids: readonly string[]): Promise<ReadonlyMap<string, Viewer>> {
    const { data, access } = this.#parts;
    await access.refresh();
    const rows = await data.all(sql<{ id: string; username: string; groupId: string }>`
      select id, username::text as username, group_id as "groupId" from account where id = any(${ids.filter(isId)}::uuid[]) and status = 'active'`);
    return new Map(
      rows.map(({ id, username, groupId }) => [
        id,
        { id, username, group: access.group(groupId) ?? access.groupOf('guest') },
      ]),
    );
  }

  async enterable(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#parts.data.all(sql<{ id: string }>`
      select id from account where id = any(${ids.filter(isId)}::uuid[]) and status = 'active' and password_hash <> ${NO_PASSWORD}`);
    return new Set(rows.map(({ id }) => id));
  }

  async addresses(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#parts.data.all(sql<{ id: string; email: string }>`
      select id, email::text as email from account where id = any(${ids.filter(isId)}::uuid[]) and status = 'active'`);
    return new Map(rows.map(({ id, email }) => [id, email]));
  }

  async named(usernames: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#parts.data.all(sql<{ id: string; name: string }>`
      select id, lower(username::text) as name from account where username = any(${usernames}::text[]::citext[]) and status = 'active'`);
    return new Map(rows.map(({ id, name }) => [name, id]));
  }

  async authors(ids: readonly string[]): Promise<ReadonlyMap<string, Author>> {
    const { cache, data } = this.#parts;
    const found = new Map<string, Account>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const held = cache.peek<Account>(accountTag(id));
      if (held) found.set(id, held);
      else if (isId(id)) missing.push(id);
    }
    if (missing.length > 0) {
      const since = cache.mark();
      for (const account of await data.all(
        sql<Account>`select ${COLUMNS} from account where id = any(${missing}::uuid[]) order by id`,
      )) {
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
      this.#parts.data.all(
        sql<Account>`select ${COLUMNS} from account where ${where} order by lower(username::text), id limit ${limit} offset ${offset}`,
      ),
      this.#parts.data.one(sql<{ total: number }>`select count(*)::int as total from account where ${where}`),
    ]);
    return { accounts, total: counted?.total ?? 0 };
  }

  async searchNames({ text, limit, offset }: Parameters<Accounts['searchNames']>[0]): Promise<readonly Account[]> {
    const { matches, order } = namesLike(text);
    return this.#parts.data.all(
      sql<Account>`select ${COLUMNS} from account where ${matches} order by ${order} limit ${limit} offset ${offset}`,
    );
  }

  /** What a login checks. Always asks the database. */
  async credentials(identifier: string): Promise<Credentials | undefined> {
    const row = await this.#parts.data.one(sql<Account & { passwordHash: string }>`
      select ${COLUMNS}, password_hash as "passwordHash" from account where ${this.#named(identifier)}`);
    if (!row) return undefined;
    const { passwordHash, ...account } = row;
    return { account, passwordHash };
  }

  protected load(id: string): Promise<Account | undefined> {
    return this.#parts.data.one(sql<Account>`select ${COLUMNS} from account where id = ${id}`);
  }

  /** Names hold no "@", so the identifier says which of the two it is. */
  #named(identifier: string) {
    return identifier.includes('@')
      ? sql`email = ${identifier}::text::citext`
      : sql`username = ${identifier}::text::citext`;
  }
}
