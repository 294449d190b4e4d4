import { createId, sql, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { Sort } from 'parley-forum/plugins/bookmarks';
import { COLUMNS, type Bookmark } from './rows.ts';
import { after, orderBy, sortKeys } from './sort-orders.ts';

/** The fields of a bookmark that its owner can change; undefined ones are kept. */
export interface BookmarkChanges {
  readonly note?: string | undefined;
  readonly remindAt?: Date | null | undefined;
}
/** Selects bookmarks of a member. */
export interface Selection {
  readonly userId: string;
  /** A select of `id`, `content` and `title` of the posts that the member may read. */
  readonly posts: RawBuilder<unknown>;
  /** Each must occur in the note, the title or the beginning of the text, ignoring case. */
  readonly words: readonly string[];
}
export interface ListRequest {
  readonly sort: Sort;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * The maximum number of characters searched per text, and of words searched for: thousands of long texts would take
 * seconds.
 */
const [MAX_SEARCHED, MAX_WORDS] = [5_000, 8];

/** The bookmark table: one row per member and post. */
export class BookmarkStore {
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ data, clock }: { data: Data; clock: Clock }) {
    this.#data = data;
    this.#clock = clock;
  }

  find(id: string, userId: string): Promise<Bookmark | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    return this.#data.one(
      sql<Bookmark>`select ${COLUMNS} from bookmark b where b.id = ${id} and b.user_id = ${userId}`,
    );
  }

  /** The member's own bookmarks of these posts. */
  ofPosts(userId: string, postIds: readonly string[]): Promise<readonly Bookmark[]> {
    return this.#data.all(sql<Bookmark>`select ${COLUMNS} from bookmark b
      where b.user_id = ${userId} and b.post_id = any(${postIds}::uuid[])`);
  }

  async list(selection: Selection, { sort, limit, offset = 0, cursor }: ListRequest): Promise<Page<Bookmark>> {
    const rows = await this.#data.all(sql<Bookmark>`select ${COLUMNS} from ${chosen(selection)}
      ${cursor === undefined ? sql`` : sql`and ${after(sort, cursor)}`}
      order by ${orderBy(sort)} limit ${limit + 1} offset ${offset}`);
    return pageOfRows(rows, limit, (last) => sortKeys(sort, last));
  }

  async count(selection: Selection): Promise<number> {
    const row = await this.#data.one(
      sql<{ count: number }>`select count(*)::integer as count from ${chosen(selection)}`,
    );
    return row!.count;
  }

  /**
   * Must be called in a transaction. An existing bookmark is kept and gets the given changes. Undefined if the member
   * already has `most` other bookmarks.
   */
  async add(
    userId: string,
    postId: string,
    { note, remindAt }: BookmarkChanges,
    most: number,
  ): Promise<Bookmark | undefined> {
    await this.#data.lock(`bookmarks:${userId}`);
    const now = new Date(this.#clock.now());
    return this.#data.one(sql<Bookmark>`insert into bookmark as b (id, user_id, post_id, note, remind_at, created_at)
      select ${createId(now.getTime())}::uuid, ${userId}::uuid, ${postId}::uuid, ${note ?? ''},
        ${remindAt ?? null}::timestamptz, ${now}::timestamptz
      where (select count(*) from bookmark where user_id = ${userId} and post_id <> ${postId}) < ${most}
      on conflict (user_id, post_id) do update set ${changed({ note, remindAt })} returning ${COLUMNS}`);
  }

  change(id: string, changes: BookmarkChanges): Promise<Bookmark | undefined> {
    return this.#data.one(
      sql<Bookmark>`update bookmark b set ${changed(changes)} where b.id = ${id} returning ${COLUMNS}`,
    );
  }

  /** Resolves to the ids of those that belonged to the member. */
  remove(userId: string, ids: readonly string[]): Promise<readonly string[]> {
    return this.#remove(sql`user_id = ${userId} and id = any(${ids.filter(isId)}::uuid[])`);
  }

  removeFrom(userId: string, postId: string): Promise<readonly string[]> {
    return this.#remove(sql`user_id = ${userId} and post_id = ${postId}`);
  }

  async #remove(which: RawBuilder<unknown>): Promise<readonly string[]> {
    const rows = await this.#data.all(sql<{ id: string }>`delete from bookmark where ${which} returning id`);
    return rows.map(({ id }) => id);
  }

  /** Ends the reminder for this time; undefined if the bookmark no longer has it. */
  endReminder(id: string, remindAt: Date): Promise<Bookmark | undefined> {
    return this.#data
      .one(sql<Bookmark>`update bookmark b set remind_at = null, reminded_at = ${new Date(this.#clock.now())}
      where b.id = ${id} and b.remind_at = ${remindAt} returning ${COLUMNS}`);
  }

  /** Reschedules the reminder that has just ended. */
  async putOff(id: string, until: Date): Promise<void> {
    await this.#data.all(sql`update bookmark set remind_at = ${until}, reminded_at = null where id = ${id}`);
  }
}

/** The `from` and `where` clauses of a selection; the post's alias is `p`. */
function chosen({ userId, posts, words }: Selection): RawBuilder<unknown> {
  const found = words.slice(0, MAX_WORDS).map((word) => {
    const pattern = `%${word.replace(/[\\%_]/g, String.raw`\$&`)}%`;
    return sql` and (b.note ilike ${pattern} or p.title ilike ${pattern} or left(p.content, ${sql.lit(MAX_SEARCHED)}) ilike ${pattern})`;
  });
  return sql`bookmark b join (${posts}) p on p.id = b.post_id where b.user_id = ${userId}${sql.join(found, sql``)}`;
}

const changed = ({ note, remindAt }: BookmarkChanges): RawBuilder<unknown> =>
  sql`note = ${note === undefined ? sql`b.note` : sql`${note}`},
    remind_at = ${remindAt === undefined ? sql`b.remind_at` : sql`${remindAt}::timestamptz`}`;
