import { createId, sql, ZERO_ID, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { badCursor, decodeCursor, decodeMoment, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import { repeatInBatches } from 'parley-forum/ports/personal-data';

/** Stands for the absence of a category or member. */
export const NONE = ZERO_ID;

/** A notification to be inserted. */
export interface Entry {
  readonly userId: string;
  readonly type: string;
  readonly actorId: string | undefined;
  readonly discussionId: string | undefined;
  readonly postId: string | undefined;
  readonly categoryId: string;
  readonly url: string;
  readonly title: string | undefined;
  readonly discussionTitle: string | undefined;
  readonly group: string;
  readonly key: string;
}
export interface NotificationRow {
  readonly id: string;
  readonly userId: string;
  readonly type: string;
  readonly actorId: string | null;
  /** The last two people, most recent first. */
  readonly actorIds: readonly string[];
  /** Number of people. */
  readonly people: number;
  readonly discussionId: string | null;
  readonly postId: string | null;
  readonly categoryId: string;
  readonly url: string;
  readonly title: string;
  readonly count: number;
  readonly isRead: boolean;
  readonly createdAt: Date;
}
/** A stored notification: `added` is false if it was merged into an unread one. */
export interface StoredNotification {
  readonly id: string;
  readonly userId: string;
  readonly type: string;
  readonly added: boolean;
}
interface CleanupLimits {
  readonly read: Date;
  readonly old: Date;
  readonly most: number;
  readonly known: Date;
  readonly changed: (userIds: readonly string[]) => Promise<void>;
}
interface ListRequest {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
  readonly unread?: boolean | undefined;
  /** Only notifications of these types. */
  readonly types?: readonly string[] | undefined;
}

const COLUMNS = sql<NotificationRow>`n.id, n.user_id as "userId", n.type, n.actor_id as "actorId",
  n.actor_ids[1:2] as "actorIds", least(cardinality(n.actor_ids), n.count) as people,
  n.discussion_id as "discussionId", n.post_id as "postId",
  n.category_id as "categoryId", n.url, coalesce(n.title, n.discussion_title, '') as title, n.count,
  n.is_read as "isRead", n.created_at as "createdAt"`;

/** Maximum number of people that one notification remembers; the count does not go beyond it. */
const MOST_ACTORS = 1_000;
/** Removes duplicates, keeping the order. */
const people = (ids: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`array(select a from unnest(${ids}) with ordinality as u(a, place) where a is not null
    group by a order by min(place) limit ${MOST_ACTORS})`;

/**
 * The tables of notifications. Each change is a single statement that also updates the counters; rows are locked before
 * counters, both in order of member.
 */
export class Store {
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ data, clock }: { data: Data; clock: Clock }) {
    this.#data = data;
    this.#clock = clock;
  }

  /**
   * Skips notifications with a known key and those about deleted posts. `entries` may contain at most one for each
   * member and key.
   */
  add(entries: readonly Entry[]): Promise<readonly StoredNotification[]> {
    const now = new Date(this.#clock.now());
    const rows = entries.map((entry) => ({ ...entry, id: createId(now.getTime()) }));
    return this.#data.all(sql<StoredNotification>`
      with given as (
        select * from json_to_recordset(${JSON.stringify(rows)}::json) as g(id uuid, "userId" uuid, type text,
            "actorId" uuid, "discussionId" uuid,
          "postId" uuid, "categoryId" uuid, url text, title text, "discussionTitle" text, "group" text, key text)
      ), fresh as (
        insert into notification_key (user_id, key, created_at) select g."userId", g.key, ${now} from given g
        where not exists (select 1 from notification_key k
            where k.user_id = ${NONE} and k.key in ('post:' || g."postId", 'discussion:' || g."discussionId"))
        order by g."userId", g.key on conflict do nothing returning user_id, key
      ), one as (
        select distinct on (g."userId", g.type, g."group") g.*,
          count(*) over same::integer as n, array_agg(g."actorId") over same as actors
        from given g join fresh f on f.user_id = g."userId" and f.key = g.key
        window same as (partition by g."userId", g.type, g."group" order by g.id
          rows between unbounded preceding and unbounded following)
        order by g."userId", g.type, g."group", g.id
      ), kept as (
        insert into notification as n (id, user_id, type, actor_id, actor_ids, discussion_id, post_id, category_id, url, title,
            discussion_title, group_key,
          count, created_at)
        select id, "userId", type, "actorId", ${people(sql`actors`)}, "discussionId", "postId", "categoryId", url, title, "discussionTitle",
          "group", n, ${now}
        from one order by "userId", type, "group"
        on conflict (user_id, type, group_key) where not is_read
          do update set count = n.count + excluded.count, actor_id = excluded.actor_id,
            actor_ids = ${people(sql`excluded.actor_ids || n.actor_ids`)}, created_at = excluded.created_at
        returning n.id, n.user_id, n.type, n.category_id, xmax = 0 as added
      ), counted as (
        insert into notification_count as c (user_id, category_id, unread)
        select user_id, category_id, count(*) from kept where added group by user_id, category_id
        order by user_id, category_id
        on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread
      ) select id, user_id as "userId", type, added from kept order by user_id, id`);
  }

  /** Notifications in these categories, newest first. */
  async list(
    userId: string,
    categories: readonly string[],
    { limit, offset = 0, cursor, unread = false, types }: ListRequest,
  ): Promise<Page<NotificationRow>> {
    const rows = await this.#data.all(sql<NotificationRow>`select ${COLUMNS} from notification n
      where n.user_id = ${userId} and n.category_id = any(${categories}::uuid[])${unread ? sql` and not n.is_read` : sql``}${types ? sql` and n.type = any(${types}::text[])` : sql``}${after(cursor)}
      order by n.created_at desc, n.id desc limit ${limit + 1} offset ${offset}`);
    return pageOfRows(rows, limit, ({ createdAt, id }) => [createdAt.getTime(), id]);
  }

  find(id: string): Promise<NotificationRow | undefined> {
    return this.#data.one(sql<NotificationRow>`select ${COLUMNS} from notification n where n.id = ${id}`);
  }

  /**
   * The newest unread notifications of each member, at most `limit` each, after the time given for that member and up
   * to `until`.
   */
  newest(
    since: ReadonlyMap<string, Date | undefined>,
    until: Date,
    limit: number,
  ): Promise<readonly NotificationRow[]> {
    const members = JSON.stringify([...since].map(([id, at]) => ({ id, at })));
    return this.#data
      .all(sql<NotificationRow>`select n.* from json_to_recordset(${members}::json) as m(id uuid, at timestamptz)
        cross join lateral (
        select ${COLUMNS} from notification n where n.user_id = m.id and not n.is_read
          and n.created_at > coalesce(m.at, '-infinity') and n.created_at <= ${until}
        order by n.created_at desc, n.id desc limit ${limit}
      ) n order by n."userId", n."createdAt" desc, n.id desc`);
  }

  /** The discussions that a member's unread notifications are about. */
  async unreadIn(userId: string): Promise<ReadonlySet<string>> {
    const rows = await this.#data.all(
      sql<{
        id: string;
      }>`select distinct discussion_id as id from notification where user_id = ${userId} and not is_read
        and discussion_id is not null`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Unread counts by member and category. */
  counts(
    userIds: readonly string[],
  ): Promise<readonly { readonly userId: string; readonly categoryId: string; readonly unread: number }[]> {
    return this.#data.all(sql<{
      userId: string;
      categoryId: string;
      unread: number;
    }>`select user_id as "userId", category_id as "categoryId", unread
      from notification_count where user_id = any(${userIds}::uuid[]) and unread > 0 order by user_id, category_id`);
  }

  /**
   * Marks all notifications of a member as read, or those selected by `which`. Resolves to the number of those that
   * were unread.
   */
  async read(
    userId: string,
    which: {
      readonly ids?: readonly string[];
      readonly discussionId?: string;
      readonly about?: { readonly type: string; readonly group: string };
    },
  ): Promise<number> {
    const ids = which.ids && sql` and id = any(${which.ids.filter(isId)}::uuid[])`;
    const about = which.about && sql` and type = ${which.about.type} and group_key = ${which.about.group}`;
    const row = await this.#data.one(sql<{ count: number }>`
      with done as (
        update notification n set is_read = true from (
          select id from notification where user_id = ${userId} and not is_read${ids ?? sql``}${about ?? sql``}
            ${which.discussionId === undefined ? sql`` : sql`and discussion_id = ${which.discussionId}`} order by id for update
        ) h where n.id = h.id returning n.category_id
      ), counted as (
        insert into notification_count as c (user_id, category_id, unread)
        select ${userId}::uuid, category_id, -count(*)::integer from done group by category_id order by category_id
        on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread
      ) select count(*)::integer as count from done`);
    return row!.count;
  }

  #drop(which: RawBuilder<unknown>): Promise<ReadonlyArray<{ readonly userId: string; readonly isRead: boolean }>> {
    return this.#data.all(sql<{ userId: string; isRead: boolean }>`
      with h as (
        select id, user_id, category_id, is_read from notification where id in (${which})
        order by user_id, id for update
      ), gone as (
        delete from notification n using h where n.id = h.id
      ), counted as (
        insert into notification_count as c (user_id, category_id, unread)
        select user_id, category_id, -count(*)::integer from h where not is_read group by user_id, category_id
        order by user_id, category_id
        on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread
      ) select user_id as "userId", is_read as "isRead" from h`);
  }

  /**
   * Deletes read notifications older than `read`, all older than `old`, those of a member in excess of the newest
   * `most`, and keys older than `known`. `changed` is called with the members whose unread counts changed.
   */
  async cleanUp({ read, old, most, known, changed }: CleanupLimits, signal: AbortSignal): Promise<void> {
    const drop = (which: RawBuilder<unknown>): Promise<number> =>
      this.#data.transaction(async () => {
        const gone = await this.#drop(which);
        const members = new Set(gone.filter(({ isRead }) => !isRead).map(({ userId }) => userId));
        if (members.size > 0) await changed([...members]);
        return gone.length;
      });
    await repeatInBatches(signal, (limit) =>
      drop(sql`select id from notification where is_read and created_at < ${read} order by created_at limit ${limit}`),
    );
    await repeatInBatches(signal, (limit) =>
      drop(sql`select id from notification where created_at < ${old} order by created_at limit ${limit}`),
    );
    const members = await this.#data.all(
      sql<{ id: string }>`select user_id as id from notification group by user_id having count(*) > ${most}`,
    );
    for (const { id } of members)
      await repeatInBatches(signal, (limit) =>
        drop(sql`select id from notification where user_id = ${id}
          order by created_at desc, id desc offset ${most} limit ${limit}`),
      );
    await repeatInBatches(signal, async (limit) => {
      const gone = await this.#data.all(sql`delete from notification_key where (user_id, key) in
        (select user_id, key from notification_key where created_at < ${known} limit ${limit}) returning 1`);
      return gone.length;
    });
  }
}

function after(cursor: string | undefined): RawBuilder<unknown> {
  if (cursor === undefined) return sql``;
  const [time, id] = decodeCursor(cursor, 2);
  if (!isId(String(id))) throw badCursor();
  return sql` and (n.created_at, n.id) < (${decodeMoment(time)}::timestamptz, ${String(id)}::uuid)`;
}
