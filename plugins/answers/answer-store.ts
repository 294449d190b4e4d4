import { sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { answersTag } from 'parley-forum/plugins/answers';
import type { Answers } from 'parley-forum/ports/imports';
import { discussionCacheTags, type DiscussionCondition, type Discussions } from 'parley-forum/plugins/discussions';

export interface StoreDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly access: Pick<Access, 'unrestricted'>;
  readonly discussions: Pick<Discussions, 'readablePosts'>;
}
export interface Answer {
  readonly discussionId: string;
  readonly postId: string;
  readonly acceptedAt: Date;
}

/**
 * Which post answers which discussion, and which categories ask for answers. The row is kept when the post is deleted
 * or the discussion moves to a category that does not ask for answers, and counts again when that is undone. So every
 * query joins the current posts, and nothing has to be kept in sync with them.
 */
export class AnswerStore implements Answers {
  readonly #deps: StoreDeps;

  constructor(deps: StoreDeps) {
    this.#deps = deps;
  }

  /** Ids of the categories that ask for answers. */
  categories(): Promise<ReadonlySet<string>> {
    const { cache, data } = this.#deps;
    return cache.remember('answers.categories', [answersTag], async () => {
      const rows = await data.all(
        sql<{ id: string }>`select category_id as id from answer_category order by category_id`,
      );
      return new Set(rows.map(({ id }) => id));
    });
  }

  async ask(categoryId: string, asks: boolean): Promise<void> {
    const { cache, data } = this.#deps;
    await data.all(
      asks
        ? sql`insert into answer_category (category_id) values (${categoryId}) on conflict do nothing`
        : sql`delete from answer_category where category_id = ${categoryId}`,
    );
    await cache.purge(answersTag, discussionCacheTags.all, discussionCacheTags.lists);
  }

  /** The answer of each discussion; undefined if it is not solved. Cached until one of these discussions changes. */
  async ofDiscussions(ids: readonly string[]): Promise<ReadonlyArray<Answer | undefined>> {
    const { cache, data } = this.#deps;
    if (ids.length === 0 || (await this.categories()).size === 0) return ids.map(() => undefined);
    const tags = [answersTag, discussionCacheTags.all, discussionCacheTags.categories];
    return cache.remember(
      `answers.of:${ids.join()}`,
      [...tags, ...ids.map(discussionCacheTags.discussion)],
      async () => {
        const rows = await data.all(sql<Answer>`select a.discussion_id as "discussionId", a.post_id as "postId",
            a.accepted_at as "acceptedAt"
          from ${await this.#valid()} and a.discussion_id = any(${ids}::uuid[])`);
        const found = new Map(rows.map((row) => [row.discussionId, row]));
        return ids.map((id) => found.get(id));
      },
    );
  }

  /** The ids of those posts that are accepted answers. */
  async amongPosts(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if ((await this.categories()).size === 0) return new Set();
    const rows = await this.#deps.data.all(
      sql<{ id: string }>`select a.post_id as id from ${await this.#valid()} and a.post_id = any(${ids}::uuid[])`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** The condition that the discussion `d` is solved. */
  async solved(): Promise<DiscussionCondition> {
    return sql<boolean>`exists (select 1 from ${await this.#valid()} and a.discussion_id = d.id)`;
  }

  /** Replaces the accepted answer of a discussion. Resolves to false if the post already is the accepted answer. */
  async accept(discussionId: string, postId: string, by: string): Promise<boolean> {
    const rows = await this.#deps.data
      .all(sql`insert into answer as a (discussion_id, post_id, accepted_by, accepted_at)
      values (${discussionId}, ${postId}, ${by}, ${new Date(this.#deps.clock.now())})
      on conflict (discussion_id) do update set post_id = excluded.post_id, accepted_by = excluded.accepted_by,
        accepted_at = excluded.accepted_at
        where a.post_id <> excluded.post_id returning 1`);
    return rows.length > 0;
  }

  /** Resolves to true if the post was the accepted answer. */
  async withdraw(discussionId: string, postId: string): Promise<boolean> {
    const rows = await this.#deps.data.all(
      sql`delete from answer where discussion_id = ${discussionId} and post_id = ${postId} returning 1`,
    );
    return rows.length > 0;
  }

  /** Deletes the post's mark in a discussion that it is no longer in. Must be called in a transaction. */
  async forgetElsewhere(discussionId: string, postId: string): Promise<void> {
    await this.#deps.data.all(sql`delete from answer where post_id = ${postId} and discussion_id <> ${discussionId}`);
  }

  /** For imports. */
  async addMany(postIds: readonly string[]): Promise<void> {
    const { data, clock } = this.#deps;
    await data.all(sql`insert into answer (discussion_id, post_id, accepted_at)
      select p.discussion_id, p.id, ${new Date(clock.now())}::timestamptz from (${await this.#posts()}) p
      where p.id = any(${postIds}::uuid[]) order by p.discussion_id, p.id on conflict do nothing`);
  }

  /**
   * The `from` and `where` clauses for answers that count: the post exists, is still in the discussion, and the
   * category asks for answers.
   */
  async #valid(): Promise<RawBuilder<unknown>> {
    return sql`answer a join (${await this.#posts()}) p on p.id = a.post_id and p.discussion_id = a.discussion_id
      join answer_category c on c.category_id = p.category_id where true`;
  }

  #posts(): Promise<RawBuilder<unknown>> {
    return this.#deps.discussions.readablePosts(this.#deps.access.unrestricted);
  }
}
