import type { Static } from 'parley-forum';
import type { DiscussionEvent, PostEvent } from 'parley-forum/plugins/discussions';
import { discussionPath, postPath } from '../identifiers.ts';

interface PostAuthor {
  readonly id: string;
  readonly username: string;
}

interface Named {
  readonly number: number;
  readonly slug: string;
}

/** The event payload of a discussion; `baseUrl` makes its URL absolute. */
export function discussionEvent(
  baseUrl: string,
  discussion: Named & {
    readonly id: string;
    readonly title: string;
    readonly categoryId: string;
    readonly createdAt: Date;
  },
  author: PostAuthor,
): Static<typeof DiscussionEvent> {
  const { id, number, title, slug, categoryId, createdAt } = discussion;
  return {
    id,
    number,
    title,
    slug,
    url: baseUrl + discussionPath(discussion),
    category_id: categoryId,
    author: { id: author.id, username: author.username },
    created_at: createdAt.toISOString(),
  };
}

/** The event payload of a post. */
export function postEvent(
  baseUrl: string,
  post: {
    readonly id: string;
    readonly number: number;
    readonly content: string;
    readonly html: string;
    readonly createdAt: Date;
    readonly replyToNumber?: number | null | undefined;
  },
  discussion: { readonly id: string; readonly number: number },
  author: PostAuthor,
): Static<typeof PostEvent> {
  const { id, number, content, html, createdAt, replyToNumber } = post;
  return {
    id,
    discussion_id: discussion.id,
    number,
    content,
    html,
    url: baseUrl + postPath(discussion.number, number),
    author: { id: author.id, username: author.username },
    created_at: createdAt.toISOString(),
    reply_to_number: replyToNumber ?? null,
  };
}
