import { sql, type Cache, type Data } from 'parley-forum';
import { accessTag, type Access, type Viewer } from 'parley-forum/plugins/access';
import { isId, encodeCursor, pageOfRows, type Page } from 'parley-forum/plugins/api';
import {
  moderate,
  discussionCacheTags,
  listCacheTags,
  type DiscussionHead,
  type DiscussionIds,
  type ListRequest,
  type PostIds,
  type PostRecord,
  type PostStub,
  type ReadablePosts,
  type DiscussionRecord,
} from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';
import { numberOf, postPath } from '../identifiers.ts';
import { listQuery } from '../lists/list-query.ts';
import { orderOfCursor, sortKeys, type OrderName } from '../lists/sort-orders.ts';
import { postWindow, type PostsRequest } from './paging.ts';
import type { Records } from './records.ts';
import {
  discussionColumns,
  FIRST_REPLIES,
  MAX_TEXT_BYTES,
  postColumns,
  PREVIEW_LENGTH,
  textSize,
  type DiscussionRow,
  type PostRow,
} from '../rows.ts';

export interface ReaderDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly access: Access;
  readonly categories: CategoryService;
  readonly records: Records;
}
/** Cache tag of everything that decides who may see a discussion; not purged by replies. */
export const headTag = (idOrNumber: string | number): string => `discussion-head:${idOrNumber}`;
/** Cache tag of the numbers of discussions and posts in a category, in addition to the tags of lists. */
export const countTag = (categoryId: string): string => `category-count:${categoryId}`;

/** A discussion as stored. */
interface StoredHead extends DiscussionHead {
  /** Its first post, if that has moved to another discussion: this one was merged, and nobody can see it any more. */
  readonly movedPostId: string | null;
  readonly deletedBy: string | null;
}
/** A post and its discussion. */
export interface FoundPost {
  readonly row: PostRow;
  readonly discussion: DiscussionHead;
}
/** A post that a reply may answer. */
export interface AnswerablePost {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
}
/** A discussion as its page needs it: the record, and the number of its posts, including deleted ones. */
export interface FoundDiscussion {
  readonly record: DiscussionRecord;
  readonly lastNumber: number;
  readonly firstPostId: string;
}

/** The most recently active discussion of a category. */
export interface LatestDiscussion extends Pick<DiscussionHead, 'number' | 'slug' | 'title'> {
  readonly at: Date;
}

/** The discussion to which a post has moved. */
export type NewPlace = Pick<DiscussionHead, 'id' | 'title'>;

/** A reply in the selection of posts to move. */
export interface MovableRow {
  readonly id: string;
  readonly number: number;
  readonly author_id: string;
  readonly content: string;
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly descending: boolean;
}
interface AuthorPostsPage {
  readonly limit: number;
  readonly offset: number;
  readonly before: string | undefined;
}

/** When the author of a post `p` first posted; an index on author and id finds it at once. */
const AUTHOR_SINCE = sql`(select a.created_at from post a where a.author_id = p.author_id and a.deleted_at is null
  order by a.id limit 1)`;

/**
 * Reads discussions and posts for a viewer. Anything the viewer may not see is absent from lists, counts and errors.
 */
