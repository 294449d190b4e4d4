import {
  defineAction,
  defineExtensionPoint,
  defineFilter,
  definePermission,
  defineToken,
  sql,
  Type,
  type Awaitable,
  type Backfill,
  type Counter,
  type Data,
  type EntityManager,
  type RawBuilder,
  type Static,
  type TSchema,
} from 'parley-forum';
import type { Audience, Viewer } from 'parley-forum/plugins/access';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time, type Page } from 'parley-forum/plugins/api';
import type { ModerationEntry } from 'parley-forum/plugins/moderation';
import { defineSlot, type Phrase } from 'parley-forum/plugins/web';

/** Payloads of the events about discussions and posts, which integrators receive as well. */
export const DiscussionEvent = Type.Object({
  id: Type.String(),
  number: Type.Integer(),
  title: Type.String(),
  slug: Type.String(),
  url: Type.String(),
  category_id: Type.String(),
  author: Type.Object({ id: Type.String(), username: Type.String() }),
  created_at: Type.String(),
});
export const PostEvent = Type.Object({
  id: Type.String(),
  discussion_id: Type.String(),
  number: Type.Integer(),
  content: Type.String(),
  html: Type.String(),
  url: Type.String(),
  author: Type.Object({ id: Type.String(), username: Type.String() }),
  created_at: Type.String(),
  reply_to_number: Type.Optional(
    nullable(Type.Integer({ description: 'The number of the post in its discussion that it replies to' })),
  ),
});
type DiscussionPayload = Readonly<{ discussion: Static<typeof DiscussionEvent> }>;
type PostPayload = Readonly<{ post: Static<typeof PostEvent>; category_id: string }>;

/**
 * A new discussion has become visible. `post.created` is not raised for its first post, whose text is `content` here.
 */
export const discussionCreated = defineAction<DiscussionPayload & { readonly content: string }>('discussion.created', {
  public: Type.Object({ discussion: DiscussionEvent }),
});
/**
 * The title, category, tags, pin or lock of a discussion changed, or the discussion was restored (`was_deleted`).
 * `from_category_id` is the category it was moved from.
 */
export const discussionUpdated = defineAction<
  DiscussionPayload & { readonly was_deleted?: boolean; readonly from_category_id?: string }
>('discussion.updated', { public: Type.Object({ discussion: DiscussionEvent }) });
/** A discussion and its posts are no longer visible to readers. */
export const discussionDeleted = defineAction<DiscussionPayload>('discussion.deleted', {
  public: Type.Object({ discussion: Type.Pick(DiscussionEvent, ['id', 'number']) }),
});
/**
 * A reply has become visible. `reply_to_author_id` is the author of the post it replies to, if any. `was_held` means
 * that it was held after it was sent and has now been published by `Discussions.publish`.
 */
export const postCreated = defineAction<
  PostPayload & { readonly reply_to_author_id?: string; readonly was_held?: boolean }
>('post.created', { public: Type.Object({ post: PostEvent }) });
/** The text of a post changed, or a deleted post was restored. */
export const postUpdated = defineAction<PostPayload>('post.updated', { public: Type.Object({ post: PostEvent }) });
/** A single post is no longer visible to readers. */
export const postDeleted = defineAction<PostPayload>('post.deleted', {
  public: Type.Object({ post: Type.Pick(PostEvent, ['id', 'discussion_id', 'number', 'reply_to_number']) }),
});

/** A post that was moved to another discussion, with its old and new number. */
export interface MovedPost {
  readonly id: string;
  readonly author_id: string;
  readonly from_number: number;
  readonly number: number;
}
/** The public payload of a move; anything the receiver may not see is null. */
export const PostsMovedEvent = Type.Object({
  source: nullable(Type.Object({ id: Type.String(), number: Type.Integer() })),
  discussion: nullable(DiscussionEvent),
  posts: Type.Array(
    Type.Object({
      id: Type.String(),
      from_number: nullable(Type.Integer({ description: 'Its number in the previous discussion' })),
      number: nullable(Type.Integer({ description: 'Its number in the current discussion' })),
    }),
  ),
  merged: Type.Boolean({ description: 'All posts were moved; `discussion.deleted` is raised as well' }),
});
/**
 * A moderator moved posts to another discussion; the posts keep their ids. The target may be a new discussion, for
 * which `discussion.created` is not raised. `by` is the id of the moderator.
 */
export const postsMoved = defineAction<{
  readonly source: { readonly id: string; readonly number: number };
  readonly discussion: Static<typeof DiscussionEvent>;
  readonly posts: readonly MovedPost[];
  readonly merged: boolean;
  readonly by: string;
}>('posts.moved', { public: PostsMovedEvent });

/** An administrator created or changed a category. */
export const categorySaved = defineAction<{
  readonly id: string;
  readonly name: string;
  readonly actor: string | undefined;
}>('category.saved');
/** A category was deleted. `into` is the category that received its discussions. */
export const categoryDeleted = defineAction<{
  readonly id: string;
  readonly into: string | undefined;
  readonly actor: string | undefined;
}>('category.deleted');

/**
 * A moderator changed another member's post or discussion, or pinned, locked or restored one, which may be their own.
 * Raised in the transaction of the change, in addition to the action that describes the change.
 */
export const moderated = defineAction<{ readonly entry: ModerationEntry }>('discussion.moderated');

/** schema.org data of a page. */
export type StructuredData = Readonly<Record<string, unknown>>;
/**
 * The structured data of a discussion's page, for search engines, which read it as guests. The initial value is a
 * DiscussionForumPosting with the replies on the page as `comment`; the page contains what the last listener returns.
 */
