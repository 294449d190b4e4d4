import { sql, type Clock, type Data, type EntityManager, type RawBuilder } from 'parley-forum';
import type { PostProjection, ProjectedPost } from 'parley-forum/plugins/discussions';
import { NONE } from '../store.ts';

/**
 * The first key of the advisory locks that serialize notifications about a discussion and changes to it; the number is
 * arbitrary.
 */
const LOCK = 7_216_011;

type ProjectedDiscussion = Parameters<PostProjection['discussion']>[1];

/**
 * Keeps notifications consistent with their discussions: deletes them with discussions and posts, moves them to other
 * categories, and updates the members' unread counts.
 */
export class DiscussionProjection implements PostProjection {
  readonly #data: Data;
  readonly #clock: Clock;
  /** Called with the members whose unread counts changed. */
  readonly #changed: (userIds: readonly string[]) => Promise<void>;

  constructor({
    data,
    clock,
    changed,
  }: {
    data: Data;
    clock: Clock;
    changed: (userIds: readonly string[]) => Promise<void>;
  }) {
    this.#data = data;
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * Must be called before reading discussions to send notifications about them, so that changes to them wait for the
   * end of the transaction.
   */
  async lockShared(discussionIds: readonly string[]): Promise<void> {
    if (discussionIds.length === 0) return;
    await this.#data.all(
      sql`select pg_advisory_xact_lock_shared(${LOCK}, hashtext(id)) from unnest(${discussionIds}::text[]) as d(id)
        order by hashtext(id)`,
    );
  }

  async posts(_em: EntityManager, posts: readonly ProjectedPost[]): Promise<void> {
    await this.follow(posts.filter(({ left, visible }) => left && visible));
    const gone = posts.filter(({ visible }) => !visible);
    if (gone.length === 0) return;
    await this.#lockExclusive([...new Set(gone.map(({ discussionId }) => discussionId))]);
    // Other posts are restored along with their discussion, which is marked itself.
    await this.#markDeleted(gone.filter(({ removed }) => removed).map(({ id }) => `post:${id}`));
    await this.#remove(sql`n.post_id = any(${gone.map(({ id }) => id)}::uuid[])`);
  }

  async discussion(_em: EntityManager, { id, title, categoryId, visible }: ProjectedDiscussion): Promise<void> {
    await this.#lockExclusive([id]);
    if (visible) {
      await this.unmarkDeleted([`discussion:${id}`]);
      const differing = sql`n.discussion_id = ${id} and (n.category_id <> ${categoryId} or n.discussion_title is distinct from ${title})`;
      await this.#move(differing, categoryId, sql`, discussion_title = ${title}`);
    } else {
      await this.#markDeleted([`discussion:${id}`]);
      await this.#remove(sql`n.discussion_id = ${id}`, true);
    }
  }

  async category(_em: EntityManager, from: string, to: string): Promise<void> {
    await this.#move(sql`n.category_id = ${from}`, to);
  }

