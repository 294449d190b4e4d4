import type { Environment } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { BookmarkRecord } from 'parley-forum/plugins/bookmarks';
import type { DiscussionRecord, Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { Bookmark } from './rows.ts';

export interface RecordsDeps {
  readonly environment: Environment;
  readonly discussions: Pick<Discussions, 'posts' | 'records'>;
  readonly markdown: Pick<Markdown, 'excerpt'>;
}
/** A bookmark as pages and the API show it. */
export interface ShownBookmark {
  readonly record: BookmarkRecord;
  readonly category: DiscussionRecord['category'];
  /** The path of the post. */
  readonly path: string;
}

/** The length of a post's excerpt, in characters. */
const EXCERPT = 280;

/**
 * Bookmarks with their posts, in order; those whose posts the viewer may not see are left out. The number of statements
 * does not depend on the number of bookmarks.
 */
export async function shownBookmarks(
  { environment, discussions, markdown }: RecordsDeps,
  bookmarks: readonly Bookmark[],
  viewer: Viewer,
): Promise<readonly ShownBookmark[]> {
  const posts = new Map(
    (
      await discussions.posts(
        bookmarks.map(({ postId }) => postId),
        viewer,
      )
    ).map((post) => [post.id, post]),
  );
  const discussionIds = [...new Set([...posts.values()].map((post) => post.discussion_id))];
  const found = new Map(
    (await discussions.records(discussionIds, viewer)).map((discussion) => [discussion.id, discussion]),
  );
  return bookmarks.flatMap((bookmark): ShownBookmark[] => {
    const post = posts.get(bookmark.postId);
    const discussion = post && found.get(post.discussion_id);
    if (!discussion) return [];
    const path = `/d/${discussion.number}/${post.number}`;
    const record = {
      id: bookmark.id,
      note: bookmark.note,
      remind_at: bookmark.remindAt?.toISOString() ?? null,
      reminded_at: bookmark.remindedAt?.toISOString() ?? null,
      created_at: bookmark.createdAt.toISOString(),
      post: {
        id: post.id,
        number: post.number,
        excerpt: markdown.excerpt(post.content, EXCERPT),
        url: environment.baseUrl + path,
        author: post.author,
        created_at: post.created_at,
      },
      discussion: { id: discussion.id, number: discussion.number, title: discussion.title, url: discussion.url },
    };
    return [{ record, category: discussion.category, path }];
  });
}