export const discussionStructuredData = defineFilter<StructuredData, { readonly discussion: DiscussionRecord }>(
  'discussion.structured-data',
);

/**
 * All posts on a page of a discussion, before they are rendered into the page. The `html` of a post is output
 * unescaped, so listeners must escape any untrusted text they add. API records, feeds, events and emails are not
 * filtered.
 */
export const shownPosts = defineFilter<readonly (PostRecord | PostStub)[], { readonly discussion: DiscussionRecord }>(
  'discussion.shown-posts',
);

/**
 * Initial values, by field name, of the form for a new discussion, a reply or an edited post, when its URL asks for the
 * member's draft (`?draft=1`, or the id of one of several new discussions). `key` is the one in `ComposerSlot`.
 */
export const composerValues = defineFilter<
  Readonly<Record<string, unknown>>,
  { readonly key: string; readonly viewer: Viewer }
>('composer.values');

/** A draft before it is stored. Listeners may return it changed, or throw `HttpError` to reject it. */
export const draftAccepted = defineFilter<Draft, { readonly author: Viewer; readonly categoryId: string }>(
  'discussion.draft',
  'abort',
);
/** New discussions have both; replies and edited posts have no title; a renamed discussion has no content. */
type Draft = Readonly<{ title?: string; content?: string }>;

/** A post that a member sent, after it has passed all checks and before it is written. */
export interface SentPost {
  readonly author: Viewer;
  /**
   * The draft to pass to `Discussions.publish` later; it can be stored as JSON. Only needed by a plugin that holds the
   * post. Rejects if a plugin does not accept the value of its field.
   */
  draft(): Promise<NewDiscussion | NewReply>;
  /** The title as it would be written; empty for a reply. */
  readonly title: string;
  readonly content: string;
  readonly html: string;
  readonly categoryId: string;
  /** The discussion of a reply; absent for a new discussion. */
  readonly discussion?: DiscussionHead;
}
/** A post that is not written until the plugin that holds it publishes it. */
export interface HeldPost {
  readonly id: string;
  /** Path of the page on which the author finds it. */
  readonly path: string;
  /** The message shown to the author. */
  readonly notice: Phrase;
}
/**
 * A reply or discussion that a member sent through a page or the API, before any of it is written. The value is `null`
 * unless a listener holds the post. A listener that holds it stores its draft, and publishes it later with
 * `Discussions.publish`. Throw `HttpError` to reject the post.
 */
export const postSent = defineFilter<HeldPost | null, SentPost>('discussion.sent', 'abort');

/** The public payload of a held post, which never includes its text. */
export const HeldPostEvent = Type.Object({
  id: Type.String(),
  discussion_id: nullable(Type.String({ description: 'Of a reply' })),
  category_id: Type.String(),
  reason: Type.String(),
  author: Type.Object({ id: Type.String(), username: Type.String() }),
  created_at: Type.String(),
});
/**
 * A post that a member sent is waiting for a moderator. This action and `post.reviewed` are raised by the plugin that
 * holds the post; this one in the transaction that stores it. The `title` of a reply is empty.
 */
export const postHeld = defineAction<{
  readonly held_post: Static<typeof HeldPostEvent>;
  readonly title: string;
  readonly content: string;
}>('post.held', { public: Type.Object({ held_post: HeldPostEvent }) });

/** A moderator's decision about a held post. */
export interface PostReview {
  /** Id of the held post. */
  readonly id: string;
  readonly outcome: 'approved' | 'rejected';
  readonly author_id: string;
  readonly reviewer_id: string;
  /** The moderator's explanation to the author; may be empty. */
  readonly reason: string;
  readonly reviewed_at: string;
  /** The discussion of the published post, or the one a rejected reply was sent to. */
  readonly discussion?: { readonly id: string; readonly number: number; readonly title: string } | undefined;
  /** The post that was published. */
  readonly post?: { readonly id: string; readonly number: number } | undefined;
}
/**
 * A moderator rejected a held post, or approved it, so that it is now a post of a discussion. Raised in the transaction
 * of the decision.
 */
export const postReviewed = defineAction<{ readonly review: PostReview }>('post.reviewed');

/**
 * A field that another plugin adds to records. The owner of the records adds it to its request and result schemas, and
 * thus to OpenAPI, while that plugin runs. `loadMany` is called once with the ids of all records on a page, and returns
 * their values in the same order.
 */
export interface Field {
  readonly name: string;
  readonly result: TSchema;
  /**
   * The value depends on the individual reader. It is omitted for guests, and from pages that are rendered once for
   * many readers.
   */
  readonly personal?: true;
  loadMany(ids: readonly string[], viewer: Viewer): Promise<readonly unknown[]>;
  readonly body?: TSchema;
  /**
   * Formats the value for a form. The form also sends it back when the user did not touch the field, so that concurrent
   * changes by others can be detected and kept. Not needed for text, numbers and booleans.
   */
  formValue?(value: unknown): string;
  /**
   * For a discussion that is held: returns the value to store and pass to `save` once the discussion is published.
   * Things may have been renamed by then, so the value should refer to them by id. Throws whatever `save` would throw
   * for a value it rejects.
   */
  keep?(value: unknown, viewer: Viewer): Awaitable<unknown>;
  save?(em: EntityManager, id: string, value: unknown, viewer: Viewer): Promise<void>;
  /**
   * Like `save`, but for many records at once, for imports. Values are keyed by record id and have been validated
   * against `body`.
   */
  saveMany?(em: EntityManager, values: ReadonlyMap<string, unknown>): Promise<void>;
  /**
   * For the tags of a discussion: the value for `save` with one of them added or removed, which moderators do with
   * several discussions at once; undefined if that changes nothing.
   */
  withEntry?(value: unknown, change: { readonly add: string } | { readonly remove: string }): unknown;
}
/** A post as a projection receives it. */
export interface ProjectedPost extends Readonly<
  Record<'id' | 'discussionId' | 'categoryId' | 'authorId' | 'title' | 'content' | 'html', string>
