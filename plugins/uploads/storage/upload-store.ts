import { createId, HttpError, notFound, sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { decodeId, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { Purpose } from 'parley-forum/plugins/uploads';
import type { FileStorage } from './file-storage.ts';
import { megabytes } from '../processing/multipart-reader.ts';
import type { ProcessedFile } from '../processing/upload-processor.ts';

/** An upload as it is stored. */
export interface Upload {
  readonly id: string;
  readonly accountId: string;
  readonly purpose: Purpose;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly width: number | null;
  readonly height: number | null;
  /** Widths of the smaller copies in pixels, the smallest first. */
  readonly widths: readonly number[];
  readonly createdAt: Date;
}
export interface PictureSizes extends Pick<Upload, 'id' | 'name' | 'widths'> {
  readonly width: number;
  readonly height: number;
}
export interface Quota {
  readonly files: number;
  readonly bytes: number;
}
interface UploadStoreDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly files: FileStorage;
  /** The quota per member. */
  quota(): Quota;
}
const COLUMNS = sql.raw(
  'id, account_id as "accountId", purpose, name, type, size, width, height, widths, created_at as "createdAt"',
);
/** Cache tag of one upload; purged when it is removed. */
const tagOf = (id: string): string => `upload:${id}`;

const DAY = 24 * 3_600_000;

/** The uploads and their owners. */
export class UploadStore {
  readonly #deps: UploadStoreDeps;

  constructor(deps: UploadStoreDeps) {
    this.#deps = deps;
  }

  /**
   * Adds the row and moves the file to its place, or does neither. Throws 409 if a file for posts would exceed the
   * member's quota.
   */
  async add(
    accountId: string,
    purpose: Purpose,
    { path, name, type, size, width, height, copies = [] }: ProcessedFile,
  ): Promise<Upload> {
    const { data, clock, files, quota } = this.#deps;
    const quotaLimit = quota();
    let moved: string | undefined;
    try {
      // Exclusive, so that the quota is counted correctly and the avatar with the greatest id is the latest.
      return await this.exclusively(accountId, async () => {
        const now = clock.now();
        const id = createId(now);
        const room =
          purpose === 'avatar'
            ? sql`true`
            : sql`(select count(*) < ${quotaLimit.files}::bigint
              and coalesce(sum(size), 0) + ${size}::bigint <= ${quotaLimit.bytes}::bigint
          from upload where account_id = ${accountId} and purpose = 'post')`;
        const row = await data.one(sql<Upload>`
          insert into upload (id, account_id, purpose, name, type, size, width, height, widths, created_at,
              unused_since)
          select ${id}::uuid, ${accountId}::uuid, ${purpose}::text, ${name}::text, ${type}::text, ${size}::integer,
            ${width ?? null}::integer, ${height ?? null}::integer, ${copies.map((copy) => copy.width)}::smallint[],
            ${new Date(now)}::timestamptz, ${purpose === 'post' ? new Date(now) : null}::timestamptz
          where ${room} returning ${COLUMNS}`);
        if (!row)
          throw new HttpError(
            409,
            `You may have ${quotaLimit.files} files, ${megabytes(quotaLimit.bytes)} in total; delete some under Settings → Files first`,
          );
        moved = id;
        await files.store(id, path);
        for (const copy of copies) await files.store(id, copy.path, copy.width);
        return row;
      });
    } catch (error) {
      if (moved !== undefined) await files.remove([moved]);
      throw error;
    }
  }

  /** Runs `work` in a transaction that excludes other changes of the member's files and picture. */
  exclusively<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const { data } = this.#deps;
    return data.transaction(async () => {
      await data.lock(`uploads:${accountId}`);
      return work();
    });
  }

  /** Cached in memory; `undefined` also for a malformed id. */
  async find(id: string): Promise<Upload | undefined> {
    if (!isId(id)) return undefined;
    const { data, cache } = this.#deps;
    const key = tagOf(id.toLowerCase());
    const cached = cache.peek<Upload>(key);
    if (cached) return cached;
    const since = cache.version();
    const row = await data.one(sql<Upload>`select ${COLUMNS} from upload where id = ${id}`);
    // Missing ids are not cached, since requests with made-up ids would fill the cache.
    if (row) cache.set(key, [key], row, since);
    return row;
  }

  /** A member's uploads for posts, the newest first. */
  async list(
    accountId: string,
    {
      limit,
      offset = 0,
      cursor,
    }: { readonly limit: number; readonly offset?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<Page<Upload>> {
    const before = cursor === undefined ? undefined : decodeId(cursor);
    const rows = await this.#deps.data.all(sql<Upload>`
      select ${COLUMNS} from upload
        where account_id = ${accountId} and purpose = 'post'${before === undefined ? sql`` : sql` and id < ${before}::uuid`}
      order by id desc limit ${limit + 1} offset ${offset}`);
    return pageOfRows(rows, limit, ({ id }) => [id]);
  }

  /** How much of the quota a member's uploads for posts use. */
  async used(accountId: string): Promise<Quota> {
    const row = await this.#deps.data.one(sql<Quota>`
      select count(*)::int as files, coalesce(sum(size), 0)::bigint as bytes from upload
      where account_id = ${accountId} and purpose = 'post'`);
    return row!;
  }

  /** Throws 404 if it was deleted in the meantime. `also` runs in the same transaction. */
  async remove({ id }: Upload, also: () => Promise<void>): Promise<void> {
    const gone = await this.removeWhere(sql`id = ${id}`, also);
    if (gone.length === 0) throw notFound('There is no such file');
  }

  /**
   * Resolves to the ids of the removed uploads. Rows are deleted first and files after the commit: a file without a row
   * is cleaned up later, while a row without a file would be a dead link.
   */
  async removeWhere(condition: RawBuilder<unknown>, also?: () => Promise<void>): Promise<readonly string[]> {
    const { data, cache, files } = this.#deps;
    return data.transaction(async () => {
      const rows = await data.all(sql<{ id: string }>`delete from upload where ${condition} returning id`);
      if (rows.length > 0) await also?.();
      const gone = rows.map(({ id }) => id);
      if (gone.length > 0) await cache.purge(...gone.map(tagOf));
      await data.afterCommit(() => files.remove(gone));
      return gone;
    });
  }

  /** Dimensions of the pictures among the ids, and the data for the URLs of their copies. One statement. */
  async sizes(ids: readonly string[]): Promise<ReadonlyMap<string, PictureSizes>> {
    const rows = await this.#deps.data.all(sql<PictureSizes>`
      select id, name, width, height, widths from upload where id = any(${ids}::uuid[]) and width is not null
        and height is not null`);
    return new Map(rows.map((sizes) => [sizes.id, sizes]));
  }

  /**
   * Keeps uploads that a text refers to from being removed as unused before the text can be stored. One statement,
   * which rarely has anything to update.
   */
  async renew(ids: readonly string[]): Promise<void> {
    const now = this.#deps.clock.now();
    await this.#deps.data.all(sql`update upload set unused_since = ${new Date(now)}
      where id = any(${ids}::uuid[]) and unused_since < ${new Date(now - DAY)}`);
  }

  /** The ids that exist. One statement. */
  async known(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(
      sql<{ id: string }>`select id from upload where id = any(${ids.filter(isId)}::uuid[])`,
    );
    return new Set(rows.map(({ id }) => id));
  }
}
