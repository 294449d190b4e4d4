import {
  sql,
  ZERO_ID,
  type Clock,
  type Data,
  type EntityManager,
  type PluginHandle,
  type RawBuilder,
} from 'parley-forum';
import { postProjections, type ProjectedPost } from 'parley-forum/plugins/discussions';

/**
 * Milliseconds subtracted from the time of a checkpoint: other processes may have written without the projection for a
 * moment, and their clocks may differ.
 */
const CHECKPOINT_MARGIN = 60_000;
/**
 * Maximum number of changed discussions whose posts are read individually; above it, all posts are scanned once in
 * order.
 */
const MAX_SINGLY_READ = 1_000;
/**
 * Maximum number of posts scanned in a batch to find changed ones: scanning to the end may exceed the statement
 * timeout.
 */
const MAX_PASSED = 10_000;

/** Number of moved posts whose texts are in memory at a time. */
const MAX_TEXTS = 200;

/** Posts after `after` and up to `end` of the discussions that changed since the checkpoint. */
interface ProjectedRange {
  readonly after: string | undefined;
  readonly limit: number;
  readonly since: string | undefined;
  /** See `MAX_SINGLY_READ`. */
  readonly changed: readonly string[] | undefined;
  readonly end?: string | undefined;
}
interface ProjectionSource {
  readonly id: string;
  readonly title: string;
  readonly categoryId: string;
  readonly deletedAt?: Date | null | undefined;
}
interface MovedPosts {
  readonly source: ProjectionSource;
  readonly place: ProjectionSource;
  readonly ids: readonly string[];
  readonly merged: boolean;
}
interface ProjectedSource {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
  readonly content: string;
  readonly html: string;
  readonly createdAt: Date;
  readonly deletedAt?: Date | null | undefined;
}

/**
 * Passes every change to the projections of other plugins, inside the transaction of the change. Sends no statements if
 * there is no projection.
 */
export class Projections {
  readonly #plugin: PluginHandle;
  readonly #data: Data;
  readonly #clock: Clock;

  constructor({ plugin, data, clock }: { plugin: PluginHandle; data: Data; clock: Clock }) {
    this.#plugin = plugin;
    this.#data = data;
    this.#clock = clock;
  }

  async posts(em: EntityManager, discussion: ProjectionSource, posts: readonly ProjectedSource[]): Promise<void> {
    await this.postsOfMany(em, () => posts.map((post) => projectionOf(discussion, post)));
  }

  /** Like `posts`, but for several discussions; `copies` is called only if there is a projection. */
  async postsOfMany(em: EntityManager, copies: () => readonly ProjectedPost[]): Promise<void> {
    const found = this.#plugin.extensions(postProjections);
    if (found.length === 0) return;
    const posts = copies();
    for (const { value } of found) await value.posts(em, posts);
  }

  /**
   * Passes on posts that were moved, and the discussion they left if it was merged. As elsewhere, each projection is
   * finished before the next one starts.
   */
  async moved(em: EntityManager, { source, place, ids, merged }: MovedPosts): Promise<void> {
    const left = { discussionId: source.id, whole: merged };
    let read: { readonly part: number; readonly posts: readonly ProjectedSource[] } | undefined;
    for (const { value } of this.#plugin.extensions(postProjections)) {
      for (let part = 0; part < ids.length; part += MAX_TEXTS) {
        if (read?.part !== part) read = { part, posts: await this.#sources(ids.slice(part, part + MAX_TEXTS)) };
        await value.posts(
          em,
          read.posts.map((post) => ({ ...projectionOf(place, post), left })),
        );
      }
      if (merged)
        await value.discussion(em, {
          id: source.id,
          title: source.title,
          categoryId: source.categoryId,
          visible: false,
        });
    }
  }

  #sources(ids: readonly string[]): Promise<readonly ProjectedSource[]> {
    return this.#data
      .all(sql<ProjectedSource>`select id, number, author_id as "authorId", content, html, created_at as "createdAt",
        deleted_at as "deletedAt"
      from post where id = any(${ids}::uuid[]) order by number`);
  }

