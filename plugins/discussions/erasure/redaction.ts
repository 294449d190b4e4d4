import {
  sql,
  type Cache,
  type Clock,
  type Data,
  type EntityManager,
  type Environment,
  type PluginHandle,
} from 'parley-forum';
import { postDeleted, tags } from 'parley-forum/plugins/discussions';
import { addPosts, leave, type Step } from '../counters/counters.ts';
import { postEvent } from '../events/event-payloads.ts';
import type { Mirroring } from '../projections/projections.ts';
import { countTag } from '../reading/reader.ts';
import { postColumns, type PostRow } from '../rows.ts';

export interface EmptyingServices {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly plugin: PluginHandle;
  readonly mirroring: Mirroring;
}
interface Stored {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly categoryId: string;
  readonly deletedAt: Date | null;
}
/** Whose posts they are. */
interface Writer {
  readonly id: string;
  readonly username: string;
}

/**
 * Takes from posts of one author all that they say and said, and deletes those replies that were not deleted. Many in
 * one transaction.
 */
export class Emptying {
  readonly #services: EmptyingServices;

  constructor(services: EmptyingServices) {
    this.#services = services;
  }

  async empty(ids: readonly string[], author: Writer): Promise<void> {
    const { data, cache } = this.#services;
    const changed = await data.transaction(async (em) => {
      // As every writer does: the discussions first, in one order.
      const discussions =
        await data.all(sql<Stored>`select id, number, title, category_id as "categoryId", deleted_at as "deletedAt" from discussion
        where id in (select discussion_id from post where id = any(${ids}::uuid[])) order by id for no key update`);
      const living = await this.#living(ids);
      const rows = Map.groupBy(await this.#write(ids), (row) => row.discussion_id);
      await this.#count(discussions, { rows, living, author });
      for (const discussion of discussions)
        await this.#tell(em, discussion, { rows: rows.get(discussion.id) ?? [], living, author });
      return discussions;
    });
    if (changed.length > 0)
      await cache.purge(
        tags.lists,
        ...changed.flatMap(({ id, categoryId }) => [tags.discussion(id), countTag(categoryId)]),
      );
  }

  /** The replies among them that everybody could read. */
  async #living(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#services.data.all(
      sql<{ id: string }>`select id from post where id = any(${ids}::uuid[]) and number > 1 and deleted_at is null`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  async #write(ids: readonly string[]): Promise<readonly PostRow[]> {
    const { data, clock } = this.#services;
    const now = new Date(clock.now());
    await data.all(sql`delete from post_revision where post_id = any(${ids}::uuid[])`);
    await data.all(sql`update post set deleted_at = ${now}, deleted_by = author_id, updated_at = ${now}
      where id = any(${ids}::uuid[]) and number > 1 and deleted_at is null`);
    return data.all(
      sql<PostRow>`update post p set content = '', html = '' where p.id = any(${ids}::uuid[]) returning ${postColumns(1)}`,
    );
  }

  async #tell(
    em: EntityManager,
    discussion: Stored,
    { rows, living, author }: Emptied<readonly PostRow[]>,
  ): Promise<void> {
    const { plugin, mirroring, environment } = this.#services;
    await mirroring.posts(
      em,
      discussion,
      rows.map((row) => ({
        id: row.id,
        number: row.number,
        authorId: row.author_id,
        content: '',
        html: '',
        createdAt: row.created_at,
        deletedAt: row.deleted_at,
      })),
    );
    if (discussion.deletedAt) return;
    for (const { id, number, created_at: createdAt } of rows.filter((row) => living.has(row.id))) {
      const post = postEvent(environment.baseUrl, { id, number, content: '', html: '', createdAt }, discussion, author);
      await plugin.emit(postDeleted, { post, category_id: discussion.categoryId });
    }
  }

  async #count(
    discussions: readonly Stored[],
    { rows, living, author }: Emptied<ReadonlyMap<string, readonly PostRow[]>>,
  ): Promise<void> {
    const { data } = this.#services;
    const steps = new Map<string, Step>();
    for (const { id, categoryId, deletedAt } of discussions) {
      const gone = (rows.get(id) ?? []).filter((row) => living.has(row.id)).length;
      if (gone === 0) continue;
      await leave(data, id, author.id, { posts: gone, replies: gone });
      if (!deletedAt)
        steps.set(categoryId, { categoryId, discussions: 0, posts: (steps.get(categoryId)?.posts ?? 0) - gone });
    }
    if (steps.size > 0) await addPosts(data, author.id, [...steps.values()]);
  }
}

interface Emptied<Rows> {
  readonly rows: Rows;
  readonly living: ReadonlySet<string>;
  readonly author: Writer;
}