> {
  readonly number: number;
  readonly createdAt: Date;
  /** The post itself was deleted, so it stays deleted when its discussion is restored. */
  readonly removed: boolean;
  /** Its discussion is deleted. */
  readonly discussionRemoved: boolean;
  /** False if the post or its discussion is deleted. */
  readonly visible: boolean;
  /** The discussion the post was moved from by this change, and whether all of its posts left it. */
  readonly left?: { readonly discussionId: string; readonly whole: boolean };
}
/**
 * Signal on the live stream (`ports/live`): something that plugins display with a post changed, though not the post
 * itself. Its data are `discussion_id` and `number`; open pages fetch the post again.
 */
export const postLooksChanged = 'post.looks-changed';

/**
 * A copy of all posts in another form, such as a search index. Called inside the transaction of each change, including
 * imports, so that the copy never diverges; an error thrown here aborts the change.
 */
export interface PostProjection {
  /** Posts that are new, edited, moved, deleted or restored. The same post may be passed more than once. */
  posts(em: EntityManager, posts: readonly ProjectedPost[]): Promise<void>;
  /**
   * The title, category, visibility or a field of a discussion changed. Called after the fields are saved; `posts` is
   * not called for the posts of the discussion.
   */
  discussion(
    em: EntityManager,
    discussion: { readonly id: string; readonly title: string; readonly categoryId: string; readonly visible: boolean },
  ): Promise<void>;
  /** All discussions of a category were moved to another one. The other methods are not called for them. */
  category(em: EntityManager, from: string, to: string): Promise<void>;
}
export const postProjections = defineExtensionPoint<PostProjection>(
  'discussions.projections',
  'Copies of all posts in another form, such as a search index, updated in the transaction of each change.',
  { order: 'The order in which they are updated; an error from one rejects the change.' },
);
export const discussionFields = defineExtensionPoint<Field>(
  'discussions.discussion-fields',
  'Fields of discussions: included in each record, and read from requests that create or change one.',
  { order: 'The position among the fields of the record, and the order in which they are stored.' },
);
export const postFields = defineExtensionPoint<Field>(
  'discussions.post-fields',
  'Fields of posts, included in each record.',
  { order: 'The position among the fields of the record.' },
);
export const categoryFields = defineExtensionPoint<Field>(
  'discussions.category-fields',
  'Fields of categories: included in each record, and read from administrators’ requests that create or change one.',
  { order: 'The position among the fields of the record.' },
);

export interface Category extends Readonly<Record<'id' | 'slug' | 'name' | 'description', string>> {
  readonly parentId: string | null;
  /** Hue on the colour wheel in degrees, in steps of 15; the theme chooses the lightness. */
  readonly hue: number;
  readonly icon: string;
  readonly position: number;
  readonly view: Audience;
  readonly create: Audience;
  readonly reply: Audience;
}

export type CategoryRights = Readonly<Record<'view' | 'create' | 'reply' | 'moderate', boolean>>;

/**
 * All categories, cached in memory. The cache is always current: it is replaced before the request that changes a
 * category is answered.
 */
export interface Categories {
  /**
   * Await this before using the other methods in a request. Costs nothing unless another process has changed a
   * category.
   */
  refresh(): Promise<void> | undefined;
  all(): readonly Category[];
  visible(viewer: Viewer): readonly Category[];
  /** Finds a category by id or slug; undefined also if the viewer may not see it. */
  find(idOrSlug: string, viewer: Viewer): Category | undefined;
  /** What the viewer may do in a category. */
  rights(category: Category, viewer: Viewer): CategoryRights;
  /**
   * Creates a category, or updates it if `id` is given. Omitted values keep their current value, or get their default
   * in a new category, which needs a name. Throws 400 naming the invalid field. `done`, here and below, runs in the
   * transaction of the change.
   */
  save(category: Partial<Category>, done?: (saved: Category) => Promise<void>): Promise<Category>;
  /**
   * Deletes a category after moving its discussions to `moveTo`. Without `moveTo`, only an empty category can be
   * deleted (400).
   */
  remove(id: string, moveTo?: string, done?: () => Promise<void>): Promise<void>;
}
export const Categories = defineToken<Categories>('Categories');

/** A category as the API returns it to a viewer, before the fields of other plugins are added. */
export const CategoryRecord = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  description: Type.String(),
  parent_id: nullable(Type.String()),
  hue: Type.Integer(),
  icon: Type.String(),
  position: Type.Integer(),
  discussion_count: Type.Integer(),
  post_count: Type.Integer(),
  can: Type.Object({ view: Type.Boolean(), create: Type.Boolean(), reply: Type.Boolean(), moderate: Type.Boolean() }),
});
export type CategoryRecord = Static<typeof CategoryRecord>;

