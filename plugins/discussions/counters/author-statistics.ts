import { sql, Type, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { UserField } from 'parley-forum/plugins/accounts';
import { badCursor, decodeCursor, encodeCursor, isId, type Page } from 'parley-forum/plugins/api';
import { discussionCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';

export interface AuthorCounts {
  readonly discussions: number;
  readonly posts: number;
}

/** How many discussions and posts members wrote in categories the viewer may read. */
export class AuthorStatistics {
  readonly #data: Data;
  readonly #categories: CategoryService;

  constructor(data: Data, categories: CategoryService) {
    this.#data = data;
    this.#categories = categories;
  }

  /** In the order of `ids`, in one statement. */
  async of(ids: readonly string[], viewer: Viewer): Promise<readonly AuthorCounts[]> {
    await this.#categories.refresh();
    const visible = this.#categories.visible(viewer).map((category) => category.id);
    const rows = await this.#data.all(sql<
      AuthorCounts & { id: string }
    >`select user_id as id, sum(discussions)::int as discussions, sum(posts)::int as posts
      from discussion_author where user_id = any(${ids}::uuid[]) and category_id = any(${visible}::uuid[]) group by user_id order by user_id`);
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => found.get(id) ?? { discussions: 0, posts: 0 });
  }

  /** Those with the most posts there; of equally many the one with the greater id. */
  async most(
    { limit, offset = 0, cursor }: Parameters<Discussions['mostPosts']>[0],
    viewer: Viewer,
  ): Promise<Page<string>> {
    await this.#categories.refresh();
    const visible = this.#categories.visible(viewer).map((category) => category.id);
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const beyond = after ? sql` and (sum(posts), user_id) < (${after[0]}::bigint, ${after[1]}::uuid)` : sql``;
    const rows = await this.#data.all(sql<{ id: string; posts: number }>`
      select user_id as id, sum(posts)::int as posts from discussion_author where category_id = any(${visible}::uuid[])
      group by user_id having sum(posts) > 0${beyond} order by sum(posts) desc, user_id desc limit ${limit + 1} offset ${offset}`);
    const items = rows.slice(0, limit);
    const last = items.at(-1);
    const hasMore = rows.length > limit;
    const nextCursor = hasMore && last ? encodeCursor([last.posts, last.id]) : undefined;
    return { items: items.map(({ id }) => id), hasMore, nextCursor };
  }

  /** `discussion_count` and `post_count` of the user record. */
  fields(): readonly UserField[] {
    const field = (name: string, read: (written: AuthorCounts) => number): UserField => ({
      name,
      result: Type.Integer(),
      tags: [discussionCacheTags.lists, discussionCacheTags.categories],
      loadMany: async (ids, viewer) => (await this.of(ids, viewer)).map(read),
    });
    return [field('discussion_count', ({ discussions }) => discussions), field('post_count', ({ posts }) => posts)];
  }
}

function readCursor(cursor: string): readonly [number, string] {
  const [posts, id] = decodeCursor(cursor, 2);
  if (!Number.isSafeInteger(posts) || typeof id !== 'string' || !isId(id)) throw badCursor();
  return [Number(posts), id];
}
