import { hash, randomBytes } from 'node:crypto';
import { createId, HttpError, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { TokenStore } from 'parley-forum/plugins/accounts';
import { isId } from 'parley-forum/plugins/api';
import { feedTokenMade, feedTokenRevoked, type FeedTokenRecord } from 'parley-forum/plugins/pro-feeds';

/** The maximum number of tokens per member. */
const MAX_TOKENS = 20;
/** The minimum number of milliseconds between two updates of when a token was last used. */
const USE_RECORD_INTERVAL = 60_000;
const TOKEN = /^feed_[A-Za-z0-9_-]{43}$/;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly category_ids: readonly string[] | null;
  readonly created_at: Date;
  readonly last_used_at: Date | null;
}
/** Category ids; undefined for all categories. */
type Scope = readonly string[] | undefined;
type CreatedToken = Readonly<{ id: string; token: string }>;
/** The owner of a token, and the categories it covers. */
type TokenOwner = Readonly<{ accountId: string; categoryIds: Scope }>;

/** Tokens that give access to feeds and nothing else. Only their hashes are stored. */
export class FeedTokens implements TokenStore {
  readonly #data: Data;
  readonly #clock: Clock;
  readonly #plugin: PluginHandle;

  constructor({ data, clock, plugin }: { readonly data: Data; readonly clock: Clock; readonly plugin: PluginHandle }) {
    this.#data = data;
    this.#clock = clock;
    this.#plugin = plugin;
  }

  /** Newest first. */
  async of(accountId: string): Promise<readonly FeedTokenRecord[]> {
    const rows = await this.#data.all(sql<Row>`
      select id, name, category_ids, created_at, last_used_at from feed_token
      where account_id = ${accountId} order by id desc`);
    return rows.map(({ category_ids: categoryIds, created_at: createdAt, last_used_at: lastUsedAt, ...row }) => ({
      ...row,
      category_ids: categoryIds ? [...categoryIds] : null,
      created_at: createdAt.toISOString(),
      last_used_at: lastUsedAt?.toISOString() ?? null,
    }));
  }

  /** Creates a token, which cannot be read again later. Throws 409 if the member has too many. */
  async create(
    accountId: string,
    { name, categoryIds }: { readonly name: string; readonly categoryIds: Scope },
  ): Promise<CreatedToken> {
    const now = this.#clock.now();
    const created = { id: createId(now), token: `feed_${randomBytes(32).toString('base64url')}` };
    await this.#data.transaction(async () => {
      // Serialized per member, so that the count is right.
      await this.#data.lock(`pro-feeds:${accountId}`);
      const row = await this.#data.one(sql`insert into feed_token (id, account_id, name, hash, category_ids, created_at)
        select ${created.id}::uuid, ${accountId}::uuid, ${name}, ${hash('sha256', created.token)},
          ${categoryIds ? JSON.stringify(categoryIds) : null}::jsonb,
          ${new Date(now)}::timestamptz
        where (select count(*) from feed_token where account_id = ${accountId}) < ${MAX_TOKENS} returning id`);
      if (!row) throw new HttpError(409, `You have ${MAX_TOKENS} feed addresses; revoke one first`);
      await this.#plugin.emit(feedTokenMade, { actor: accountId, id: created.id });
    });
    return created;
  }

  /** Resolves to false if the member has no such token. */
  async revoke(accountId: string, id: string): Promise<boolean> {
    if (!isId(id)) return false;
    return this.#data.transaction(async () => {
      const row = await this.#data.one(
        sql`delete from feed_token where id = ${id} and account_id = ${accountId} returning id`,
      );
      if (row) await this.#plugin.emit(feedTokenRevoked, { actor: accountId, id });
      return row !== undefined;
    });
  }

  async revokeAll(accountId: string, by: string | undefined): Promise<void> {
    await this.#data.transaction(async () => {
      const rows = await this.#data.all(
        sql<Pick<Row, 'id'>>`delete from feed_token where account_id = ${accountId} returning id`,
      );
      for (const { id } of rows) await this.#plugin.emit(feedTokenRevoked, { actor: by, id });
    });
  }

  /** Finds the owner of a token and records, to the minute, that it was used. */
  async find(token: string): Promise<TokenOwner | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const row = await this.#data.one(sql<
      Pick<Row, 'id' | 'category_ids' | 'last_used_at'> & { readonly account_id: string }
    >`
      select id, account_id, category_ids, last_used_at from feed_token where hash = ${hash('sha256', token)}`);
    if (!row) return undefined;
    const now = this.#clock.now();
    if (now - (row.last_used_at?.getTime() ?? 0) >= USE_RECORD_INTERVAL)
      await this.#data.all(sql`update feed_token set last_used_at = ${new Date(now)} where id = ${row.id}`);
    return { accountId: row.account_id, categoryIds: row.category_ids ?? undefined };
  }
}