const Truncated = Type.Boolean({
  description:
    'The text is too long for this response: `html` contains only its beginning, and so does `content` in lists. `GET /api/posts/{id}` returns all of `content`',
});
/** A member who has posted in a discussion. */
export const ParticipantRecord = Type.Object({
  user: Author,
  post_count: Type.Integer({ description: 'Number of their posts in it, without deleted ones' }),
});
export type ParticipantRecord = Static<typeof ParticipantRecord>;
/** Where a discussion is pinned; `everywhere` includes its category. */
export const PIN_PLACES = ['category', 'everywhere'] as const;
export type PinPlace = (typeof PIN_PLACES)[number];
/** A discussion as the API returns it, before the fields of other plugins are added. */
export const DiscussionRecord = Type.Object({
  id: Type.String(),
  number: Type.Integer(),
  title: Type.String(),
  slug: Type.String(),
  content: Type.String(),
  html: Type.String(),
  is_truncated: Truncated,
  category_id: Type.String(),
  category: Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String() }),
  author: Author,
  /** Author of the last post. */
  last_author: Author,
  reply_count: Type.Integer(),
  view_count: Type.Integer(),
  participant_count: Type.Integer(),
  last_post_number: Type.Integer({ description: 'Number of the newest post; deleted posts keep their numbers' }),
  is_pinned: Type.Boolean(),
  pinned_in: nullable(
    Type.Enum([...PIN_PLACES], {
      description: 'The lists at whose top it is pinned: only those of its category, or that of the front page as well',
    }),
  ),
  pinned_until: nullable(Time),
  is_locked: Type.Boolean(),
  lock_reason: nullable(Type.String({ description: 'The reason, shown to readers' })),
  is_deleted: Type.Boolean(),
  last_post_at: Time,
  created_at: Time,
  updated_at: Time,
  url: Type.String(),
});
export type DiscussionRecord = Static<typeof DiscussionRecord>;
/** A post as the API returns it. A deleted post keeps its number; only moderators still see its author and text. */
export const PostRecord = Type.Object({
  id: Type.String(),
  discussion_id: Type.String(),
  number: Type.Integer(),
  content: Type.String(),
  html: Type.String(),
  is_truncated: Truncated,
  author: Author,
  is_first: Type.Boolean(),
  created_at: Time,
  updated_at: Time,
  edited_at: nullable(Time),
  is_deleted: Type.Boolean(),
  reply_to_number: nullable(
    Type.Integer({
      description:
        'The number of the post that it replies to; null for a reply to the first post, or if that post no longer exists',
    }),
  ),
  reply_to_author: Type.Optional(Author),
  reply_count: Type.Integer({
    description: 'Replies to this particular post; replies to the first post are not counted',
  }),
  replies: Type.Optional(
    Type.Array(Type.Object({ number: Type.Integer(), author: Author, created_at: Time }), {
      description: 'In the posts of a discussion, if there are any: the first 20 of these replies',
    }),
  ),
  author_since: Type.Optional(
    Type.String({ description: 'In the posts of a discussion: when the author wrote their first post' }),
  ),
});
export type PostRecord = Static<typeof PostRecord>;
export const PostStub = Type.Object({
  id: Type.String(),
  number: Type.Integer(),
  is_deleted: Type.Literal(true),
  moved_post_id: Type.Optional(
    nullable(
      Type.String({
        description:
          'In the posts of a discussion, if moderators moved the post to another one: that post, which keeps its id; null if the caller may not see it',
      }),
    ),
  ),
});
export type PostStub = Static<typeof PostStub>;

export const SORTS = ['latest', 'oldest', 'newest', 'most_replied', 'most_viewed'] as const;
export type Sort = (typeof SORTS)[number];

/**
 * A one-column select of discussion ids, for use in other plugins' statements: ``where discussion_id in (${ids})``. It
 * may be used several times in a statement, and refers to no table of the statement around it; which tables it reads is
 * an internal matter of the plugin that made it. It is valid for one statement and one viewer only, so do not store or
 * reuse it.
 */
export type DiscussionIds = RawBuilder<{ readonly discussion_id: string }>;
/** Like `DiscussionIds`, but for posts. */
export type PostIds = RawBuilder<{ readonly post_id: string }>;
/**
 * A select of posts with their source and the title and category of their discussion, for use in other plugins'
 * statements.
 */
export type ReadablePosts = RawBuilder<
  Readonly<Record<'id' | 'content' | 'discussion_id' | 'title' | 'category_id', string>> & { readonly number: number }
>;
/**
 * A condition on a row of the `discussion` table, aliased as `d`. It is evaluated in the order of the list it narrows.
 */
export type DiscussionCondition = RawBuilder<boolean>;