export class DiscussionReader {
  readonly #deps: ReaderDeps;

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** The most recently active discussion of each category, by category id; empty categories are absent. */
  async latestIn(categoryIds: readonly string[]): Promise<ReadonlyMap<string, LatestDiscussion>> {
    const rows = await this.#deps.data.all(sql<LatestDiscussion & { readonly categoryId: string }>`
      select c.id as "categoryId", d.number, d.slug, d.title, d.last_post_at as at
      from unnest(${categoryIds}::uuid[]) c (id) cross join lateral (
        select number, slug, title, last_post_at from discussion where category_id = c.id and deleted_at is null
        order by last_post_at desc, id desc limit 1
      ) d order by c.id`);
    return new Map(rows.map(({ categoryId, ...latest }) => [categoryId, latest]));
  }

  /**
   * Finds a discussion by id or public number. Cached until it is renamed, moved, locked, pinned, deleted or restored.
   */
  async find(idOrNumber: string, viewer: Viewer): Promise<DiscussionHead | undefined> {
    const head = await this.#head(idOrNumber);
    return head && head.movedPostId === null && this.#canSee(head, viewer) ? head : undefined;
  }

  /** Like `find`, but also returns to authors what they deleted themselves, and may restore for a while. */
  async findRestorable(idOrNumber: string, viewer: Viewer): Promise<DiscussionHead | undefined> {
    const head = await this.#head(idOrNumber);
    const own = head?.authorId === viewer.id && head?.deletedBy === viewer.id;
    return own && head?.movedPostId === null && this.#deps.categories.find(head.categoryId, viewer)
      ? head
      : this.find(idOrNumber, viewer);
  }

  /**
   * The path to which that of a merged discussion or moved post redirects, for viewers who could see the original
   * place.
   */
  async formerPlace(number: string, post: number | undefined, viewer: Viewer): Promise<string | undefined> {
    const head = await this.#head(number);
    if (!head) return undefined;
    const row =
      post === undefined
        ? undefined
        : await this.#deps.data.one(
            sql<{
              id: string | null;
            }>`select moved_post_id as id from post where discussion_id = ${head.id} and number = ${post}`,
          );
    const id = row?.id ?? head.movedPostId;
    return id === null ? undefined : this.placeOf(id, viewer);
  }

  /** The discussion into which the one with this number was merged, if the viewer may see it. */
  async mergedInto(number: string, viewer: Viewer): Promise<DiscussionHead | undefined> {
    const former = await this.#head(number);
    if (!former || former.movedPostId === null) return undefined;
    const row = await this.#deps.data.one(
      sql<{ id: string }>`select discussion_id as id from post where id = ${former.movedPostId}`,
    );
    return row && this.find(row.id, viewer);
  }

  /** The path of a post, deleted or not, if the viewer may see its discussion. */
  async placeOf(postId: string, viewer: Viewer): Promise<string | undefined> {
    const row = await this.#deps.data.one(
      sql<{
        discussion: string;
        number: number;
      }>`select discussion_id as discussion, number from post where id = ${postId}`,
    );
    const discussion = row && (await this.find(row.discussion, viewer));
    return discussion && postPath(discussion.number, row.number);
  }

  async findPost(id: string, viewer: Viewer): Promise<FoundPost | undefined> {
    if (!isId(id)) return undefined;
    const { data, access } = this.#deps;
    const row = await data.one(
      sql<PostRow>`select ${postColumns(1)} from post p where p.id = ${id} and p.moved_post_id is null`,
    );
    if (!row || (row.deleted_at && !access.allows(viewer, moderate))) return undefined;
    const discussion = await this.find(row.discussion_id, viewer);
    return discussion && { row, discussion };
  }

  /** Like `findPost`, but also returns to authors what they deleted themselves. */
  async findRestorablePost(id: string, viewer: Viewer): Promise<FoundPost | undefined> {
    if (!isId(id) || viewer.id === undefined) return undefined;
    const row = await this.#deps.data.one(
      sql<PostRow>`select ${postColumns(1)} from post p where p.id = ${id} and p.moved_post_id is null
        and p.author_id = ${viewer.id} and (p.deleted_at is null or p.deleted_by = ${viewer.id})`,
    );
    const discussion = row && (await this.findRestorable(row.discussion_id, viewer));
    return discussion ? { row, discussion } : this.findPost(id, viewer);
  }

  /** A post of the discussion by its number, as given in a URL. */
  async postNumbered(head: DiscussionHead, text: string, viewer: Viewer): Promise<FoundPost | undefined> {
    const number = numberOf(text);
    const row =
      number === undefined
        ? undefined
        : await this.#deps.data.one(
            sql<PostRow>`select ${postColumns(1)} from post p
              where p.discussion_id = ${head.id} and p.number = ${number} and p.moved_post_id is null`,
          );
    if (!row || (row.deleted_at && !this.#deps.access.allows(viewer, moderate))) return undefined;
    return { row, discussion: head };
  }

  /**
   * The post that a reply may answer, by id or number, if it is not deleted. The discussion must be visible to the
   * viewer.
   */
  answerable({ id }: DiscussionHead, idOrNumber: string): Promise<AnswerablePost | undefined> {
    const number = numberOf(idOrNumber);
    if (number === undefined && !isId(idOrNumber)) return Promise.resolve(undefined);
    return this.#deps.data.one(sql<AnswerablePost>`select id, number, author_id as "authorId" from post
      where discussion_id = ${id} and ${number === undefined ? sql`id = ${idOrNumber}` : sql`number = ${number}`} and deleted_at is null`);
  }

  async discussion(head: DiscussionHead, viewer: Viewer): Promise<FoundDiscussion | undefined> {
    const { cache, data, records } = this.#deps;
    const rows = await cache.remember(
      `discussions.one:${head.id}`,
      [discussionCacheTags.discussion(head.id), discussionCacheTags.viewsOf(head.id), discussionCacheTags.all],
      () =>
        data.all(
          sql<DiscussionRow>`select ${discussionColumns(1)} from discussion d join post f on f.id = d.first_post_id
            where d.id = ${head.id}`,
        ),
    );
    const [record] = await records.discussions(rows, viewer);
    return record && { record, lastNumber: rows[0]!.last_number, firstPostId: rows[0]!.first_post_id };
  }

  async list(request: ListRequest, viewer: Viewer): Promise<Page<DiscussionRecord>> {
    const { limit, sort, category, pinnedFirst, cursor } = request;
    const everywhere = pinnedFirst ? 'pinned_everywhere' : cursor === undefined ? 'latest' : orderOfCursor(cursor);
    const order: OrderName = sort ?? (category ? 'pinned' : everywhere);
    const rows = await this.#rows(request, order, viewer);
    const page = pageOfRows(rows, limit, (last) => sortKeys(order, last));
    return { ...page, items: await this.#deps.records.discussions(page.items, viewer) };
  }

  async recordsOf(ids: readonly string[], viewer: Viewer): Promise<readonly DiscussionRecord[]> {
    const wanted = ids.filter(isId);
    const visible = await this.#visible(viewer);
    if (wanted.length === 0 || visible.length === 0) return [];
    const rows = await this.#deps.data.all(sql<DiscussionRow>`
      select ${discussionColumns(wanted.length)} from discussion d join post f on f.id = d.first_post_id
      where d.id = any(${wanted}::uuid[]) and d.deleted_at is null and d.category_id = any(${visible}::uuid[])
      order by array_position(${wanted}::uuid[], d.id)`);
    return this.#deps.records.discussions(rows, viewer);
  }

  async postsOf(ids: readonly string[], viewer: Viewer): Promise<readonly PostRecord[]> {
    const wanted = ids.filter(isId);
    const visible = await this.#visible(viewer);
    if (wanted.length === 0 || visible.length === 0) return [];
    const rows = await this.#deps.data.all(sql<PostRow>`
      select ${postColumns(wanted.length)} from post p join discussion d on d.id = p.discussion_id
      where p.id = any(${wanted}::uuid[]) and p.deleted_at is null and d.deleted_at is null
        and d.category_id = any(${visible}::uuid[])
      order by array_position(${wanted}::uuid[], p.id)`);
    return (await this.#deps.records.posts(rows, viewer, false)) as readonly PostRecord[];
  }

  /**
   * A page of a discussion's posts. Contains fewer posts than requested if they are long; the cursor continues with the
   * next one.
   */
  async posts(
    { head, lastNumber }: { readonly head: DiscussionHead; readonly lastNumber: number },
    request: PostsRequest,
    viewer: Viewer,
  ): Promise<Page<PostRecord | PostStub>> {
    const { near, descending = false } = request;
    let window = postWindow(lastNumber, request);
    let items = await this.postsBetween(head, window, viewer);
    const wanted = near === undefined ? undefined : Math.min(near, lastNumber);
    if (
      wanted !== undefined &&
      wanted >= window.from &&
      wanted <= window.to &&
      !items.some(({ number }) => number === wanted)
    ) {
      window = postWindow(lastNumber, {
        ...request,
        near: undefined,
        offset: descending ? lastNumber - wanted : wanted - 1,
      });
      items = await this.postsBetween(head, window, viewer);
    }
    const cut = items.length <= window.to - window.from;
    return {
      items,
      hasMore: cut || window.hasMore,
      nextCursor: cut ? encodeCursor([items.at(-1)!.number]) : window.nextCursor,
    };
  }

  /** Number of the first post written at that time or later, or of the last post if there is none. */
  async numberSince(head: DiscussionHead, since: Date): Promise<number> {
    const row = await this.#deps.data.one(sql<{ number: number }>`
      select coalesce(
        (select number from post where discussion_id = ${head.id} and created_at >= ${since} order by number limit 1),
        (select last_number from discussion where id = ${head.id})) as number`);
    return row!.number;
  }

  /** Total bytes of text in a range of posts; and the post whose stub is the last one, if that has moved. */
  async upTo(
    { id }: DiscussionHead,
    { from, to }: Omit<Range, 'descending'>,
  ): Promise<{ readonly size: number; readonly movedPostId: string | null }> {
    const row = await this.#deps.data.one(sql<{ size: number; movedPostId: string | null }>`
      select (select coalesce(sum(${textSize('p')}), 0)::int from post p
          where p.discussion_id = ${id} and p.number between ${from} and ${to}) as size,
        (select moved_post_id from post where discussion_id = ${id} and number = ${to}) as "movedPostId"`);
    return row!;
  }

  /**
   * Posts with numbers from `from` to `to`, both inclusive, in the requested order, up to the response size limit but
   * always at least one. Deleted posts are returned as stubs.
   */
  async postsBetween(
    head: DiscussionHead,
    { from, to, descending }: Range,
    viewer: Viewer,
  ): Promise<readonly (PostRecord | PostStub)[]> {
    const { cache, data, records, access } = this.#deps;
    const order = sql.raw(descending ? 'p.number desc' : 'p.number');
    const rows = await cache.remember(
      `discussions.posts:${head.id}:${from}:${to}:${descending}`,
      [discussionCacheTags.discussion(head.id), discussionCacheTags.all],
      () =>
        data.all(sql<PostRow>`select ${postColumns(1)}, ${FIRST_REPLIES} as replies, ${AUTHOR_SINCE} as author_since
        from (select p.*, sum(${textSize('p')}) over (order by ${order}) as reached from post p
            where p.discussion_id = ${head.id} and p.number between ${from} and ${to}) p
        where p.reached <= ${sql.lit(MAX_TEXT_BYTES)} or p.number = ${descending ? to : from} order by ${order}`),
    );
    const posts = await records.posts(rows, viewer, access.allows(viewer, moderate));
    const moved = new Map(
      rows.flatMap(({ number, moved_post_id: id }) => (id === null ? [] : [[number, id] as const])),
    );
    if (moved.size === 0) return posts;
    const reachable = await this.newPlaces([...moved.values()], viewer);
    return posts.map((post) => {
      const id = moved.get(post.number);
      return id === undefined ? post : { ...(post as PostStub), moved_post_id: reachable.has(id) ? id : null };
    });
  }

  /** Replies in a range of numbers that are not deleted, with the beginning of their text. */
  movable({ id }: DiscussionHead, { from, to }: Omit<Range, 'descending'>): Promise<readonly MovableRow[]> {
    return this.#deps.data
      .all(sql<MovableRow>`select id, number, author_id, left(content, ${sql.lit(PREVIEW_LENGTH)}) as content from post
      where discussion_id = ${id} and number between ${Math.max(from, 2)} and ${to} and deleted_at is null
      order by number`);
  }

  /** The first posts from this number on that can be moved. */
  movableFrom(
    { id }: DiscussionHead,
    number: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly number: number }[]> {
    return this.#deps.data.all(sql<{ id: string; number: number }>`select id, number from post
      where discussion_id = ${id} and number >= ${Math.max(number, 2)} and deleted_at is null
      order by number limit ${limit}`);
  }

  /** An author's posts, newest first; `before` is the id of the last post on the previous page. */
  async postsBy(
    authorId: string,
    { limit, offset, before }: AuthorPostsPage,
    viewer: Viewer,
  ): Promise<Page<PostRecord>> {
    const visible = await this.#visible(viewer);
    if (visible.length === 0 || !isId(authorId)) return { items: [], hasMore: false, nextCursor: undefined };
    const rows = await this.#deps.data.all(sql<PostRow>`
      select ${postColumns(limit)} from post p join discussion d on d.id = p.discussion_id
      where p.author_id = ${authorId} and p.deleted_at is null and d.deleted_at is null
        and d.category_id = any(${visible}::uuid[])
        ${before === undefined ? sql`` : sql`and p.id < ${before}::uuid`}
      order by p.id desc limit ${limit + 1}${offset > 0 ? sql` offset ${offset}` : sql``}`);
    const page = pageOfRows(rows, limit, ({ id }) => [id]);
    const items = await this.#deps.records.posts(page.items, viewer, false);
    return { ...page, items: items as readonly PostRecord[] };
  }

  async visible(viewer: Viewer): Promise<DiscussionIds> {
    const notDeleted = this.#deps.access.allows(viewer, moderate) ? sql`` : sql` and deleted_at is null`;
    return sql`select id as discussion_id from discussion
      where category_id = any(${await this.#visible(viewer)}::uuid[])${notDeleted}`;
  }

  async visiblePosts(viewer: Viewer): Promise<PostIds> {
    const notDeleted = this.#deps.access.allows(viewer, moderate) ? sql`` : sql` and deleted_at is null`;
    return sql`select id as post_id from post where discussion_id in (${await this.visible(viewer)})${notDeleted}`;
  }

  /** A select of the posts that `postsOf` finds. */
  async readablePosts(viewer: Viewer): Promise<ReadablePosts> {
    return sql`select p.id, p.number, p.content, p.discussion_id, d.title, d.category_id from post p
      join discussion d on d.id = p.discussion_id
      where p.deleted_at is null and d.deleted_at is null
        and d.category_id = any(${await this.#visible(viewer)}::uuid[])`;
  }

  async discussionsOf(postIds: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#deps.data.all(sql<{ id: string; discussion_id: string }>`
      select p.id, p.discussion_id from (${await this.readablePosts(viewer)}) p where p.id = any(${postIds}::uuid[])`);
    return new Map(rows.map((row) => [row.id, row.discussion_id]));
  }

  /** The discussions that these posts are in now, by post id, except those the viewer may not see. */
  async newPlaces(ids: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, NewPlace>> {
    if (ids.length === 0) return new Map();
    const rows = await this.#deps.data.all(
      sql<
        NewPlace & { post: string }
      >`select p.id as post, d.id, d.title from post p join discussion d on d.id = p.discussion_id
        where p.id = any(${ids}::uuid[]) and d.id in (${await this.visible(viewer)}) order by p.id`,
    );
    return new Map(rows.map(({ post, ...discussion }) => [post, discussion]));
  }

  #canSee(head: DiscussionHead, viewer: Viewer): boolean {
    const category = this.#deps.categories.find(head.categoryId, viewer);
    return category !== undefined && (!head.deleted || this.#deps.access.allows(viewer, moderate));
  }

  /** Ids of the categories that the viewer may see, or of the requested one. */
  async #visible(viewer: Viewer, only?: string): Promise<readonly string[]> {
    const { categories } = this.#deps;
    await categories.refresh();
    const ids = categories.visible(viewer).map((category) => category.id);
    return only === undefined ? ids : ids.filter((id) => id === only);
  }

  async #head(idOrNumber: string): Promise<StoredHead | undefined> {
    const number = numberOf(idOrNumber);
    if (number === undefined && !isId(idOrNumber)) return undefined;
    const { cache, data, categories } = this.#deps;
    await categories.refresh();
    const [key, condition] =
      number === undefined
        ? [idOrNumber.toLowerCase(), sql`id = ${idOrNumber}`]
        : [String(number), sql`number = ${number}`];
    const cached = await cache.remember(`discussions.head:${key}`, [headTag(key), discussionCacheTags.all], () =>
      data.all(sql<StoredHead>`select id, number, title, slug, category_id as "categoryId", author_id as "authorId",
        first_post_id as "firstPostId", is_locked as locked, is_pinned as pinned, deleted_at is not null as deleted,
        deleted_by as "deletedBy", (select f.moved_post_id from post f where f.id = first_post_id) as "movedPostId"
        from discussion where ${condition}`),
    );
    return cached[0];
  }

  async #rows(request: ListRequest, order: OrderName, viewer: Viewer): Promise<readonly DiscussionRow[]> {
    const { cache, data, access, categories } = this.#deps;
    const { category, categoryIds, authorId, within, where, limit, offset = 0, cursor } = request;
    const visible = (await this.#visible(viewer, category?.id)).filter((id) => categoryIds?.includes(id) ?? true);
    if (visible.length === 0 || (authorId !== undefined && !isId(authorId))) return [];
    const query = listQuery({ request, order, visible, all: categories.all().length });
    if (within || where) return data.all(query);
    const key = [
      'discussions.list',
      access.signature(viewer),
      viewer.id === undefined,
      order,
      category?.id,
      categoryIds,
      authorId,
      limit,
      offset,
      cursor,
    ].join(':');
    return cache.remember(key, [...listCacheTags, discussionCacheTags.views, accessTag], () => data.all(query));
  }
}