  async discussion(em: EntityManager, { id, title, categoryId, deletedAt }: ProjectionSource): Promise<void> {
    for (const { value } of this.#plugin.extensions(postProjections))
      await value.discussion(em, { id, title, categoryId, visible: !deletedAt });
  }

  async category(em: EntityManager, from: string, to: string): Promise<void> {
    for (const { value } of this.#plugin.extensions(postProjections)) await value.category(em, from, to);
  }

  /** The checkpoint consists of the newest discussion's number and the time. */
  async checkpoint(): Promise<string> {
    const row = await this.#data.one(
      sql<{ number: number }>`select coalesce(max(number), 0) as number from discussion`,
    );
    return `${row!.number} ${new Date(this.#clock.now() - CHECKPOINT_MARGIN).toISOString()}`;
  }

  async projectedPosts(
    after: string | undefined,
    limit: number,
    since: string | undefined,
  ): Promise<readonly ProjectedPost[]> {
    return this.#projected({ after, limit, since, changed: await this.#changed(since) });
  }

  /**
   * Like `projectedPosts`, but in short statements: may return fewer posts, with `next` as the id to continue after.
   */
  async projectedBatch(
    after: string | undefined,
    limit: number,
    since: string | undefined,
  ): Promise<{ readonly posts: readonly ProjectedPost[]; readonly next: string | undefined }> {
    const changed = await this.#changed(since);
    const end =
      changed && changed.length > MAX_SINGLY_READ
        ? await this.#data.one(sql<{ id: string }>`select id from post where id > ${after ?? ZERO_ID}
            order by id offset ${MAX_PASSED - 1} limit 1`)
        : undefined;
    const posts = await this.#projected({ after, limit, since, changed, end: end?.id });
    return { posts, next: posts.length === limit ? posts.at(-1)!.id : end?.id };
  }

  #changed(since: string | undefined): Promise<readonly string[]> | undefined {
    return since === undefined ? undefined : this.#changedSince(since, MAX_SINGLY_READ + 1);
  }

  async #projected({ after, limit, since, changed, end }: ProjectedRange): Promise<readonly ProjectedPost[]> {
    if (changed?.length === 0) return [];
    const beyond = sql`${after === undefined ? sql`true` : sql`p.id > ${after}`}
      and ${end === undefined ? sql`true` : sql`p.id <= ${end}`}`;
    const page =
      changed && changed.length <= MAX_SINGLY_READ
        ? // Only their posts are read; the fence keeps the planner from reading all posts in order until it has met enough of them.
          sql`select p.id, p.discussion_id from unnest(${changed}::uuid[]) as c (id)
          cross join lateral (select p.id, p.discussion_id from post p where p.discussion_id = c.id
              and ${beyond} and p.moved_post_id is null offset 0) p order by p.id limit ${limit}`
        : sql`select p.id, p.discussion_id from post p join discussion d on d.id = p.discussion_id
          where ${beyond} and p.moved_post_id is null
            and ${since === undefined ? sql`true` : sql`(${createdSince(since)} or ${updatedSince(since)})`} order by p.id limit ${limit}`;
    // Two statements, because only the second one sees the changes that the first one had to wait for.
    const ids = await this.#data.all(
      sql<{
        id: string;
      }>`with page as (${page}) select page.id from page join discussion d on d.id = page.discussion_id
        order by d.id for share of d`,
    );
    if (ids.length === 0) return [];
    return this.#data.all(sql<ProjectedPost>`
      select p.id, p.number, p.discussion_id as "discussionId", d.category_id as "categoryId",
        p.author_id as "authorId", d.title, p.content, p.html,
        p.created_at as "createdAt", p.deleted_at is not null as removed,
        d.deleted_at is not null as "discussionRemoved", p.deleted_at is null and d.deleted_at is null as visible
      from post p join discussion d on d.id = p.discussion_id where p.id = any(${ids.map(({ id }) => id)}::uuid[])
      order by p.id`);
  }

  /**
   * Ids of discussions changed since the checkpoint, complete unless there are more than `limit`. Each half uses its
   * own index.
   */
  async #changedSince(checkpoint: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#data.all(sql<{ id: string }>`
      (select id from discussion d where ${createdSince(checkpoint)} order by number limit ${limit})
      union (select id from discussion d where ${updatedSince(checkpoint)} order by updated_at limit ${limit})
      order by id`);
    return rows.map(({ id }) => id);
  }
}

/** Discussions created later, including old ones that were imported. */
const createdSince = (checkpoint: string): RawBuilder<unknown> =>
  sql`d.number > ${Number(checkpoint.split(' ', 1)[0])}`;
/** Discussions in which anything changed. */
const updatedSince = (checkpoint: string): RawBuilder<unknown> =>
  sql`d.updated_at >= ${new Date(checkpoint.slice(checkpoint.indexOf(' ') + 1))}`;

const projectionOf = (
  { id: discussionId, categoryId, title, deletedAt: gone }: ProjectionSource,
  { id, number, authorId, content, html, createdAt, deletedAt }: ProjectedSource,
): ProjectedPost => ({
  id,
  number,
  discussionId,
  categoryId,
  authorId,
  title,
  content,
  html,
  createdAt,
  removed: Boolean(deletedAt),
  discussionRemoved: Boolean(gone),
  visible: !deletedAt && !gone,
});
