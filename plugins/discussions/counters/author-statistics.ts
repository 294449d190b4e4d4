import { sql, Type, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { UserField } from 'parley-forum/plugins/accounts';
import { badCursor, decodeCursor, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import { discussionCacheTags, type Discussions } from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';

export interface AuthorCounts {
  readonly discussions: number;
  readonly posts: number;
}

/** A member and the number of their posts. */
interface Row {
  readonly id: string;
  readonly posts: number;
}
/** A position in the order by number of posts: the number, and the member's id. */
type Place = readonly [posts: number, id: string];

/**
 * Sizes of the first and the last batch of members to read, each four times the one before, before all are counted
 * instead; and the last row of the list for which this is tried.
 */
const MIN_BATCH = 100;
const MAX_BATCH = 8_000;
const MAX_WANTED = 1_000;

const isAfter = ([posts, id]: Place, [before, beforeId]: Place): boolean =>
  posts === before ? id < beforeId : posts < before;
const byPosts = (a: Row, b: Row): number => (isAfter([a.posts, a.id], [b.posts, b.id]) ? 1 : -1);

/** Numbers of discussions and posts that members wrote in categories the viewer may read. */
export class AuthorStatistics {
  readonly #data: Data;
  readonly #categories: CategoryService;

  constructor(data: Data, categories: CategoryService) {
    this.#data = data;
    this.#categories = categories;
  }

  /** Counts in the order of `ids`, in one statement. */
  async of(ids: readonly string[], viewer: Viewer): Promise<readonly AuthorCounts[]> {
    await this.#categories.refresh();
    const visible = this.#categories.visible(viewer).map((category) => category.id);
    const rows = await this.#data.all(sql<
      AuthorCounts & { id: string }
    >`select user_id as id, sum(discussions)::int as discussions, sum(posts)::int as posts
      from discussion_author where user_id = any(${ids}::uuid[]) and category_id = any(${visible}::uuid[])
      group by user_id order by user_id`);
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => found.get(id) ?? { discussions: 0, posts: 0 });
  }

  /** Number of their posts in all categories. */
  async totals(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#data.all(
      sql<Row>`select user_id as id, posts from discussion_author_total where user_id = any(${ids}::uuid[])
        order by user_id`,
    );
    const found = new Map(rows.map(({ id, posts }) => [id, posts]));
    return new Map(ids.map((id) => [id, found.get(id) ?? 0]));
  }

  /** Members with the most posts in the categories the viewer may read; ties are broken by the greater id. */
  async most(
    { limit, offset = 0, cursor }: Parameters<Discussions['mostPosts']>[0],
    viewer: Viewer,
  ): Promise<Page<string>> {
    await this.#categories.refresh();
    const visible = this.#categories.visible(viewer).map((category) => category.id);
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const wanted = offset + limit + 1;
    const nearest = wanted <= MAX_WANTED ? await this.#nearest(visible, after, wanted) : undefined;
    const rows = nearest?.slice(offset, wanted) ?? (await this.#counted(visible, after, limit + 1, offset));
    const page = pageOfRows(rows, limit, ({ posts, id }) => [posts, id]);
    return { ...page, items: page.items.map(({ id }) => id) };
  }

  /**
   * The first rows of that order, using an index. Nobody has more posts in some categories than in all of them, so
   * members are read in the order of their totals until the remaining ones cannot be among the rows. Undefined if too
   * many members would have to be read because most of their posts are in other categories.
   */
  async #nearest(visible: readonly string[], after: Place | undefined, wanted: number): Promise<Row[] | undefined> {
    const all = visible.length === this.#categories.all().length;
    let from = all ? after : undefined;
    const found: Row[] = [];
    for (let batch = Math.max(MIN_BATCH, wanted); batch <= MAX_BATCH; batch *= 4) {
      const beyond = from ? sql` and (posts, user_id) < (${from[0]}::bigint, ${from[1]}::uuid)` : sql``;
      const rows = await this.#data.all(sql<Row & { readonly total: number }>`
        select t.user_id as id, t.posts as total,
          case when ${all}::boolean then t.posts else coalesce((select sum(posts)::int from discussion_author a
          where a.user_id = t.user_id and a.category_id = any(${visible}::uuid[])), 0) end as posts
        from (select user_id, posts from discussion_author_total
            where posts > 0${beyond} order by posts desc, user_id desc limit ${sql.lit(batch)}) t
        order by t.posts desc, t.user_id desc`);
      found.push(...rows.filter(({ id, posts }) => posts > 0 && (!after || isAfter([posts, id], after))));
      const last = rows.at(-1);
      const ends = rows.length < batch || !last;
      const certain = ends ? found : found.filter(({ id, posts }) => !isAfter([posts, id], [last.total, last.id]));
      if (ends || certain.length >= wanted) return certain.toSorted(byPosts);
      from = [last.total, last.id];
    }
    return undefined;
  }

  /** The same rows, by counting all members. */
  #counted(visible: readonly string[], after: Place | undefined, limit: number, offset: number): Promise<Row[]> {
    const beyond = after ? sql` and (sum(posts), user_id) < (${after[0]}::bigint, ${after[1]}::uuid)` : sql``;
    return this.#data.all(sql<Row>`
      select user_id as id, sum(posts)::int as posts from discussion_author where category_id = any(${visible}::uuid[])
      group by user_id having sum(posts) > 0${beyond} order by sum(posts) desc, user_id desc
        limit ${limit} offset ${offset}`);
  }

  /** The fields `discussion_count` and `post_count` of the user record. */
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

/** Decodes a cursor to the number of posts and the id of the last member on a page; throws 400 for anything else. */
export function readCursor(cursor: string): Place {
  const [posts, id] = decodeCursor(cursor, 2);
  if (!Number.isSafeInteger(posts) || typeof id !== 'string' || !isId(id)) throw badCursor();
  return [Number(posts), id];
}
