import {
  sql,
  type Cache,
  type Clock,
  type Data,
  type EntityManager,
  type Environment,
  type PluginHandle,
} from 'parley-forum';
import { postDeleted, discussionCacheTags } from 'parley-forum/plugins/discussions';
import { addPostCounts, removeParticipantPosts, type CounterChange } from '../counters/counters.ts';
import { postEvent } from '../events/event-payloads.ts';
import type { Projections } from '../projections/projections.ts';
import { countTag } from '../reading/reader.ts';
import { postColumns, type PostRow } from '../rows.ts';
import { movedMeanwhile } from '../writing/conflicts.ts';

export interface RedactionDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly plugin: PluginHandle;
  readonly projections: Projections;
}
interface Stored {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly categoryId: string;
  readonly deletedAt: Date | null;
}
/** The author of the posts. */
interface PostAuthor {
  readonly id: string;
  readonly username: string;
}

/**
 * Empties posts of one author, including their revisions, and deletes those replies that were not deleted yet. Many
 * posts in one transaction.
 */
export class Redaction {
  readonly #deps: RedactionDeps;

  constructor(deps: RedactionDeps) {
    this.#deps = deps;
  }

  async redact(ids: readonly string[], author: PostAuthor): Promise<void> {
    const { data, cache } = this.#deps;
    const changed = await data.transaction(async (em) => {
      // Lock the discussions first, in order of id, as every writer does.
      const discussions =
        await data.all(sql<Stored>`select id, number, title, category_id as "categoryId", deleted_at as "deletedAt"
          from discussion
        where id in (select discussion_id from post where id = any(${ids}::uuid[])) order by id for no key update`);
      const visibleReplies = await this.#visibleReplies(ids);
      const rows = Map.groupBy(await this.#write(ids), (row) => row.discussion_id);
      // Posts may have been moved while this waited for locks; the caller retries.
      if ([...rows.keys()].some((id) => !discussions.some((locked) => locked.id === id))) throw movedMeanwhile();
      await this.#count(discussions, { rows, visibleReplies, author });
      for (const discussion of discussions)
        await this.#publish(em, discussion, { rows: rows.get(discussion.id) ?? [], visibleReplies, author });
      return discussions;
    });
    if (changed.length > 0)
      await cache.purge(
        discussionCacheTags.lists,
        ...changed.flatMap(({ id, categoryId }) => [discussionCacheTags.discussion(id), countTag(categoryId)]),
      );
  }

  /** Those of the posts that are replies and not deleted. */
  async #visibleReplies(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(
      sql<{ id: string }>`select id from post where id = any(${ids}::uuid[]) and number > 1 and deleted_at is null`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  async #write(ids: readonly string[]): Promise<readonly PostRow[]> {
    const { data, clock } = this.#deps;
    const now = new Date(clock.now());
    await data.all(sql`delete from post_revision where post_id = any(${ids}::uuid[])`);
    await data.all(sql`update post set deleted_at = ${now}, deleted_by = author_id, updated_at = ${now}
      where id = any(${ids}::uuid[]) and number > 1 and deleted_at is null`);
    return data.all(
      sql<PostRow>`update post p set content = '', html = '', reply_to_number = null where p.id = any(${ids}::uuid[])
        returning ${postColumns(1)}`,
    );
  }

  async #publish(
    em: EntityManager,
    discussion: Stored,
    { rows, visibleReplies, author }: Redacted<readonly PostRow[]>,
  ): Promise<void> {
    const { plugin, projections, environment } = this.#deps;
    await projections.posts(
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
    for (const { id, number, created_at: createdAt } of rows.filter((row) => visibleReplies.has(row.id))) {
      const post = postEvent(environment.baseUrl, { id, number, content: '', html: '', createdAt }, discussion, author);
      await plugin.emit(postDeleted, { post, category_id: discussion.categoryId });
    }
  }

  async #count(
    discussions: readonly Stored[],
    { rows, visibleReplies, author }: Redacted<ReadonlyMap<string, readonly PostRow[]>>,
  ): Promise<void> {
    const { data } = this.#deps;
    const changes = new Map<string, CounterChange>();
    for (const { id, categoryId, deletedAt } of discussions) {
      const gone = (rows.get(id) ?? []).filter((row) => visibleReplies.has(row.id)).length;
      if (gone === 0) continue;
      await removeParticipantPosts(data, id, author.id, { posts: gone, replies: gone });
      if (!deletedAt)
        changes.set(categoryId, { categoryId, discussions: 0, posts: (changes.get(categoryId)?.posts ?? 0) - gone });
    }
    if (changes.size > 0) await addPostCounts(data, author.id, [...changes.values()]);
  }
}

interface Redacted<Rows> {
  readonly rows: Rows;
  readonly visibleReplies: ReadonlySet<string>;
  readonly author: PostAuthor;
}
