import { sql, type Data, type Environment, type RawBuilder, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  discussionCreated,
  discussionDeleted,
  discussionUpdated,
  postCreated,
  postDeleted,
  postUpdated,
  tags,
  type DiscussionEvent,
  type PostEvent,
} from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/plugins/events';
import type { CategoryService } from '../categories/category-service.ts';
import { discussionPath } from '../identifiers.ts';

interface Parts {
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
interface Kept {
  readonly id: string;
}

/**
 * Who may be told of what was written: whoever may read it now, and then what it says now. Of what was deleted nothing
 * is told but that.
 */
export function discussionRules({ data, categories, environment }: Parts): readonly EventRule[] {
  /** Rows about those ids that lie where the viewer may read, by id. */
  const readable = async <T extends Kept>(
    viewer: Viewer,
    select: (categoryIds: readonly string[]) => RawBuilder<T>,
  ): Promise<ReadonlyMap<string, T>> => {
    await categories.refresh();
    const rows = await data.all(select(categories.visible(viewer).map(({ id }) => id)));
    return new Map(rows.map((row) => [row.id, row]));
  };

  const discussions = async (about: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> => {
    const told = (about as readonly AboutDiscussion[]).map(({ discussion }) => discussion);
    const now = await readable(
      viewer,
      (open) => sql<{ id: string; number: number; title: string; slug: string; category_id: string }>`
      select id, number, title, slug, category_id from discussion
      where id = any(${told.map(({ id }) => id)}::uuid[]) and deleted_at is null and category_id = any(${open}::uuid[])`,
    );
    return told.map((discussion) => {
      const row = now.get(discussion.id);
      return (
        row !== undefined && { discussion: { ...discussion, ...row, url: environment.baseUrl + discussionPath(row) } }
      );
    });
  };
  const deletedDiscussions = async (about: readonly object[], viewer: Viewer): Promise<readonly boolean[]> => {
    const told = (about as readonly AboutDiscussion[]).map(({ discussion }) => discussion.id);
    const known = await readable(
      viewer,
      (open) =>
        sql<Kept>`select id from discussion where id = any(${told}::uuid[]) and category_id = any(${open}::uuid[])`,
    );
    return told.map((id) => known.has(id));
  };
  const posts = async (about: readonly object[], viewer: Viewer): Promise<readonly (boolean | object)[]> => {
    const told = (about as readonly AboutPost[]).map(({ post }) => post);
    const now = await readable(
      viewer,
      (open) => sql<{ id: string; content: string; html: string }>`
      select p.id, p.content, p.html from post p join discussion d on d.id = p.discussion_id
      where p.id = any(${told.map(({ id }) => id)}::uuid[]) and p.deleted_at is null and d.deleted_at is null and d.category_id = any(${open}::uuid[])`,
    );
    return told.map((post) => now.has(post.id) && { post: { ...post, ...now.get(post.id) } });
  };
  const deletedPosts = async (about: readonly object[], viewer: Viewer): Promise<readonly boolean[]> => {
    const told = (about as readonly AboutPost[]).map(({ post }) => post.discussion_id);
    const known = await readable(
      viewer,
      (open) => sql<Kept>`
      select id from discussion where id = any(${told}::uuid[]) and deleted_at is null and category_id = any(${open}::uuid[])`,
    );
    return told.map((id) => known.has(id));
  };

  const rules: readonly Omit<EventRule, 'tags'>[] = [
    { hook: discussionCreated, visible: discussions },
    { hook: discussionUpdated, visible: discussions },
    { hook: discussionDeleted, visible: deletedDiscussions },
    { hook: postCreated, visible: posts },
    { hook: postUpdated, visible: posts },
    { hook: postDeleted, visible: deletedPosts },
  ];
  return rules.map((rule) => ({ ...rule, tags: [tags.lists, tags.all, tags.categories] }));
}
