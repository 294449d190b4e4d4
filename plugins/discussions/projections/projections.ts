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
 * Milliseconds that a checkpoint reaches back: other processes may have written without a projection for a moment, and their
 * clocks may differ.
 */
const CHECKPOINT_MARGIN = 60_000;
/** So many changed discussions are gone through one by one; of more, all posts are read in their order once. */
const MAX_SINGLY_READ = 1_000;
/** Posts that a batch passes at most to find changed ones: to read on to the end may take longer than a statement may. */
const MAX_PASSED = 10_000;

/** Posts whose texts are in memory at a time while they move. */
const MAX_TEXTS = 200;

/** Posts behind `after`, up to `end`, of the discussions that changed since the checkpoint. */
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
 * Passes every change to the projections of other plugins, inside the transaction of the change. Without a projection
 * no statement is sent.
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

  /** As `posts`, of several discussions; `copies` is called only where there is a projection. */
  async postsOfMany(em: EntityManager, copies: () => readonly ProjectedPost[]): Promise<void> {
    const found = this.#plugin.extensions(postProjections);
    if (found.length === 0) return;
    const posts = copies();
    for (const { value } of found) await value.posts(em, posts);
  }

  /** Posts that have moved, and the discussion that they left where it was merged. Each projection ends before the next begins, as elsewhere. */
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

  /** The newest discussion's number and the time. */
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

  /** As `projectedPosts`, in short statements: there may be fewer, and `next` says after which to go on. */
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
    // Two statements: what the first had to wait for is seen by the second.
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

  /** Ids of discussions changed since the checkpoint: all where they are `limit` at most. Each half by its index. */
  async #changedSince(checkpoint: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#data.all(sql<{ id: string }>`
      (select id from discussion d where ${createdSince(checkpoint)} order by number limit ${limit})
      union (select id from discussion d where ${updatedSince(checkpoint)} order by updated_at limit ${limit})
      order by id`);
    return rows.map(({ id }) => id);
  }
}

/** Discussions that came later, old ones by an import too. */
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
