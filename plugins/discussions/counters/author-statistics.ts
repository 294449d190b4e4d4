import { sql, Type, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { UserField } from 'parley-forum/plugins/accounts';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
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
