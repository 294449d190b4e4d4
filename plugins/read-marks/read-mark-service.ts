import { InvalidInput, sql, ZERO_ID, type Cache, type Clock, type Data } from 'parley-forum';
import { accessTag, type Member } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import {
  listCacheTags,
  type Categories,
  type Discussions,
  type DiscussionRecord,
  type MovedPost,
  type PostHead,
} from 'parley-forum/plugins/discussions';
import type { Page } from 'parley-forum/plugins/api';
import type { ReadMark } from 'parley-forum/plugins/read-marks';
import { RENDERED_TTL } from 'parley-forum/plugins/web';
import type { Subscriptions } from 'parley-forum/ports/subscriptions';
import { LATE } from './late-discussions.ts';
import { ON_ITS_WAY, type ReadStarts } from './read-starts.ts';
import {
  beganAfter,
  isBehind,
  isLookedAt,
  isNew,
  isUnread,
  unreadCount,
  type ReadStart,
  type UnreadQuery,
} from './unread-conditions.ts';

/** Cache tags of lists of unread discussions. */
export const unreadTags: readonly string[] = [...listCacheTags, accessTag, LATE];
/** Milliseconds without reading after which a member's next look at a discussion is a new visit. */
const VISIT = 1_800_000;
/** The number of members whose marks one statement updates when posts move. */
const READERS = 1_000;
/** The number of marks one statement scans for old ones. */
const PASSED = 2_000;
/** The number of discussions among which unread ones are counted. */
const LOOKED_AT = 500;
/** The minimum number of milliseconds by which a read start advances, so that reading a list rarely writes. */
const STEP = 3_600_000;

export interface ReadMarkDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly categories: Categories;
  readonly discussions: Discussions;
  readonly subscriptions: Subscriptions | undefined;
  readonly starts: ReadStarts;
}
/** A discussion record as members get it. */
export type ReadDiscussion = DiscussionRecord & Partial<Omit<ReadMark, 'discussion_id'>>;
/** Whether the fields that say how far the viewer has read are loaded. */
export const hasReadMark = (
  discussion: ReadDiscussion,
): discussion is DiscussionRecord & Omit<ReadMark, 'discussion_id'> =>
  discussion.last_read_number !== undefined && discussion.unread_count !== undefined;

/** Where a visit started: the last number read before it, and when that was. */
export interface VisitStart {
  readonly number: number;
  readonly at: Date;
}
/** How far a member had read an imported discussion, and when. */
interface ImportedMark {
  readonly discussionId: string;
  readonly userId: string;
  readonly number: number;
  readonly readAt: Date;
}
/** The number of discussions with unread posts, and how many of those the member follows. */
export interface UnreadCounts {
  readonly unread: number;
  readonly followed: number;
  /** Whether there are more discussions than were counted. */
  readonly more: boolean;
}
interface ListRequest {
  readonly onlyNew: boolean;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * The number of the post where a member continues in a discussion they have started to read; undefined for its start.
 */
export const entryOf = ({ last_read_number: read = 0, unread_count: unread = 0 }: Partial<ReadMark>) =>
  unread > 0 && read > 0 ? read + 1 : undefined;

/** Where a member continues, even if the post at that number has moved to another discussion. */
export const placePath = (discussion: number, number: number): string =>
  number > 1 ? `/d/${discussion}/${number}?here=1` : `/d/${discussion}/1`;

/** How far members have read. Marks only move forward, whichever process updates them. */
export class ReadMarkService {
  readonly #deps: ReadMarkDeps;

  constructor(deps: ReadMarkDeps) {
    this.#deps = deps;
  }