/** Filters, sort order and page of a list of discussions. */
export interface ListRequest {
  /**
   * Defaults to last activity: pinned discussions come first if `category` is given, those pinned everywhere if
   * `pinnedFirst` is set or `cursor` continues such a list.
   */
  readonly sort?: Sort | undefined;
  readonly category?: Category | undefined;
  /** Only discussions of these categories. */
  readonly categoryIds?: readonly string[] | undefined;
  /** Only discussions by this author. */
  readonly authorId?: string | undefined;
  readonly pinnedFirst?: boolean | undefined;
  /** Only these discussions: selected from the calling plugin's own table, or by the plugin that owns the table. */
  readonly within?: DiscussionIds | undefined;
  readonly where?: DiscussionCondition | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * The model of the list template. `canonical` is for the page's head; `shown` contains the records of the rows, and
 * `discussions` the rows themselves, to which a page may add what its own fillings of slots read.
 */
export interface ListModel {
  readonly canonical: string;
  readonly shown: Page<DiscussionRecord>;
  readonly discussions: readonly object[];
}
/** A filter that readers may apply to a category's list, such as solved discussions only. */
export interface ListFilter {
  /** Value of the `filter` parameter in the URLs of pages and of the API. */
  readonly name: string;
  /** Text key. */
  readonly label: string;
  /** Whether the filter is available in the list of this category. */
  offered(category: Category): Awaitable<boolean>;
  where(): Awaitable<DiscussionCondition>;
}
export const listFilters = defineExtensionPoint<ListFilter>(
  'discussions.list-filters',
  'Filters for a category’s list, such as solved discussions: on its page, and as `filter` in the API.',
  { order: 'The position among the filters, after “all discussions”.' },
);

/**
 * Query parameters of pages by which readers choose a part of a list: one category with its subcategories, one tag.
 * Empty values, which forms send, choose nothing.
 */
export const ListPartQuery = {
  category: Type.Optional(Type.String({ maxLength: 100, description: 'Slug or id; with its subcategories' })),
  tag: Type.Optional(Type.String({ maxLength: 100, description: 'Slug or id' })),
};
/** The chosen part of a list. A list can be limited by those keys only that are there. */
export interface ListPart {
  readonly category?: string | undefined;
  readonly tag?: string | undefined;
}
/** A tag to which a list can be limited. */
export interface ListTag {
  readonly slug: string;
  readonly name: string;
}
/** Limits lists of discussions to one tag. */
export interface ListTagSource {
  /** Finds a tag that the viewer may see. `count`: its discussions in these categories. */
  find(
    idOrSlug: string,
    viewer: Viewer,
    categoryIds: readonly string[],
  ): Promise<(ListTag & { readonly count: number; readonly discussions: DiscussionIds }) | undefined>;
  /** The most used tags in these categories, which readers can choose from. One statement at most. */
  offered(categoryIds: readonly string[]): Promise<readonly ListTag[]>;
}
export const listTagSources = defineExtensionPoint<ListTagSource>(
  'discussions.list-tags',
  'The tags by which readers can narrow the lists of discussions on the front page and on the pages beside it.',
  { order: 'The first one is used.' },
);

/** A list with a page of its own, at `path`. */
export interface ListPage extends Omit<ListRequest, 'limit' | 'offset'> {
  readonly path: string;
  /** The part that the reader chose; without it, readers cannot choose a part of this list. */
  readonly part?: ListPart | undefined;
  /**
   * The page number. With the `cursor` from the previous page's link, the page starts after the last row of that page.
   */
  readonly page?: number | undefined;
  /** Total number of discussions in the list; without it, the pager only knows whether there is a next page. */
  readonly total?: number | undefined;
  /** The list has a fixed order: readers cannot choose another. */
  readonly oneOrder?: boolean | undefined;
  /** The filters that readers may choose from. */
  readonly filters?: readonly Pick<ListFilter, 'name' | 'label'>[] | undefined;
  /** The selected filter, whose condition is `where`. */
  readonly filter?: string | undefined;
}

/** One viewer's restrictions on the list of the whole forum. */
export interface Narrowing {
  /** Viewers with the same key see the same list. */
  readonly key: string;
  /** Ids of the categories to exclude. The query skips them without reading their discussions. */
  readonly without: readonly string[];
  /** Condition for discussions in the remaining categories; undefined if all are shown. */
  readonly where: DiscussionCondition | undefined;
  /** Notice above the list that something is hidden: text key, and path of the page where that can be changed. */
  readonly note: { readonly text: string; readonly href: string };
}
export const homeNarrowings = defineExtensionPoint<(viewer: Viewer) => Awaitable<Narrowing | undefined>>(
  'discussions.home-narrowings',
  'What a viewer wants to see in the front page’s list, such as nothing that they muted. Called each time the list is viewed, so it must be fast; a viewer who has a narrowing shares the cached page only with those who have the same one.',
  { order: 'The order in which they are called.' },
);

/** A view of the discussions of the whole forum, shown as a tab above the list of the front page. */
export interface ListTab {
  /** Text key. */
  readonly label: string;
  /** Path of its page, which shows the tabs too, by `Discussions.listPage` or `Discussions.tabs`. */
  readonly href: string;
  /** Called for each page; visible to everyone by default. Must be synchronous. */
  visible?(viewer: Viewer): boolean;
}
export const listTabs = defineExtensionPoint<ListTab>(
  'discussions.list-tabs',
  'Tabs above the list of the front page, such as unread discussions; shown if a viewer has any besides “all discussions”.',
  { order: 'The position among the tabs, after “all discussions”.' },
);

/** The identity of a discussion, and everything that decides who may see it and act on it. */
export interface DiscussionHead extends Readonly<
  Record<'id' | 'title' | 'slug' | 'categoryId' | 'authorId' | 'firstPostId', string>
> {
  readonly number: number;
  readonly locked: boolean;
  readonly pinned: boolean;
  /** Only moderators get a head that is `deleted`. */
  readonly deleted: boolean;
}

/** The identity of a post, with its discussion. */
export interface PostHead {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
  /** Only moderators get a post that is deleted. */
  readonly deleted: boolean;
  readonly discussion: DiscussionHead;
}

/** Values of other plugins' fields, by name; unknown names are ignored. */
type Fields = Readonly<Record<string, unknown>>;
export interface NewDiscussion {
  readonly title: string;
  readonly content: string;
  /** Id or slug. */
  readonly categoryId: string;
  readonly fields?: Fields;
}
export interface NewReply {
  readonly discussionId: string;
  readonly content: string;
  /** Id or number of the post in the discussion to reply to. The first post counts as none. */
  readonly replyTo?: string | undefined;
}
export type CreatedDiscussion = Readonly<{ discussionId: string; number: number; postId: string; path: string }>;
export type DiscussionUrl = Readonly<{ number: number; path: string; updatedAt: Date }>;
export type CreatedReply = Readonly<{ id: string; number: number; path: string }>;
/** `number` is the number of the post; `discussionNumber` and `title` belong to its discussion. */
export type PublishedPost = Readonly<
  Record<'discussionId' | 'title' | 'postId' | 'path', string> & Record<'discussionNumber' | 'number', number>
>;

/** Discussions and their posts, limited to what the viewer may see and change. */
export interface Discussions {
  /** The record schema including the fields of other plugins, for the result schemas of routes. */
  readonly record: typeof DiscussionRecord;
  /**
   * Starts a discussion from Markdown. Throws 400 naming the invalid field, 403 if the viewer may not start discussions
   * in the category, and 429 above the rate limit. Both `start` and `reply` write the post immediately; only posts that
   * members send through pages or the API can be held (`discussion.sent`).
   */
  start(viewer: Viewer, draft: NewDiscussion): Promise<CreatedDiscussion>;
  /**
   * Writes a reply. Throws 404 for a discussion the viewer cannot see, 403 if it is locked or the viewer may not reply
   * in it, 400 naming `reply_to_id` if there is no such post to reply to, and 429 above the rate limit.
   */
  reply(viewer: Viewer, draft: NewReply): Promise<CreatedReply>;
  /**
   * Writes a held post as if it were sent now, with all the usual consequences. It is checked again, except for the
   * rate limit, and rejected with the same errors as by `start` and `reply`. If the post it replied to is gone, it
   * becomes a plain reply.
   */
  publish(author: Viewer, draft: NewDiscussion | NewReply): Promise<PublishedPost>;
  /**
   * Number of posts of each of these members, without deleted ones: in the categories that the viewer may read or, for
   * rules, in all. One statement.
   */
  postCounts(authorIds: readonly string[], viewer?: Viewer): Promise<ReadonlyMap<string, number>>;
  /** Finds a discussion by id or public number, or a post by id, if the viewer may see it. */
  find(idOrNumber: string, viewer: Viewer): Promise<DiscussionHead | undefined>;
  findPost(id: string, viewer: Viewer): Promise<PostHead | undefined>;
  /**
   * The part of a list that the viewer may see. One statement, however long the list. Throws 400 for a cursor from
   * another list.
   */
  list(request: ListRequest, viewer: Viewer): Promise<Page<DiscussionRecord>>;
  /** Records in the order of `ids`, without those the viewer may not see. */
  records(ids: readonly string[], viewer: Viewer): Promise<readonly DiscussionRecord[]>;
  posts(ids: readonly string[], viewer: Viewer): Promise<readonly PostRecord[]>;
  /** Converts records to the rows that `@discussions/rows` expects. */
  listItems(records: readonly DiscussionRecord[]): Promise<readonly object[]>;
  /** The arguments of `@discussions/list` apart from `label` and `empty`. Throws 404 for a page after the last one. */
  listPage(page: ListPage, viewer: Viewer): Promise<ListModel>;
  /** The `tabs` argument of `@discussions/tabs`, for the page of a tab that is not a list of discussions. */
  tabs(path: string, viewer: Viewer): readonly object[];
  /** Whether the viewer may reply to a discussion that they were allowed to find. */
  canReply(discussion: DiscussionHead, viewer: Viewer): boolean;
  /** Ids of the members with the most posts in what the viewer may see. One statement. */
  mostPosts(
    part: { readonly limit: number; readonly offset?: number | undefined; readonly cursor?: string | undefined },
    viewer: Viewer,
  ): Promise<Page<string>>;
  /** All discussions, and all posts, that the viewer may see; for filtering lists in other plugins' statements. */
  visible(viewer: Viewer): Promise<DiscussionIds>;
  visiblePosts(viewer: Viewer): Promise<PostIds>;
  /**
   * The posts that `posts` would return to the viewer, for joining with a few ids. Deleted posts are excluded, even for
   * moderators.
   */
  readablePosts(viewer: Viewer): Promise<ReadablePosts>;
  /**
   * The discussion that each of these posts is in now, by post id; posts that the viewer may not read are missing. One
   * statement.
   */
  discussionsOf(postIds: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, string>>;
  /**
   * URLs of visible discussions, ordered by number: at most `limit` with numbers above `after` and up to `last`. One
   * statement.
   */
  urls(
    range: { readonly after: number; readonly last: number; readonly limit: number },
    viewer: Viewer,
  ): Promise<readonly DiscussionUrl[]>;
  /** Which ranges of `size` numbers contain a discussion the viewer may see, as indexes from 0. One statement. */
  occupiedRanges(size: number, viewer: Viewer): Promise<readonly number[]>;
  /**
   * All posts by id, including deleted ones; with `since`, only those of discussions changed since that checkpoint.
   * Locks their discussions if called in a transaction. At most three statements.
   */
  projectedPosts(after: string | undefined, limit: number, since?: string): Promise<readonly ProjectedPost[]>;
  /** The checkpoint at which the backfill of a projection that stops now has to start later. */
  checkpoint(): Promise<string>;
  /** For `plugin.backfill` of a plugin with a projection: passes posts to it by id, in batches of at most 500. */
  postBackfill(projection: Pick<PostProjection, 'posts'>): Backfill;
}
export const Discussions = defineToken<Discussions>('Discussions');

/**
 * A complete discussion to import, such as from another forum. Its posts are in order, starting with the first post.
 */
export interface ImportedDiscussion {
  readonly title: string;
  readonly slug?: string;
  readonly categoryId: string;
  /** Author of the first post. */
  readonly authorId: string;
  readonly createdAt: Date;
  readonly views?: number;
  /** Where it is pinned; `true` means everywhere. */
  readonly pinned?: boolean | PinPlace;
  readonly locked?: boolean;
  readonly fields?: Fields;
  /**
   * `content` and `html` are stored as they are: they must come from `Importer.acceptContent`, or `html` from
   * `Markdown.render`.
   */
  readonly posts: readonly {
    readonly authorId: string;
    readonly content: string;
    readonly html: string;
    readonly createdAt: Date;
    /** Number of the earlier post that this one replies to. */
    readonly replyTo?: number;
    readonly fields?: Fields;
  }[];
}
/** Callbacks of a running import. */
export interface ImportListener {
  /** Called in the transaction of each batch, with the ids assigned to its discussions. */
  written?(batch: readonly { readonly id: string; readonly source: ImportedDiscussion }[]): Promise<void>;
  /** Called after each batch with the totals so far. */
  progress?(discussions: number, posts: number): void;
}
/** Imports many discussions quickly. Emits no events and checks no permissions; all counters are correct afterwards. */
export interface Importer {
  /** Normalizes a title for storage. Throws 400 naming the problem. */
  acceptTitle(title: string): string;
  /** Normalizes and renders the text of a post for storage. Throws 400 naming the problem. */
  acceptContent(content: string): Promise<{ readonly content: string; readonly html: string }>;
  /** Imports in batches, each in its own transaction. Resolves to the numbers of discussions and posts written. */
  importDiscussions(
    discussions: Iterable<ImportedDiscussion> | AsyncIterable<ImportedDiscussion>,
    listener?: ImportListener,
  ): Promise<{ readonly discussions: number; readonly posts: number }>;
}
export const Importer = defineToken<Importer>('Importer');

/** A table of counters with the columns `owner`, `category_id` and `count`, and how to count them again. */
export interface CategoryCounterOptions extends Readonly<Record<'name' | 'table' | 'owner' | 'count', string>> {
  readonly data: Data;
  /** Noun for an owner in reports of mismatches. */
  readonly label: string;
  readonly keys: Counter['keys'];
  /**
   * A select of `owner`, `category_id` and the true `count` of these owners from the plugin's own tables, without
   * zeros.
   */
  actual(owners: readonly string[]): RawBuilder<{ readonly category_id: string }>;
  /** Runs `correct` in a transaction, followed by whatever a correction requires. */
  repair(owners: readonly string[], correct: () => Promise<void>): Promise<void>;
}
/** A counter by owner and category, for `counters`. Its rows are locked in the order of their keys. */
export function categoryCounter({ data, actual, ...options }: CategoryCounterOptions): Counter {
  const [table, owner, count] = [sql.table(options.table), sql.ref(options.owner), sql.ref(options.count)];
  const line = sql.lit(`${options.label} %s, category %s: %s, but %s`);
  return {
    name: options.name,
    keys: options.keys,
    async check(owners) {
      const rows = await data.all(sql<{ line: string }>`
        select format(${line}, ${owner}, category_id, coalesce(k.${count}, 0), coalesce(t.${count}, 0)) as line
        from (${actual(owners)}) t full join (select * from ${table} where ${owner} = any(${owners}::uuid[])) k
          using (${owner}, category_id)
        where coalesce(k.${count}, 0) <> coalesce(t.${count}, 0) order by ${owner}, category_id`);
      return rows.map((row) => row.line);
    },
    repair: (owners) =>
      options.repair(owners, async () => {
        await data.all(sql`insert into ${table} (${owner}, category_id, ${count}) select ${owner}, category_id, 0
          from (${actual(owners)}) t
          order by ${owner}, category_id on conflict do nothing`);
        await data.all(
          sql`select from ${table} where ${owner} = any(${owners}::uuid[]) order by ${owner}, category_id for update`,
        );
        // Count only after the rows are locked: transactions that held one of them have committed, and later ones wait.
        await data.all(sql`update ${table} k set ${count} = n.${count} from (
            select c.${owner}, c.category_id, coalesce(t.${count}, 0) as ${count} from ${table} c
            left join (${actual(owners)}) t using (${owner}, category_id)
            where c.${owner} = any(${owners}::uuid[])
          ) n where k.${owner} = n.${owner} and k.category_id = n.category_id`);
      }),
  };
}

/** Cache tags of records and responses. A plugin purges them when the content of its field or slot changes. */
export const discussionCacheTags = {
  /** Every list of discussions. */
  lists: 'discussions',
  /** Everything that shows a discussion, a post or a list; purged when, for example, a member is renamed. */
  all: 'discussion-records',
  categories: 'categories',
  /** Everything that shows one discussion or its posts. */
  discussion: (id: string): string => `discussion:${id}`,
  /**
   * Lists that show or are sorted by view counts. Views are written every few seconds, so pages, which do not show
   * them, can still be cached.
   */
  views: 'discussion-views',
  /** Everything that shows the view count of one discussion. */
  viewsOf: (id: string): string => `discussion-views:${id}`,
} as const;
/** Cache tags of whatever depends on several discussions or posts and on who may see them. */
export const listCacheTags = [
  discussionCacheTags.lists,
  discussionCacheTags.all,
  discussionCacheTags.categories,
] as const;

/**
 * A slot in the form of a discussion or a post. Its content may include inputs, which are submitted with the form under
 * their own names.
 */
export interface ComposerSlot {
  /**
   * A whole discussion with its title and fields, or a single post. The form of an existing discussion does not include
   * its text. `message`: something that is not a post and is read only by its recipients.
   */
  readonly writes: 'discussion' | 'post' | 'message';
  /** Absent for a new discussion. */
  readonly discussion?: DiscussionHead | undefined;
  /** Submitted values by field name, when the form is shown again. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Validation errors, by field name. */
  readonly wrong?: Readonly<Record<string, string>> | undefined;
  /** Key under which drafts of the form are stored; absent if drafts are not kept. */
  readonly key?: string | undefined;
}
export const cardTitle = defineSlot<DiscussionRecord>(
  'discussion-card.title',
  'On each row of a list of discussions, instead of its title: a link to where the viewer continues reading, and small badges.',
);
export const cardBadges = defineSlot<DiscussionRecord>(
  'discussion-card.badges',
  'On each row of a list of discussions, after the title: small badges.',
);
export const cardMeta = defineSlot<DiscussionRecord>(
  'discussion-card.meta',
  'On each row of a list of discussions, in the small print below the title.',
);
export const cardEnd = defineSlot<DiscussionRecord>(
  'discussion-card.end',
  'At the end of each row of a list of discussions, next to its numbers.',
);
/** Number of posts on a page of a discussion. */
export const POSTS_PER_PAGE = 20;
/** A discussion on a page with some of its posts. */
export interface ShownDiscussion extends DiscussionRecord {
  /** Numbers of the first and the last post of the page. */
  readonly shown: { readonly from: number; readonly to: number };
}
export const postBefore = defineSlot<PostRecord>(
  'post.before',
  'Above each post: a divider between it and the previous one.',
);
export const postBadges = defineSlot<PostRecord>(
  'post.badges',
  'In the header of each post, after the author’s name: small badges.',
);
export const postAfterBody = defineSlot<PostRecord>(
  'post.body.after',
  'Below the text of each post: content that belongs to it, such as a poll.',
);
export const postFooter = defineSlot<PostRecord>(
  'post.footer.end',
  'In the footer of each post, before its buttons: reactions and the like.',
);
/** A post as the slots of its actions get it. */
export interface MenuPost extends PostRecord {
  /** Path of the post on its discussion's page. */
  readonly url: string;
}
export const postActions = defineSlot<MenuPost>(
  'post.actions',
  'In the footer of each post, before its own buttons: a button or two.',
);
export const postMenu = defineSlot<MenuPost>('post.menu', 'At the end of each post’s menu: list items.');
export const headBadges = defineSlot<DiscussionRecord>(
  'discussion.head.badges',
  'On the page of a discussion, next to its category: small badges.',
);
export const headAfterTitle = defineSlot<DiscussionRecord>(
  'discussion.head.after-title',
  'On the page of a discussion, below its title.',
);
export const headActions = defineSlot<DiscussionRecord>(
  'discussion.head.actions',
  'On the page of a discussion, next to its title: buttons.',
);
export const beforePosts = defineSlot<ShownDiscussion>(
  'discussion.before-posts',
  'On the page of a discussion, between its header and the posts.',
);
export const afterPosts = defineSlot<ShownDiscussion>(
  'discussion.after-posts',
  'On the page of a discussion, between the posts and the pager.',
);
export const discussionRail = defineSlot<DiscussionRecord>(
  'rail.discussion',
  'Next to the page of a discussion: small panels.',
);
/** A slot in the administrators’ form for a category. */
export interface CategoryFormSlot {
  /** Absent for a new category. */
  readonly category?: Category | undefined;
  /** Submitted values by field name, when the form is shown again. */
  readonly values: Readonly<Record<string, unknown>>;
}
export const categoryFormFields = defineSlot<CategoryFormSlot>(
  'admin.category.fields',
  'In the administrators’ form for a category, above its button: inputs, which are submitted under their names.',
);
export const composerFields = defineSlot<ComposerSlot>(
  'composer.fields',
  'In the form for a discussion or a post, below the text: inputs, which are submitted under their names.',
);
export const composerEnd = defineSlot<ComposerSlot>(
  'composer.end',
  'In the form for a discussion or a post, below its buttons: notices about it, and more buttons.',
);
export const composerStart = defineSlot<ComposerSlot>(
  'composer.start',
  'In the form for a new discussion, above its first field: notices.',
);
export const composerAfterTitle = defineSlot<ComposerSlot>(
  'composer.after-title',
  'In the form for a new discussion, below the title field: information to read before continuing.',
);
export const homeBanner = defineSlot<object>('home.banner', 'On the front page, above the list of discussions.');
/** The subject of a list of discussions with a page of its own. */
export interface ListSubject {
  readonly kind: 'tag';
  readonly id: string;
}
export const listActions = defineSlot<ListSubject>(
  'list.actions',
  'On the page that lists the discussions of a subject, such as a tag, next to its name: buttons.',
);
export const categoryActions = defineSlot<CategoryRecord>(
  'category.actions',
  'On the page of a category, next to its name: buttons.',
);
export const categoryRail = defineSlot<CategoryRecord>(
  'rail.category',
  'Next to the page of a category: small panels.',
);
/** A tab above a list of discussions, as rendered. */
export interface ShownListTab {
  readonly label: string;
  readonly href: string;
  readonly current: boolean;
}
export const listTabEnd = defineSlot<ShownListTab>(
  'list.tab',
  'In each tab above the list of the front page, after its label: how many items await the viewer there.',
);
export const listToolbar = defineSlot<object>(
  'list.toolbar',
  'Between the sort options of a list of discussions and its rows.',
);

export const startDiscussion = definePermission('discussions.start', { label: 'start discussions', default: 'member' });
export const writeReply = definePermission('discussions.reply', { label: 'reply', default: 'member' });
export const editPost = definePermission('discussions.edit', { label: 'edit posts', default: 'member' });
export const moderate = definePermission('discussions.moderate', {
  label: 'edit, move, merge, pin, lock, delete and restore other members’ posts and discussions',
  default: 'moderator',
});
export const manageCategories = definePermission('discussions.manage-categories', {
  label: 'manage categories',
  default: 'admin',
});
