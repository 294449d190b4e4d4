import { sql, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { badCursor, decodeCursor, decodeMoment, encodeCursor, type Page } from 'parley-forum/plugins/api';
import type { ReadablePosts } from 'parley-forum/plugins/discussions';
import type { DraftFields } from 'parley-forum/plugins/drafts';

/** A draft as stored. */
export interface Draft {
  readonly key: string;
  readonly fields: DraftFields;
  readonly updatedAt: Date;
}
/** A stored draft without its contents. */
export interface KeptDraft {
  readonly key: string;
  readonly updatedAt: Date;
  /** The post that the draft edits, if it is in one of the given discussions. */
  readonly postId: string | null;
  readonly number: number | null;
  readonly discussionId: string | null;
}
export interface ListRequest {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
  /** Maximum bytes of all drafts of the page together; the first one may exceed it. */
  readonly bytes?: number | undefined;
}
/** The maximum number of drafts of a member, and their bytes in total. */
export interface Limits {
  readonly most: number;
  readonly bytes: number;
}
/** The texts of a discussion that was sent. */
interface Sent {
  readonly title: string;
  readonly content: string;
}
interface Conditions extends Limits {
  /** When the draft to be replaced was written, null for none; undefined replaces any. */
  readonly replaces: Date | null | undefined;
}

const COLUMNS = sql<Draft>`key, fields, updated_at as "updatedAt"`;
/** Keys of drafts of new discussions. */
const NEW = sql`(key = 'new' or key like 'new-%')`;
const DAY = 86_400_000;
const words = (text: RawBuilder<unknown>): RawBuilder<unknown> => sql`btrim(regexp_replace(${text}, '\\s+', ' ', 'g'))`;
/** Whether a field equals what was sent, whatever white space is between the words. */
const same = (field: 'title' | 'content', sent: string): RawBuilder<unknown> =>
  sql`${words(sql`fields->>${field}::text`)} = ${words(sql`${sent}::text`)}`;

/** The table of drafts, with one row for each member and form. */
export class DraftStore {
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ data, clock }: { readonly data: Data; readonly clock: Clock }) {
    this.#data = data;
    this.#clock = clock;
  }

  find(userId: string, key: string): Promise<Draft | undefined> {
    return this.#data.one(sql<Draft>`select ${COLUMNS} from draft where user_id = ${userId} and key = ${key}`);
  }

  /**
   * Those of the keys that have drafts, and the drafts that edit posts of these discussions among `posts`, newest
   * first. Runs one statement.
   */
  kept(
    userId: string,
    keys: readonly string[],
    { discussionIds, posts }: { readonly discussionIds: readonly string[]; readonly posts: ReadablePosts },
  ): Promise<readonly KeptDraft[]> {
    // Only the keys of edits contain an id.
    const postId = sql`case when d.key like 'edit-%' then substr(d.key, 6)::uuid end`;
    return this.#data.all(sql<KeptDraft>`select d.key, d.updated_at as "updatedAt",
        p.id as "postId", p.number, p.discussion_id as "discussionId"
      from draft d left join (${posts}) p on p.id = ${postId} and p.discussion_id = any(${discussionIds}::uuid[])
      where d.user_id = ${userId} and (d.key = any(${keys}::text[]) or p.id is not null)
      order by d.updated_at desc, d.key desc`);
  }

  /** Lists drafts, newest first. */
  async list(userId: string, { limit, offset = 0, cursor, bytes }: ListRequest): Promise<Page<Draft>> {
    const after = cursor === undefined ? sql`` : sql`and (updated_at, key) < ${positionOf(cursor)}`;
    const rows = await this.#data.all(sql<Draft & { readonly found: number }>`select ${COLUMNS}, found::integer from (
      select *, row_number() over w as place, sum(bytes) over w as reached, count(*) over () as found from (
        select * from draft where user_id = ${userId} ${after} order by updated_at desc, key desc
          limit ${limit + 1} offset ${offset}
      ) asked window w as (order by updated_at desc, key desc)
    ) weighed where place <= ${limit} and (place = 1 or reached <= ${bytes ?? Infinity}::float8) order by place`);
    const items = rows.map(({ key, fields, updatedAt }) => ({ key, fields, updatedAt }));
    const last = items.at(-1);
    const hasMore = last !== undefined && rows.length < rows[0]!.found;
    const nextCursor = hasMore ? encodeCursor([last.updatedAt.getTime(), last.key]) : undefined;
    return { items, hasMore, nextCursor };
  }

  /** The keys of all drafts of new discussions, newest first. */
  async newKeys(userId: string): Promise<readonly string[]> {
    const rows = await this.#data.all(sql<{ key: string }>`select key from draft
      where user_id = ${userId} and ${NEW} order by updated_at desc, key desc`);
    return rows.map(({ key }) => key);
  }

  async count(userId: string): Promise<number> {
    const row = await this.#data.one(
      sql<{ count: number }>`select count(*)::integer as count from draft where user_id = ${userId}`,
    );
    return row!.count;
  }

  /**
   * Must be called inside a transaction. Undefined if the member would exceed their limits, or if the draft has been
   * changed in the meantime.
   */
  async put(
    userId: string,
    key: string,
    fields: DraftFields,
    { most, bytes, replaces }: Conditions,
  ): Promise<Draft | undefined> {
    await this.#data.lock(`drafts:${userId}`);
    const json = JSON.stringify(fields);
    const size = Buffer.byteLength(json);
    const own = sql`from draft where user_id = ${userId}`;
    const unchanged =
      replaces === undefined
        ? sql`true`
        : sql`(select updated_at ${own} and key = ${key}) is not distinct from ${replaces}::timestamptz`;
    return this.#data.one(sql<Draft>`insert into draft (user_id, key, fields, bytes, updated_at)
      select ${userId}::uuid, ${key}::text, ${json}::jsonb, ${size}::integer,
        ${new Date(this.#clock.now())}::timestamptz
      where ${unchanged} and (select count(*) < ${most} and coalesce(sum(bytes), 0) + ${size} <= ${bytes} ${own} and key <> ${key})
      on conflict (user_id, key) do update set fields = excluded.fields, bytes = excluded.bytes,
        updated_at = excluded.updated_at
      returning ${COLUMNS}`);
  }

  /** Resolves to the number of drafts removed. */
  async remove(userId: string, keys: readonly string[]): Promise<number> {
    const rows = await this.#data.all(
      sql`delete from draft where user_id = ${userId} and key = any(${keys}::text[]) returning key`,
    );
    return rows.length;
  }

  /**
   * Removes drafts whose text equals what was sent: a different one under the same key was written elsewhere, and
   * stays.
   */
  async removeSent(userId: string, keys: readonly string[], content: string): Promise<void> {
    await this.#data.all(sql`delete from draft where user_id = ${userId} and key = any(${keys}::text[])
      and ${same('content', content)}`);
  }

  /**
   * Removes the draft of a discussion that was sent. Plugins may change its text on the way, so the title is enough
   * where only one draft has it.
   */
  async removeSentDiscussion(userId: string, { title, content }: Sent): Promise<void> {
    await this.#data.all(sql`with titled as (
        select key, count(*) over () as titled, coalesce(${same('content', content)}, false) as whole from draft
        where user_id = ${userId} and ${NEW} and ${same('title', title)}
      )
      delete from draft where user_id = ${userId}
        and key in (select key from titled where whole or titled = 1)`);
  }

  /**
   * Moves drafts of replies to a merged discussion to the one it was merged into, appended to what their writers had
   * begun there already. Query parameters of the form's URL are dropped, because they name posts by numbers that now
   * belong to others.
   */
  async moveReplies(from: string, to: string): Promise<void> {
    const contents = sql`concat_ws(E'\\n\\n', d.fields->>'content', excluded.fields->>'content')`;
    await this.#data.all(sql`
      with gone as (
        delete from draft where key = ${`reply-${from}`} returning *
      )
      insert into draft as d (user_id, key, fields, bytes, updated_at)
      select user_id, ${`reply-${to}`}::text,
        (select coalesce(jsonb_object_agg(f.key, f.value), '{}') from jsonb_each(gone.fields) f where f.key not like '?%'),
        bytes, updated_at
      from gone order by user_id
      on conflict (user_id, key) do update set bytes = d.bytes + excluded.bytes,
        fields = d.fields || jsonb_build_object('content', ${contents}), updated_at = ${new Date(this.#clock.now())}`);
  }

  /** Removes up to `limit` drafts that were not changed for so many days; resolves to how many were removed. */
  async removeOld(days: number, limit: number): Promise<number> {
    const before = new Date(this.#clock.now() - days * DAY);
    const rows = await this.#data.all(sql`delete from draft where (user_id, key) in (
      select user_id, key from draft where updated_at < ${before} order by updated_at limit ${limit}) returning key`);
    return rows.length;
  }
}

function positionOf(cursor: string): RawBuilder<unknown> {
  const [time, key] = decodeCursor(cursor, 2);
  if (typeof key !== 'string') throw badCursor();
  return sql`(${decodeMoment(time)}::timestamptz, ${key}::text)`;
}
