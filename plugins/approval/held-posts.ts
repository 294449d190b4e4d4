import { sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { decodeId, encodeCursor, isId, type Page } from 'parley-forum/plugins/api';
import type { HeldPostRecord, QueuedPostRecord } from 'parley-forum/plugins/approval';
import type { Categories, DiscussionHead, Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { columns, type HeldRow } from './rows.ts';

export interface ListRequest {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}
interface HeldPostsDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly categories: Categories;
  readonly discussions: Pick<Discussions, 'postCounts' | 'visible'>;
  readonly markdown: Pick<Markdown, 'permitted'>;
}

/** Cache tag of everything that shows how many posts are held. */
export const queueTag = 'approval-queue';
/** The maximum number of bytes of texts in a response; the first text may exceed it. */
const MAX_BYTES = 512 * 1024;
const DAY = 86_400_000;
/** Days for which rejected posts are kept for their author, and for which moderators can see what became of a post. */
const KEPT_DAYS = 30;

const IS_HELD = sql`status = 'held'`;

/**
 * The table of held posts. Moderators see those of discussions and categories that they can see, but not their own,
 * which other moderators judge. Admins see all, including posts for a category that no longer exists.
 */
export class HeldPosts {
  readonly #deps: HeldPostsDeps;

  constructor(deps: HeldPostsDeps) {
    this.#deps = deps;
  }

  /** Oldest first. */
  async queue(request: ListRequest, viewer: Viewer): Promise<Page<HeldRow>> {
    return this.#page(sql`${IS_HELD} and ${await this.#visibleTo(viewer)}`, request, 'asc');
  }

  /** The oldest posts of the queue, without their texts. */
  async oldest(
    limit: number,
    viewer: Viewer,
  ): Promise<readonly Pick<QueuedPostRecord, 'id' | 'reason' | 'author' | 'created_at'>[]> {
    const rows = await this.#deps.data.all(sql<Pick<HeldRow, 'id' | 'reason' | 'author_id' | 'created_at'>>`
      select id, reason, author_id, created_at from held_post
      where ${IS_HELD} and ${await this.#visibleTo(viewer)} order by id limit ${limit}`);
    const authors = await this.#deps.accounts.authors([...new Set(rows.map(({ author_id }) => author_id))]);
    return rows.map(({ id, reason, author_id, created_at }) => ({
      id,
      reason,
      author: authors.get(author_id) ?? null,
      created_at: created_at.toISOString(),
    }));
  }

  async count(viewer: Viewer): Promise<number> {
    return this.#count(sql`${IS_HELD} and ${await this.#visibleTo(viewer)}`);
  }

  /** Finds a post in any status; undefined as well if the viewer may not see it. */
  async find(id: string, viewer: Viewer): Promise<HeldRow | undefined> {
    if (!isId(id)) return undefined;
    return this.#deps.data.one(
      sql<HeldRow>`select ${columns} from held_post where id = ${id} and ${await this.#visibleTo(viewer)}`,
    );
  }

  /** Those of the ids that are held and that the viewer may see. */
  async visible(ids: readonly string[], viewer: Viewer): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(sql<{ id: string }>`select id from held_post
      where id = any(${ids.filter(isId)}::uuid[]) and ${IS_HELD} and ${await this.#visibleTo(viewer)} order by id`);
    return new Set(rows.map(({ id }) => id));
  }

  /** A member's held and rejected posts, newest first. */
  own(authorId: string, request: ListRequest): Promise<Page<HeldRow>> {
    return this.#page(sql`author_id = ${authorId} and status <> 'approved'`, request, 'desc');
  }

  countOwn(authorId: string): Promise<number> {
    return this.#count(sql`author_id = ${authorId} and status <> 'approved'`);
  }

  findOwn(id: string, authorId: string): Promise<HeldRow | undefined> {
    if (!isId(id)) return Promise.resolve(undefined);
    return this.#deps.data.one(
      sql<HeldRow>`select ${columns} from held_post
        where id = ${id} and author_id = ${authorId} and status <> 'approved'`,
    );
  }

  /** Withdraws a member's own post from the queue, or deletes it if it was rejected; false if it is neither by now. */
  async withdraw(id: string, authorId: string): Promise<boolean> {
    const { data, cache } = this.#deps;
    const gone = await data.one(
      sql`delete from held_post where id = ${id} and author_id = ${authorId} and status <> 'approved' returning id`,
    );
    await cache.purge(queueTag);
    return gone !== undefined;
  }

  /** Rejects all of a member's held posts, without giving a reason. */
  async dismiss(authorId: string): Promise<void> {
    const { data, cache, clock } = this.#deps;
    await data.all(sql`update held_post set status = 'rejected', reviewed_at = ${new Date(clock.now())}
      where author_id = ${authorId} and ${IS_HELD}`);
    await cache.purge(queueTag);
  }

  async erase(authorId: string): Promise<void> {
    const { data, cache } = this.#deps;
    await data.all(sql`delete from held_post where author_id = ${authorId}`);
    await cache.purge(queueTag);
  }

  /** After a category was merged into another one, held discussions will start there. */
  async move(from: string, to: string): Promise<void> {
    const { data, cache } = this.#deps;
    await data.all(sql`update held_post set category_id = ${to} where category_id = ${from}`);
    await cache.purge(queueTag);
  }

  /** After a discussion was merged into another one, held replies will go there. */
  async moveReplies(from: string, { id, categoryId }: Pick<DiscussionHead, 'id' | 'categoryId'>): Promise<void> {
    const { data, cache } = this.#deps;
    await data.all(sql`update held_post set discussion_id = ${id}, category_id = ${categoryId},
        draft = case when status = 'approved' then draft else jsonb_set(draft, '{discussionId}', to_jsonb(${id}::text)) end
      where discussion_id = ${from}`);
    await cache.purge(queueTag);
  }

  /** Replaces a tag in held discussions with the tag it was merged into, or removes it. */
  async replaceTag(id: string, into: string | undefined): Promise<void> {
    await this.#deps.data.all(sql`update held_post set draft = jsonb_set(draft, '{fields,tags}', (
        select coalesce(jsonb_agg(case word when ${id} then ${into ?? null} else word end order by place)
          filter (where word <> ${id} or ${into ?? null}::text is not null), '[]')
        from jsonb_array_elements_text(draft->'fields'->'tags') with ordinality t (word, place)))
      where jsonb_exists(draft->'fields'->'tags', ${id})`);
  }

  /** Deletes up to `limit` posts whose retention has ended. Resolves to the number deleted. */
  async removeOld(limit: number): Promise<number> {
    const before = new Date(this.#deps.clock.now() - KEPT_DAYS * DAY);
    const rows = await this.#deps.data.all(sql`delete from held_post where id in (
      select id from held_post where reviewed_at < ${before} order by reviewed_at, id limit ${limit}) returning id`);
    return rows.length;
  }

  /** At most two statements. */
  async queueRecords(rows: readonly HeldRow[], viewer: Viewer): Promise<readonly QueuedPostRecord[]> {
    const { accounts, discussions } = this.#deps;
    const ids = [...new Set(rows.map((row) => row.author_id))];
    const [authors, counts] =
      ids.length === 0 ? [] : await Promise.all([accounts.authors(ids), discussions.postCounts(ids, viewer)]);
    return rows.map((row) => ({
      ...this.ownRecord(row),
      reason: row.reason,
      author: authors?.get(row.author_id) ?? null,
      author_post_count: counts?.get(row.author_id) ?? 0,
    }));
  }

  /** The post as its author sees it, with only those images that are currently permitted. */
  ownRecord(row: HeldRow): HeldPostRecord {
    return {
      id: row.id,
      status: row.status === 'held' ? 'held' : 'rejected',
      discussion_id: row.discussion_id,
      category_id: row.category_id,
      title: row.title,
      content: row.draft.content,
      html: this.#deps.markdown.permitted.images(row.html),
      created_at: row.created_at.toISOString(),
      reviewed_at: row.reviewed_at?.toISOString() ?? null,
      review_reason: row.review_reason,
    };
  }

  async #page(
    condition: RawBuilder<unknown>,
    { limit, offset = 0, cursor }: ListRequest,
    direction: 'asc' | 'desc',
  ): Promise<Page<HeldRow>> {
    const after = cursor === undefined ? undefined : decodeId(cursor);
    const order = sql.raw(`id ${direction}`);
    const beyond =
      after === undefined ? sql`` : sql` and id ${sql.raw(direction === 'asc' ? '>' : '<')} ${after}::uuid`;
    const rows = await this.#deps.data.all(sql<HeldRow & { readonly found: number }>`
      select ${columns}, found::integer from (
        select *, row_number() over w as place, sum(octet_length(html) + octet_length(draft::text)) over w as reached,
          count(*) over () as found from (
          select ${columns} from held_post
          where ${condition}${beyond} order by ${order} limit ${limit + 1} offset ${offset}
        ) asked window w as (order by ${order})
      ) weighed where place <= ${limit} and (place = 1 or reached <= ${MAX_BYTES}) order by place`);
    const last = rows.at(-1);
    const hasMore = last !== undefined && rows.length < rows[0]!.found;
    return { items: rows, hasMore, nextCursor: hasMore ? encodeCursor([last.id]) : undefined };
  }

  async #count(condition: RawBuilder<unknown>): Promise<number> {
    const row = await this.#deps.data.one(
      sql<{ count: number }>`select count(*)::int as count from held_post where ${condition}`,
    );
    return row?.count ?? 0;
  }

  async #visibleTo(viewer: Viewer): Promise<RawBuilder<unknown>> {
    const { categories, discussions } = this.#deps;
    await categories.refresh();
    const idsOf = (list: readonly { readonly id: string }[]): readonly string[] => list.map(({ id }) => id);
    const [gone, others] = isAdmin(viewer)
      ? [sql` or category_id <> all(${idsOf(categories.all())}::uuid[])`, sql``]
      : [sql``, sql` and author_id <> ${viewer.id ?? null}::uuid`];
    const category = sql`category_id = any(${idsOf(categories.visible(viewer))}::uuid[])${gone}`;
    return sql`case when discussion_id is null then ${category} else discussion_id in (${await discussions.visible(viewer)}) end${others}`;
  }
}
