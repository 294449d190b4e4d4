import { defineAction, defineExtensionPoint, defineFilter, definePermission, defineToken, Type, type EntityManager, type TSchema } from '#core';
import type { Audience, Viewer } from '#plugins/access';

/** What an event says of a discussion and a post; also what integrators receive. */
export const DiscussionEvent = Type.Object({
  id: Type.String(), number: Type.Integer(), title: Type.String(), slug: Type.String(), url: Type.String(), category_id: Type.String(),
  author: Type.Object({ id: Type.String(), username: Type.String() }), created_at: Type.String(),
});
export const PostEvent = Type.Object({
  id: Type.String(), discussion_id: Type.String(), number: Type.Integer(), content: Type.String(), html: Type.String(), url: Type.String(),
  author: Type.Object({ id: Type.String(), username: Type.String() }), created_at: Type.String(),
});
interface DiscussionPayload {
  readonly discussion: { readonly id: string; readonly number: number; readonly title: string; readonly slug: string; readonly url: string; readonly category_id: string; readonly author: { readonly id: string; readonly username: string }; readonly created_at: string };
}
interface PostPayload {
  readonly post: { readonly id: string; readonly discussion_id: string; readonly number: number; readonly content: string; readonly html: string; readonly url: string; readonly author: { readonly id: string; readonly username: string }; readonly created_at: string };
  readonly category_id: string;
}

/** A new discussion is visible. Its first post does not raise `post.created` as well. */
export const discussionCreated = defineAction<DiscussionPayload>('discussion.created', { public: Type.Object({ discussion: DiscussionEvent }) });
/** Title, category, tags, pin or lock changed, or it was restored. */
export const discussionUpdated = defineAction<DiscussionPayload>('discussion.updated');
export const discussionDeleted = defineAction<DiscussionPayload>('discussion.deleted');
/** A reply is visible. */
export const postCreated = defineAction<PostPayload>('post.created', { public: Type.Object({ post: PostEvent }) });
export const postUpdated = defineAction<PostPayload>('post.updated');
export const postDeleted = defineAction<PostPayload>('post.deleted');

/** Last word on what somebody is about to publish: throw `HttpError` to refuse, or return it changed. */
export const draftAccepted = defineFilter<{ readonly title?: string; readonly content: string }, { readonly author: Viewer; readonly categoryId: string }>('discussion.draft', 'abort');

/**
 * A field that another plugin adds to a record. The owner composes it into its request and result schemas, and so into
 * OpenAPI, while that plugin runs. `loadMany` gets all ids of a page at once and answers for each, in order.
 */
export interface Field {
  readonly name: string;
  readonly result: TSchema;
  loadMany(ids: readonly string[], viewer: Viewer): Promise<readonly unknown[]>;
  readonly body?: TSchema;
  save?(em: EntityManager, id: string, value: unknown, viewer: Viewer): Promise<void>;
}
export const discussionFields = defineExtensionPoint<Field>('discussions.discussion-fields');
export const postFields = defineExtensionPoint<Field>('discussions.post-fields');
export const categoryFields = defineExtensionPoint<Field>('discussions.category-fields');

export interface Category {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly parentId: string | null;
  /** Degrees on the colour wheel in steps of 15; lightness belongs to the theme. */
  readonly hue: number;
  readonly icon: string;
  readonly position: number;
  readonly view: Audience;
  readonly create: Audience;
  readonly reply: Audience;
}

/** All categories are held in memory and exact: a change replaces them before it is answered. */
export interface Categories {
  all(): readonly Category[];
  visible(viewer: Viewer): readonly Category[];
  /** By id or slug; undefined also when the viewer may not see it. */
  find(idOrSlug: string, viewer: Viewer): Category | undefined;
  save(category: Partial<Category> & { readonly name: string }): Promise<Category>;
}
export const Categories = defineToken<Categories>('Categories');

export interface Discussions {
  /** Markdown in, ids out. 400 naming the field, 403 where the category does not let the viewer. */
  start(viewer: Viewer, draft: { readonly title: string; readonly content: string; readonly categoryId: string; readonly fields?: Readonly<Record<string, unknown>> }): Promise<{ readonly discussionId: string; readonly number: number; readonly postId: string; readonly path: string }>;
  reply(viewer: Viewer, draft: { readonly discussionId: string; readonly content: string }): Promise<{ readonly id: string; readonly number: number; readonly path: string }>;
  /** By id or public number, if the viewer may see it. */
  find(idOrNumber: string, viewer: Viewer): Promise<{ readonly id: string; readonly number: number; readonly title: string; readonly categoryId: string; readonly authorId: string; readonly locked: boolean } | undefined>;
}
export const Discussions = defineToken<Discussions>('Discussions');

export const startDiscussion = definePermission('discussions.start', { label: 'start discussions', default: 'member' });
export const writeReply = definePermission('discussions.reply', { label: 'reply', default: 'member' });
export const editPost = definePermission('discussions.edit', { label: 'edit posts', default: 'member' });
export const moderate = definePermission('discussions.moderate', { label: 'edit, move, pin, lock, delete and restore what others wrote', default: 'moderator' });
export const manageCategories = definePermission('discussions.manage-categories', { label: 'manage categories', default: 'admin' });