  /** One read mark for each id, in order. A discussion that does not exist gets zeros. */
  async of(discussionIds: readonly string[], viewer: Member): Promise<readonly ReadMark[]> {
    const { id } = viewer;
    const query = await this.#query(viewer);
    const rows = await this.#deps.data.all(sql<ReadMark>`
      select d.id as discussion_id, coalesce(m.last_read_number, 0) as last_read_number,
        ${unreadCount(query)} as unread_count
      from discussion d left join read_mark m on m.user_id = ${id} and m.discussion_id = d.id
      where d.id = any(${discussionIds}::uuid[])`);
    const found = new Map(rows.map((row) => [row.discussion_id, row]));
    return discussionIds.map((one) => found.get(one) ?? { discussion_id: one, last_read_number: 0, unread_count: 0 });
  }

  /** Where the member's current visit to a discussion started; undefined for the first visit. */
  async visitStart(discussionId: string, { id }: Member): Promise<VisitStart | undefined> {
    const before = new Date(this.#deps.clock.now() - VISIT);
    const row = await this.#deps.data.one(sql<{ number: number | null; at: Date | null }>`
      select case when read_at < ${before} then last_read_number else previous_number end as number,
        case when read_at < ${before} then read_at else previous_at end as at
      from read_mark where user_id = ${id} and discussion_id = ${discussionId}`);
    return row && row.number !== null && row.at !== null && row.number > 0
      ? { number: row.number, at: row.at }
      : undefined;
  }

  /** A list of unread discussions: by last activity, or newest first if only new ones are listed. */
  async listOf(viewer: Member, { onlyNew, ...page }: ListRequest): Promise<Page<ReadDiscussion>> {
    const { start, ...selection } = await this.selection(viewer, onlyNew);
    const list = await this.#deps.discussions.list({ ...selection, ...page }, viewer);
    if (!onlyNew && page.cursor === undefined && (page.offset ?? 0) === 0) await this.settle(start, list);
    return list;
  }

  /** The selection for lists of unread or new discussions. */
  async selection(viewer: Member, onlyNew: boolean) {
    const query = await this.#query(viewer);
    return onlyNew
      ? ({ where: isNew(query), sort: 'newest', start: query.start } as const)
      : ({ where: isUnread(query), sort: 'latest', start: query.start } as const);
  }

  /**
   * Counts only among the most recently active discussions: counting everything would take time in proportion to its
   * size.
   */
  async counts(viewer: Member): Promise<UnreadCounts> {
    const { cache, data, subscriptions } = this.#deps;
    const count = async (): Promise<UnreadCounts> => {
      const query = await this.#query(viewer);
      const row = await data.one(sql<UnreadCounts>`
        select count(*) filter (where unread)::integer as unread,
          count(*) filter (where unread and followed)::integer as followed, count(*) = ${LOOKED_AT} as more
        from (select ${isUnread(query)} as unread, ${subscriptions?.followedBy(viewer.id) ?? sql`false`} as followed
          from (select * from discussion d where d.deleted_at is null and d.category_id = any(${query.visible}::uuid[])
            and ${isLookedAt(query)}
            order by d.last_post_at desc, d.id desc limit ${LOOKED_AT}) d offset 0) looked`);
      return row!;
    };
    return cache.remember(`unread-counts:${viewer.id}`, [...unreadTags, accountTag(viewer.id)], count, {
      seconds: RENDERED_TTL / 1_000,
    });
  }

  /**
   * Called after the first page of unread discussions: if that page is all there is, older discussions are not scanned
   * again.
   */
  async settle(start: ReadStart, { items, hasMore }: Page<DiscussionRecord>): Promise<void> {
    if (hasMore) return;
    const latest = this.#deps.clock.now() - ON_ITS_WAY;
    const before = (times: readonly string[]): Date =>
      new Date(Math.min(latest, ...times.map((time) => Date.parse(time) - 1)));
    const allReadUntil = before(items.map(({ last_post_at: at }) => at));
    if (allReadUntil.getTime() < start.allReadUntil.getTime() + STEP) return;
    const newSince = before(items.map(({ created_at: at }) => at));
    await this.#deps.starts.advance(start, { newSince, allReadUntil }, { unless: true });
  }

  /** The discussion to continue with: `preferred` while it has unread posts, otherwise the one with the latest post. */
  async next(viewer: Member, preferred?: string): Promise<ReadDiscussion | undefined> {
    const [current] = preferred === undefined ? [] : await this.#deps.discussions.records([preferred], viewer);
    if (current && hasReadMark(current) && current.unread_count > 0) return current;
    return (await this.listOf(viewer, { onlyNew: false, limit: 1 })).items[0];
  }

  /**
   * Advances marks to these numbers unless they are already further. Resolves to the ids of the discussions that the
   * viewer can see; the others are skipped.
   */
  async read(viewer: Member, numbers: ReadonlyMap<string, number>): Promise<readonly string[]> {
    const { clock, data, discussions } = this.#deps;
    const now = new Date(clock.now());
    const seen = await data.all(sql<{ id: string; moved: number }>`with seen as (
        select d.id, least(t.number, d.last_number) as number
        from unnest(${[...numbers.keys()]}::uuid[], ${[...numbers.values()]}::integer[]) t (id, number)
        join discussion d on d.id = t.id
        where d.id in (${await discussions.visible(viewer)})
      ), moved as (
        insert into read_mark as m (user_id, discussion_id, last_read_number, read_at)
        select ${viewer.id}::uuid, id, number, ${now}::timestamptz from seen
        order by id ${this.#onward(now)} returning 1
      ) select id, (select count(*)::integer from moved) as moved from seen order by id`);
    if (seen.some(({ moved }) => moved > 0)) await this.#changed(viewer.id);
    return seen.map(({ id }) => id);
  }

  /** Writing a post implies having read the posts before it. */
  async wrote(userId: string, discussionId: string, number: number): Promise<void> {
    const now = new Date(this.#deps.clock.now());
    await this.#deps.data.all(sql`insert into read_mark as m (user_id, discussion_id, last_read_number, read_at)
      values (${userId}, ${discussionId}, ${number}, ${now}) ${this.#onward(now)}`);
    await this.#changed(userId);
  }

  /** A post was approved by a moderator: its author has not thereby read what others wrote in the meantime. */
  published(userId: string, discussionId: string, number: number): Promise<void> {
    return this.#markThere(discussionId, number, new Map([[userId, number]]));
  }

  /**
   * Members who wrote the moved posts, or had read them in the source discussion, have read them in the target too, but
   * only if they have read the target up to the first moved post.
   */
  async moved(sourceId: string, discussionId: string, posts: readonly MovedPost[]): Promise<void> {
    const [first] = posts;
    if (!first) return;
    const wrote = new Map(posts.map(({ author_id: id, number }) => [id, number]));
    await this.#markThere(discussionId, first.number, wrote);
    // In batches, since there is no limit to their number.
    for (let after = ''; ;) {
      const readers = await this.#deps.data.all(sql<{ id: string; read: number }>`
        select user_id as id, last_read_number as read from read_mark
        where discussion_id = ${sourceId} and last_read_number >= ${first.from_number}
          ${after === '' ? sql`` : sql`and user_id > ${after}::uuid`} order by user_id limit ${READERS}`);
      const there = readers.map(({ id, read }) => {
        const { number } = posts.findLast((post) => post.from_number <= read) ?? first;
        return [id, number] as const;
      });
      await this.#markThere(discussionId, first.number, new Map(there));
      if (readers.length < READERS) return;
      after = readers.at(-1)!.id;
    }
  }

  /**
   * Marks posts that were added to a discussion from number `first` on as read, up to a number per member, for members
   * who had read everything before `first`.
   */
  async #markThere(discussionId: string, first: number, to: ReadonlyMap<string, number>): Promise<void> {
    if (to.size === 0) return;
    const now = new Date(this.#deps.clock.now());
    const marked = await this.#deps.data.all(sql<{ id: string }>`
      insert into read_mark as m (user_id, discussion_id, last_read_number, read_at)
      select t.id, ${discussionId}::uuid, t.number, ${now}::timestamptz
      from unnest(${[...to.keys()]}::uuid[], ${[...to.values()]}::integer[]) t (id, number)
        left join read_mark o on o.user_id = t.id and o.discussion_id = ${discussionId}
      where coalesce(o.last_read_number, 0) >= ${first - 1} order by t.id ${this.#onward(now)} returning user_id as id`);
    if (marked.length > 0) await this.#deps.cache.purge(...marked.map(({ id }) => accountTag(id)));
  }

  /**
   * Stores marks of imported discussions. A member's read start becomes the time of their earliest mark: anything
   * written before it counts as read unless it has a mark.
   */
  async importMarks(marks: readonly ImportedMark[]): Promise<void> {
    if (marks.length === 0) return;
    const rows = marks.map(({ userId, discussionId, number, readAt }) => ({
      user_id: userId,
      discussion_id: discussionId,
      number,
      read_at: readAt.toISOString(),
    }));
    await this.#deps.data.all(sql`insert into read_mark (user_id, discussion_id, last_read_number, read_at)
      select t.user_id, d.id, least(t.number, d.last_number), t.read_at from json_to_recordset(${JSON.stringify(rows)}::json)
        as t (user_id uuid, discussion_id uuid, number integer, read_at timestamptz)
      join discussion d on d.id = t.discussion_id order by t.user_id, d.id on conflict do nothing`);
    const members = [...Map.groupBy(marks, ({ userId }) => userId)].map(([id, own]) => ({
      id,
      since: new Date(Math.min(...own.map(({ readAt }) => readAt.getTime()))),
    }));
    await this.#deps.starts.begin(members);
    await this.#deps.cache.purge(...members.map(({ id }) => accountTag(id)));
  }

  /**
   * Marks everything the viewer can see as read, or only one category, given by id or slug. Throws 400 if they cannot
   * see such a category.
   */
  async readAll(viewer: Member, categoryId?: string): Promise<void> {
    const { data, clock, categories, starts } = this.#deps;
    const query = await this.#query(viewer);
    const { start, visible } = query;
    const category = categoryId === undefined ? undefined : categories.find(categoryId, viewer);
    if (categoryId !== undefined && !category)
      throw new InvalidInput([{ field: 'category_id', message: 'is not a category you can see' }]);
    const [now, until] = [new Date(clock.now()), new Date(clock.now() - ON_ITS_WAY)];
    // A discussion that was never opened needs no mark if the read start moves past it.
    const needed = category ? sql`` : sql` and (m.discussion_id is not null or ${beganAfter(until, query)})`;
    await data.transaction(async () => {
      await data.all(sql`
        insert into read_mark as m (user_id, discussion_id, last_read_number, read_at)
        select ${viewer.id}::uuid, d.id, d.last_number, ${now}::timestamptz
        from discussion d left join read_mark m on m.user_id = ${viewer.id} and m.discussion_id = d.id
        where d.category_id = any(${category ? [category.id] : visible}::uuid[]) and ${isBehind(query)}${needed}
        order by d.id ${this.#onward(now)}`);
      if (!category) await starts.advance(start, { newSince: until, allReadUntil: until });
    });
    await this.#changed(viewer.id);
  }

  /** Marks a post and all later ones in its discussion as unread. */
  async unreadFrom({ number, discussion }: PostHead, { id }: Member): Promise<void> {
    const { data, clock, starts } = this.#deps;
    const [now, before] = [new Date(clock.now()), number - 1];
    await starts.of(id);
    await data.transaction(async () => {
      const row = await data.one(sql<{ at: Date }>`with d as (
          select id, last_post_at from discussion where id = ${discussion.id}
        ), k as (
          insert into read_mark as m (user_id, discussion_id, last_read_number, read_at, previous_number, previous_at)
          select ${id}::uuid, d.id, ${before}::integer, ${now}::timestamptz, ${before}::integer, ${now}::timestamptz
          from d
          on conflict (user_id, discussion_id) do update
            set last_read_number = excluded.last_read_number, read_at = excluded.read_at,
              previous_number = excluded.previous_number, previous_at = excluded.previous_at
        ) select last_post_at as at from d`);
      if (row) await starts.reopen(id, row.at);
    });
    await this.#changed(id);
  }

  /**
   * Deletes marks that have not moved since then, scanning all marks in key order: an index on `read_at` would have to
   * be updated whenever anyone reads.
   */
  async forget(since: Date, signal: AbortSignal): Promise<void> {
    for (let last = { user: ZERO_ID, discussion: ZERO_ID }, more = true; more && !signal.aborted;) {
      const end = await this.#deps.data.one(sql<typeof last>`with passed as materialized (
          select user_id, discussion_id, read_at from read_mark
          where (user_id, discussion_id) > (${last.user}::uuid, ${last.discussion}::uuid)
          order by user_id, discussion_id limit ${PASSED}
        ), gone as (
          delete from read_mark m using passed p
          where (m.user_id, m.discussion_id) = (p.user_id, p.discussion_id) and p.read_at < ${since} and m.read_at < ${since}
        ) select user_id as user, discussion_id as discussion from passed
        order by user_id desc, discussion_id desc limit 1`);
      more = end !== undefined;
      last = end ?? last;
    }
  }

  /** To follow the values of an insert: the greater number wins, and the state before the current visit is kept. */
  #onward(now: Date) {
    const earlier = sql`m.read_at < ${new Date(now.getTime() - VISIT)}`;
    return sql`on conflict (user_id, discussion_id) do update set last_read_number = excluded.last_read_number,
      read_at = excluded.read_at,
      previous_number = case when ${earlier} then m.last_read_number else m.previous_number end,
      previous_at = case when ${earlier} then m.read_at else m.previous_at end
      where excluded.last_read_number > m.last_read_number`;
  }

  async #query(viewer: Member): Promise<UnreadQuery> {
    const { categories, starts, subscriptions } = this.#deps;
    await categories.refresh();
    return {
      start: await starts.of(viewer.id),
      visible: categories.visible(viewer).map(({ id }) => id),
      notMuted: await subscriptions?.notMutedBy(viewer.id),
    };
  }

  /** Pages and responses are cached per member. */
  #changed(userId: string): Promise<void> {
    return this.#deps.cache.purge(accountTag(userId));
  }
}
