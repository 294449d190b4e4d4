import { sql, type Data, type Environment, type RawBuilder, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  discussionCreated,
  discussionDeleted,
  discussionUpdated,
  postCreated,
  postDeleted,
  postsMoved,
  postUpdated,
  listCacheTags,
  type DiscussionEvent,
  type PostEvent,
  type PostsMovedEvent,
} from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';
import type { CategoryService } from '../categories/category-service.ts';
import { discussionPath, postPath } from '../identifiers.ts';
import { VISIBLE_REPLY_TO } from '../rows.ts';

interface EventRulesDeps {
  readonly data: Data;
  readonly categories: CategoryService;
  readonly environment: Environment;
}
interface AboutDiscussion {
  readonly discussion: Static<typeof DiscussionEvent>;
}
interface AboutPost {
  readonly post: Static<typeof PostEvent>;
}
interface IdRow {
  readonly id: string;
}
interface DiscussionNow extends IdRow {
  readonly number: number;
  readonly title: string;
  readonly slug: string;
  readonly category_id: string;
}
interface PostNow extends IdRow {
  readonly discussion_id: string;
  readonly number: number;
  /** Number of the discussion the post is in. */
  readonly discussion: number;
  readonly content: string;
  readonly html: string;
  readonly reply_to_number: number | null;
}

/**
 * Events about discussions and posts are visible to viewers who may read them now, with their current content. Of
 * deleted ones, only the deletion is visible.
 */
export function discussionRules({ data, categories, environment }: EventRulesDeps): readonly EventRule[] {
  /** The selected rows in categories that the viewer may read, by id. */
  const readable = async <T extends IdRow>(
    viewer: Viewer,
    select: (categoryIds: readonly string[]) => RawBuilder<T>,
  ): Promise<ReadonlyMap<string, T>> => {
    await categories.refresh();
    const rows = await data.all(select(categories.visible(viewer).map(({ id }) => id)));
    return new Map(rows.map((row) => [row.id, row]));
  };

  const discussions = async (about: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> => {
    const requested = (about as readonly AboutDiscussion[]).map(({ discussion }) => discussion);
    const now = await readable(
      viewer,
      (open) => sql<DiscussionNow>`
      select id, number, title, slug, category_id from discussion
      where id = any(${requested.map(({ id }) => id)}::uuid[]) and deleted_at is null
        and category_id = any(${open}::uuid[])`,
    );
    return requested.map((discussion) => {
      const row = now.get(discussion.id);
      return (
        row !== undefined && { discussion: { ...discussion, ...row, url: environment.baseUrl + discussionPath(row) } }
      );
    });
  };
  const deletedDiscussions = async (about: readonly object[], viewer: Viewer): Promise<readonly boolean[]> => {
    const requested = (about as readonly AboutDiscussion[]).map(({ discussion }) => discussion.id);
    const known = await readable(
      viewer,
      (open) =>
        sql<IdRow>`select id from discussion where id = any(${requested}::uuid[])
          and category_id = any(${open}::uuid[])`,
    );
    return requested.map((id) => known.has(id));
  };
  const posts = async (about: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> => {
    const requested = (about as readonly AboutPost[]).map(({ post }) => post);
    const now = await readable(
      viewer,
      (open) => sql<PostNow>`
      select p.id, p.discussion_id, p.number, d.number as discussion, p.content, p.html,
        ${VISIBLE_REPLY_TO} as reply_to_number from post p join discussion d on d.id = p.discussion_id
      where p.id = any(${requested.map(({ id }) => id)}::uuid[]) and p.deleted_at is null and d.deleted_at is null
        and d.category_id = any(${open}::uuid[])`,
    );
    return requested.map((post) => {
      const row = now.get(post.id);
      if (!row) return false;
      const { discussion, ...today } = row;
      return { post: { ...post, ...today, url: environment.baseUrl + postPath(discussion, row.number) } };
    });
  };
  const deletedPosts = async (about: readonly object[], viewer: Viewer): Promise<readonly boolean[]> => {
    const requested = (about as readonly AboutPost[]).map(({ post }) => post.discussion_id);
    const known = await readable(
      viewer,
      (open) => sql<IdRow>`
      select id from discussion where id = any(${requested}::uuid[]) and deleted_at is null
        and category_id = any(${open}::uuid[])`,
    );
    return requested.map((id) => known.has(id));
  };

  /** A viewer who can see only one of the two discussions must not learn about the other. */
  const moves = async (about: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> => {
    const requested = about as readonly Static<typeof PostsMovedEvent>[];
    const ids = requested.flatMap(({ source, discussion }) => [source?.id, discussion?.id]);
    const now = await readable(
      viewer,
      (open) => sql<DiscussionNow & { deleted: boolean }>`
      select id, number, title, slug, category_id, deleted_at is not null as deleted from discussion
      where id = any(${ids}::uuid[]) and category_id = any(${open}::uuid[])`,
    );
    return requested.map(({ source, discussion, posts: moved, merged }) => {
      const row = now.get(discussion?.id ?? '');
      const [from, to] = [now.has(source?.id ?? ''), row?.deleted === false ? row : undefined];
      if (!from && !to) return false;
      const { deleted: _deleted, ...today } = to ?? {};
      return {
        source: from ? source : null,
        discussion: to ? { ...discussion, ...today, url: environment.baseUrl + discussionPath(to) } : null,
        posts: moved.map((post) => ({
          ...post,
          from_number: from ? post.from_number : null,
          number: to ? post.number : null,
        })),
        merged,
      };
    });
  };

  const rules: readonly Omit<EventRule, 'tags'>[] = [
    { hook: discussionCreated, visible: discussions },
    { hook: discussionUpdated, visible: discussions },
    { hook: discussionDeleted, visible: deletedDiscussions },
    { hook: postCreated, visible: posts },
    { hook: postUpdated, visible: posts },
    { hook: postDeleted, visible: deletedPosts },
    { hook: postsMoved, visible: moves },
  ];
  return rules.map((rule) => ({ ...rule, tags: listCacheTags }));
}