  /**
   * Makes notifications about these posts refer to the discussion they are in now. Those about several posts, or about
   * the discussion itself, remain with the old discussion unless all posts left it. Their URLs are kept, because the
   * former place of a post redirects to it.
   */
  async follow(posts: readonly ProjectedPost[]): Promise<void> {
    if (posts.length === 0) return;
    await this.#lockExclusive([
      ...new Set(posts.flatMap(({ discussionId, left }) => [discussionId, left?.discussionId ?? discussionId])),
    ]);
    const place = sql`unnest(${posts.map(({ id }) => id)}::uuid[], ${posts.map(({ discussionId }) => discussionId)}::uuid[], ${posts.map(({ categoryId }) => categoryId)}::uuid[],
      ${posts.map(({ title }) => title)}::text[], ${posts.map(({ left }) => left?.whole ?? false)}::boolean[]) as p (id,
        discussion_id, category_id, title, whole)`;
    await this.#change(sql<{ id: string }>`
      with h as (
        select n.id, n.user_id, n.category_id, n.discussion_id as former, n.is_read, p.id as post_id, p.discussion_id,
          p.category_id as now, p.title
        from notification n join ${place} on p.id = n.post_id
        where n.discussion_id <> p.discussion_id and (n.count = 1 or p.whole or n.group_key = 'post:' || n.post_id)
        order by n.user_id, n.id for update of n
      ), moved as (
        update notification n set discussion_id = h.discussion_id, category_id = h.now, discussion_title = h.title,
          group_key = case when n.group_key = h.former::text then 'post:' || h.post_id else n.group_key end
        from h where n.id = h.id
      ), steps as (
        select h.user_id, s.category_id, sum(s.n)::integer as n from h
        cross join lateral (values (h.category_id, -1), (h.now, 1)) as s(category_id, n)
        where not h.is_read and h.category_id <> h.now group by h.user_id, s.category_id
      ), counted as (
        insert into notification_count as c (user_id, category_id, unread) select user_id, category_id, n from steps
        order by user_id, category_id
        on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread
      ) select distinct user_id as id from h order by user_id`);
    const merged = new Map(
      posts.flatMap((post) => (post.left?.whole ? [[post.left.discussionId, post] as const] : [])),
    );
    for (const [former, { discussionId, categoryId, title }] of merged)
      await this.#move(
        sql`n.discussion_id = ${former} and n.post_id is null`,
        categoryId,
        sql`, discussion_id = ${discussionId}, discussion_title = ${title}`,
      );
  }

  /** Allows notifications about posts and discussions again that were restored. */
  async unmarkDeleted(keys: readonly string[]): Promise<void> {
    await this.#data.all(sql`delete from notification_key where user_id = ${NONE} and key = any(${keys}::text[])`);
  }

  async #markDeleted(keys: readonly string[]): Promise<void> {
    await this.#data.all(sql`insert into notification_key (user_id, key, created_at)
      select ${NONE}, key, ${new Date(this.#clock.now())} from unnest(${keys}::text[]) as k(key) order by key
      on conflict do nothing`);
  }

  async #lockExclusive(discussionIds: readonly string[]): Promise<void> {
    await this.#data.all(
      sql`select pg_advisory_xact_lock(${LOCK}, hashtext(id)) from unnest(${discussionIds}::text[]) as d(id)
        order by hashtext(id)`,
    );
  }

  /** A notification about several posts only loses the deleted one, unless `whole`. */
  async #remove(which: RawBuilder<unknown>, whole = false): Promise<void> {
    const alone = whole ? sql`true` : sql`h.count = 1 or h.group_key = 'post:' || h.post_id`;
    await this.#change(sql<{ id: string }>`
      with h as (
        select n.id, n.user_id, n.post_id, n.category_id, n.group_key, n.count, n.is_read from notification n
        where ${which} order by n.user_id, n.id for update
      ), gone as (
        delete from notification n using h where n.id = h.id and (${alone})
      ), less as (
        update notification n set count = n.count - 1, post_id = null from h where n.id = h.id and not (${alone})
      ), counted as (
        insert into notification_count as c (user_id, category_id, unread)
        select user_id, category_id, -count(*)::integer from h where not is_read and (${alone})
        group by user_id, category_id order by user_id, category_id
        on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread
      ) select distinct user_id as id from h order by user_id`);
  }

  async #move(which: RawBuilder<unknown>, to: string, more: RawBuilder<unknown> = sql``): Promise<void> {
    await this.#change(sql<{ id: string }>`
      with h as (
        select n.id, n.user_id, n.category_id, n.is_read from notification n
        where ${which} order by n.user_id, n.id for update
      ), moved as (
        update notification n set category_id = ${to}${more} from h where n.id = h.id
      ), steps as (
        select h.user_id, s.category_id, sum(s.n)::integer as n from h
        cross join lateral (values (h.category_id, -1), (${to}::uuid, 1)) as s(category_id, n)
        where not h.is_read and h.category_id <> ${to} group by h.user_id, s.category_id
      ), counted as (
        insert into notification_count as c (user_id, category_id, unread) select user_id, category_id, n from steps
        order by user_id, category_id
        on conflict (user_id, category_id) do update set unread = c.unread + excluded.unread
      ) select distinct user_id as id from h order by user_id`);
  }

  async #change(statement: RawBuilder<{ id: string }>): Promise<void> {
    const members = await this.#data.all(statement);
    if (members.length > 0) await this.#changed(members.map(({ id }) => id));
  }
}
