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

/** Payloads of the events about discussions and posts; integrators receive the same. */
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
  reply_to_number: Type.Optional(nullable(Type.Integer({ description: 'The post of its discussion that it answers' }))),
});
type DiscussionPayload = Readonly<{ discussion: Static<typeof DiscussionEvent> }>;
type PostPayload = Readonly<{ post: Static<typeof PostEvent>; category_id: string }>;

/** A new discussion is visible. Its first post does not raise `post.created` as well. */
export const discussionCreated = defineAction<DiscussionPayload>('discussion.created', {
  public: Type.Object({ discussion: DiscussionEvent }),
});
/**
 * Title, category, tags, pin or lock changed, or the discussion was restored (`was_deleted`). `from_category_id`: the
 * category that it left.
 */
export const discussionUpdated = defineAction<
  DiscussionPayload & { readonly was_deleted?: boolean; readonly from_category_id?: string }
>('discussion.updated', { public: Type.Object({ discussion: DiscussionEvent }) });
/** A discussion is gone for readers, with its posts. */
export const discussionDeleted = defineAction<DiscussionPayload>('discussion.deleted', {
  public: Type.Object({ discussion: Type.Pick(DiscussionEvent, ['id', 'number']) }),
});
/**
 * A reply is visible. `reply_to_author_id`: who wrote the post that it answers, if it answers one. `was_held`: it was
 * written before, and `Discussions.publish` has let it appear.
 */
export const postCreated = defineAction<
  PostPayload & { readonly reply_to_author_id?: string; readonly was_held?: boolean }
>('post.created', { public: Type.Object({ post: PostEvent }) });
/** A post has another text, or is back after it was deleted. */
export const postUpdated = defineAction<PostPayload>('post.updated', { public: Type.Object({ post: PostEvent }) });
/** A single post is gone for readers. */
export const postDeleted = defineAction<PostPayload>('post.deleted', {
  public: Type.Object({ post: Type.Pick(PostEvent, ['id', 'discussion_id', 'number', 'reply_to_number']) }),
});

/** A post that moved to another discussion, with the number that it had and the one that it has. */
export interface MovedPost {
  readonly id: string;
  readonly author_id: string;
  readonly from_number: number;
  readonly number: number;
}
/** What integrators get of a move; what a receiver may not see is null. */
export const PostsMovedEvent = Type.Object({
  source: nullable(Type.Object({ id: Type.String(), number: Type.Integer() })),
  discussion: nullable(DiscussionEvent),
  posts: Type.Array(
    Type.Object({
      id: Type.String(),
      from_number: nullable(Type.Integer({ description: 'Its number in the discussion that it left' })),
      number: nullable(Type.Integer({ description: 'Its number in the discussion where it is now' })),
    }),
  ),
  merged: Type.Boolean({ description: 'All posts left, for which `discussion.deleted` is raised, too' }),
});
/**
 * A moderator moved posts, which keep their ids, to another discussion, which may be new: then no `discussion.created` is raised. `by`: who did it.
 */
export const postsMoved = defineAction<{
  readonly source: { readonly id: string; readonly number: number };
  readonly discussion: Static<typeof DiscussionEvent>;
  readonly posts: readonly MovedPost[];
  readonly merged: boolean;
  readonly by: string;
}>('posts.moved', { public: PostsMovedEvent });

/** An administrator made or changed a category. */
export const categorySaved = defineAction<{
  readonly id: string;
  readonly name: string;
  readonly actor: string | undefined;
}>('category.saved');
/** `into`: the category that took its discussions. */
export const categoryDeleted = defineAction<{
  readonly id: string;
  readonly into: string | undefined;
  readonly actor: string | undefined;
}>('category.deleted');

/**
 * A moderator changed another member's post or discussion; pinned, locked or restored, it may be their own. Raised in the
 * transaction that does it, beside the action that says what changed.
 */
export const moderated = defineAction<{ readonly entry: ModerationEntry }>('discussion.moderated');

/** schema.org data of a page. */
export type StructuredData = Readonly<Record<string, unknown>>;
/**
 * What a discussion's page says of itself to search engines, which are guests: first a DiscussionForumPosting with the
 * replies of the page as `comment`. What is returned takes its place.
 */
export const discussionStructuredData = defineFilter<StructuredData, { readonly discussion: DiscussionRecord }>(
  'discussion.structured-data',
);

/**
 * The posts of a page of a discussion, all at once, before they become its HTML. What is put into the `html` of a post
 * is shown as it is, so what comes from elsewhere must be escaped. Records of the API, feeds, events and emails have
 * the text alone.
 */
export const shownPosts = defineFilter<readonly (PostRecord | PostStub)[], { readonly discussion: DiscussionRecord }>(
  'discussion.shown-posts',
);

/**
 * What a form to write in begins with, by field: of a new discussion, a reply or a post that is changed, where its
 * address asks for the member's draft (`?draft=1`). `key` is that of `ComposerSlot`.
 */
export const composerValues = defineFilter<
  Readonly<Record<string, unknown>>,
  { readonly key: string; readonly viewer: Viewer }
>('composer.values');

/** A draft before it is stored: throw `HttpError` to refuse it, or return it changed. */
export const draftAccepted = defineFilter<Draft, { readonly author: Viewer; readonly categoryId: string }>(
  'discussion.draft',
  'abort',
);
/** A new discussion has both, a reply or an edited post no title, a discussion that gets another title no content. */
type Draft = Readonly<{ title?: string; content?: string }>;

/** What a member sent: it passed every check, and is about to be written. */
export interface SentPost {
  readonly author: Viewer;
  /**
   * What was sent, for `Discussions.publish`; it can be stored as JSON. For who holds it to ask: rejects for fields that
   * their plugins do not take.
   */
  draft(): Promise<NewDiscussion | NewReply>;
  /** What would be written; a reply has no title. */
  readonly title: string;
  readonly content: string;
  readonly html: string;
  readonly categoryId: string;
  /** Of a reply. */
  readonly discussion?: DiscussionHead;
}
/** A post that is not written before the plugin that holds it has it published. */
export interface HeldPost {
  readonly id: string;
  /** Of the page on which its author finds it. */
  readonly path: string;
  /** What its author is told. */
  readonly notice: Phrase;
}
/**
 * A reply or a discussion that a member sent by a page or the API, before anything of it is written: `null`, as it
 * comes, where nobody holds it. Who holds it stores its draft, and has that written later by `Discussions.publish`. Throw
 * `HttpError` to refuse it.
 */
export const postSent = defineFilter<HeldPost | null, SentPost>('discussion.sent', 'abort');

/** What integrators receive of a post that is held: never its text. */
export const HeldPostEvent = Type.Object({
  id: Type.String(),
  discussion_id: nullable(Type.String({ description: 'Of a reply' })),
  category_id: Type.String(),
  reason: Type.String(),
  author: Type.Object({ id: Type.String(), username: Type.String() }),
  created_at: Type.String(),
});
/**
 * What a member sent waits for a moderator. Raised, as the next one, by the plugin that holds it, in the transaction that
 * stores it; a reply has no `title`.
 */
export const postHeld = defineAction<{
  readonly held_post: Static<typeof HeldPostEvent>;
  readonly title: string;
  readonly content: string;
}>('post.held', { public: Type.Object({ held_post: HeldPostEvent }) });

/** What a moderator decided about a post that was held. */
export interface PostReview {
  /** Of what was held. */
  readonly id: string;
  readonly outcome: 'approved' | 'rejected';
  readonly author_id: string;
  readonly reviewer_id: string;
  /** The moderator's, for the author; may be empty. */
  readonly reason: string;
  readonly reviewed_at: string;
  /** That of the post, or to which the reply would have gone. */
  readonly discussion?: { readonly id: string; readonly number: number; readonly title: string } | undefined;
  /** What became of it. */
  readonly post?: { readonly id: string; readonly number: number } | undefined;
}
/**
 * A moderator approved what was held, which is a post of a discussion now, or rejected it. Raised in the transaction
 * that does it.
 */
export const postReviewed = defineAction<{ readonly review: PostReview }>('post.reviewed');

/**
 * A field that another plugin adds to a record. The owner composes it into its request and result schemas, and so into
 * OpenAPI, while that plugin runs. `loadMany` gets all ids of a page at once and answers for each, in order.
 */
export interface Field {
  readonly name: string;
  readonly result: TSchema;
  /** It is the reader's own: guests have none, and no more has a page that is rendered once for many. */
  readonly personal?: true;
  loadMany(ids: readonly string[], viewer: Viewer): Promise<readonly unknown[]>;
  readonly body?: TSchema;
  /**
   * How a form shows what is in a record, and sends it where nobody touches it, so that what others change meanwhile
   * stays. Text, numbers and booleans need none.
   */
  formValue?(value: unknown): string;
  /**
   * The value of a discussion that is held, in whose place it is saved once that is published: what it names may have
   * another name by then. Throws what `save` would for a value that it does not take.
   */
  keep?(value: unknown, viewer: Viewer): Awaitable<unknown>;
  save?(em: EntityManager, id: string, value: unknown, viewer: Viewer): Promise<void>;
  /** As `save` for many records at once, for imports: by id, checked by `body` before. */
  saveMany?(em: EntityManager, values: ReadonlyMap<string, unknown>): Promise<void>;
}
/** A post as a projection receives it. */
export interface ProjectedPost extends Readonly<
  Record<'id' | 'discussionId' | 'categoryId' | 'authorId' | 'title' | 'content' | 'html', string>
> {
  readonly number: number;
  readonly createdAt: Date;
  /** Deleted by itself: it stays so when its discussion comes back. */
  readonly removed: boolean;
  /** Its discussion is deleted. */
  readonly discussionRemoved: boolean;
  /** False once it or its discussion is deleted. */
  readonly visible: boolean;
  /** The discussion that it left with this change, and whether all posts left it. */
  readonly left?: { readonly discussionId: string; readonly whole: boolean };
}
/**
 * Signal on the live stream (`ports/live`): what plugins add to a post that is shown changed, though not the post. Its data
 * are `discussion_id` and `number`; open pages fetch the post anew.
 */
export const postLooksChanged = 'post.looks-changed';

/**
 * A copy of all posts in another form, such as a search index. Called inside the transaction of each change (imports
 * too), so that the copy is exact; an error it throws refuses the change.
 */
export interface PostProjection {
  /** New, edited, moved, deleted or restored posts; the same post may come again. */
  posts(em: EntityManager, posts: readonly ProjectedPost[]): Promise<void>;
  /**
   * Title, category, visibility or a field of a whole discussion changed, fields being saved before; its posts do not
   * come one by one.
   */
  discussion(
    em: EntityManager,
    discussion: { readonly id: string; readonly title: string; readonly categoryId: string; readonly visible: boolean },
  ): Promise<void>;
  /** All discussions of a category went to another one; they do not come one by one. */
  category(em: EntityManager, from: string, to: string): Promise<void>;
}
export const postProjections = defineExtensionPoint<PostProjection>(
  'discussions.projections',
  'Copies of all posts in another form, such as a search index, kept inside the transaction of each change.',
  { order: 'The order in which they are written; what one throws refuses the change.' },
);
export const discussionFields = defineExtensionPoint<Field>(
  'discussions.discussion-fields',
  'Fields of discussions: shown with each record, and read from what is sent with a new or changed one.',
  { order: 'The place among the fields of the record, and the order in which they are stored.' },
);
export const postFields = defineExtensionPoint<Field>(
  'discussions.post-fields',
  'Fields of posts, shown with each record.',
  { order: 'The place among the fields of the record.' },
);
export const categoryFields = defineExtensionPoint<Field>(
  'discussions.category-fields',
  'Fields of categories: shown with each record, and read from what administrators send with a new or changed one.',
  { order: 'The place among the fields of the record.' },
);

export interface Category extends Readonly<Record<'id' | 'slug' | 'name' | 'description', string>> {
  readonly parentId: string | null;
  /** Degrees on the colour wheel in steps of 15; lightness belongs to the theme. */
  readonly hue: number;
  readonly icon: string;
  readonly position: number;
  readonly view: Audience;
  readonly create: Audience;
  readonly reply: Audience;
}

export type CategoryRights = Readonly<Record<'view' | 'create' | 'reply' | 'moderate', boolean>>;

/** All categories are cached in memory and always current: a change replaces them before its request is answered. */
export interface Categories {
  /** To await before the others are used for a request: costs nothing unless another process changed a category. */
  refresh(): Promise<void> | undefined;
  all(): readonly Category[];
  visible(viewer: Viewer): readonly Category[];
  /** By id or slug; undefined also when the viewer may not see it. */
  find(idOrSlug: string, viewer: Viewer): Category | undefined;
  /** What the viewer may do in a category. */
  rights(category: Category, viewer: Viewer): CategoryRights;
  /**
   * Creates, or changes where an id is given: what is not said stays, or gets its first value; a new one needs a name. 400
   * naming the field. `done`, here and below, runs in the transaction of the change.
   */
  save(category: Partial<Category>, done?: (saved: Category) => Promise<void>): Promise<Category>;
  /** Its discussions go to `moveTo`; without it only an empty category can be deleted (400). */
  remove(id: string, moveTo?: string, done?: () => Promise<void>): Promise<void>;
}
export const Categories = defineToken<Categories>('Categories');

/** A category as the API shows it to one viewer; fields of other plugins come on top. */
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
    'The text is too long for this answer: `html` has its first words only, and so has `content` in lists. `GET /api/posts/{id}` has all of `content`',
});
/** Somebody who wrote in a discussion. */
export const ParticipantRecord = Type.Object({
  user: Author,
  post_count: Type.Integer({ description: 'Their posts in it; deleted ones do not count' }),
});
export type ParticipantRecord = Static<typeof ParticipantRecord>;
/** Where a discussion is pinned: what is pinned everywhere is so in its category, too. */
export const PIN_PLACES = ['category', 'everywhere'] as const;
export type PinPlace = (typeof PIN_PLACES)[number];
/** A discussion as the API shows it; fields of other plugins come on top. */
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
  /** Who wrote last. */
  last_author: Author,
  reply_count: Type.Integer(),
  view_count: Type.Integer(),
  participant_count: Type.Integer(),
  last_post_number: Type.Integer({ description: 'Of the newest post; deleted ones keep their numbers' }),
  is_pinned: Type.Boolean(),
  pinned_in: nullable(
    Type.Enum([...PIN_PLACES], {
      description: 'On top of what lists it is: those of its category alone, or that of the front page as well',
    }),
  ),
  pinned_until: nullable(Time),
  is_locked: Type.Boolean(),
  lock_reason: nullable(Type.String({ description: 'Why, for those who read it' })),
  is_deleted: Type.Boolean(),
  last_post_at: Time,
  created_at: Time,
  updated_at: Time,
  url: Type.String(),
});
export type DiscussionRecord = Static<typeof DiscussionRecord>;
/**
 * A post as the API shows it. A deleted one keeps its number; only moderators still get its author and text.
 */
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
        'The post of its discussion that it answers; null for a reply to the first one, and where that post is gone',
    }),
  ),
  reply_to_author: Type.Optional(Author),
  reply_count: Type.Integer({
    description: 'Posts that answer this very one; what answers the first is a plain reply',
  }),
  replies: Type.Optional(
    Type.Array(Type.Object({ number: Type.Integer(), author: Author, created_at: Time }), {
      description: 'In the posts of a discussion, where there are any: the first 20 of these',
    }),
  ),
  author_since: Type.Optional(
    Type.String({ description: 'In the posts of a discussion: when their author wrote their first post' }),
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
          'In the posts of a discussion, where a post stood that moderators moved to another one: that post, which keeps its id; null where the caller may not see it',
      }),
    ),
  ),
});
export type PostStub = Static<typeof PostStub>;

export const SORTS = ['latest', 'oldest', 'newest', 'most_replied', 'most_viewed'] as const;
export type Sort = (typeof SORTS)[number];

/**
 * A select of one column, ids of discussions, for other plugins' statements: ``where discussion_id in (${ids})``. It may
 * stand in a statement once or more and names no table outside of itself; which tables it reads is its maker's affair.
 * It is made for one statement and its viewer, so it is neither stored nor used again later.
 */
export type DiscussionIds = RawBuilder<{ readonly discussion_id: string }>;
/** As `DiscussionIds`, of posts. */
export type PostIds = RawBuilder<{ readonly post_id: string }>;
/** A select of posts with their source, and with title and category of their discussion, for other plugins' statements. */
export type ReadablePosts = RawBuilder<
  Readonly<Record<'id' | 'content' | 'discussion_id' | 'title' | 'category_id', string>> & { readonly number: number }
>;
/** A condition on a row of the table `discussion`, which it knows as `d`, tried in the order of the list it narrows. */
export type DiscussionCondition = RawBuilder<boolean>;

/** Filters, order and page of a list of discussions. */
export interface ListRequest {
  /**
   * Without it: last activity, pinned ones first where `category` is given; those that are pinned everywhere where
   * `pinnedFirst` is, or `cursor` goes on in such a list.
   */
  readonly sort?: Sort | undefined;
  readonly category?: Category | undefined;
  /** Of these categories only. */
  readonly categoryIds?: readonly string[] | undefined;
  /** An author's discussions only. */
  readonly authorId?: string | undefined;
  readonly pinnedFirst?: boolean | undefined;
  /** Of these only: from the asking plugin's own table, or made by its owner for that. */
  readonly within?: DiscussionIds | undefined;
  readonly where?: DiscussionCondition | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The model of a list's template; `canonical` is for the page's head, `shown` what its rows are made of. */
export interface ListModel {
  readonly canonical: string;
  readonly shown: Page<DiscussionRecord>;
}
/** A part of a category's list that readers may choose, such as what is solved. */
export interface ListFilter {
  /** Value of `filter` in URLs of pages and of the API. */
  readonly name: string;
  /** Text key. */
  readonly label: string;
  /** Whether the list of this category offers it. */
  offered(category: Category): Awaitable<boolean>;
  where(): Awaitable<DiscussionCondition>;
}
export const listFilters = defineExtensionPoint<ListFilter>(
  'discussions.list-filters',
  'Parts of a category’s list that readers may choose, such as what is solved: on its page, and as `filter` of the API.',
  { order: 'The place among the filters, behind all discussions.' },
);

/** A list on a page of its own, at `path`. */
export interface ListPage extends Omit<ListRequest, 'limit' | 'offset'> {
  readonly path: string;
  /** Its number. With the `cursor` that the link of the page before has, it begins behind that page’s last row. */
  readonly page?: number | undefined;
  /** How many discussions the whole list has; without it the pager knows the next page only. */
  readonly total?: number | undefined;
  /** It has this one order: readers choose no other. */
  readonly oneOrder?: boolean | undefined;
  /** What it can be narrowed to. */
  readonly filters?: readonly Pick<ListFilter, 'name' | 'label'>[] | undefined;
  /** The filter that was chosen, whose condition is `where`. */
  readonly filter?: string | undefined;
}

/** What one viewer wants to see of the list of the whole forum. */
export interface Narrowing {
  /** Whoever has the same one sees the same. */
  readonly key: string;
  /** Ids of categories that are left out: what is left is read past none of them. */
  readonly without: readonly string[];
  /** What is left of the others; undefined: all. */
  readonly where: DiscussionCondition | undefined;
  /** Says above the list that something is left out, and leads to where that is changed: text key and path. */
  readonly note: { readonly text: string; readonly href: string };
}
export const homeNarrowings = defineExtensionPoint<(viewer: Viewer) => Awaitable<Narrowing | undefined>>(
  'discussions.home-narrowings',
  'What one viewer wants to see of the front page’s list, such as nothing of what they muted. Called for each look at it, so it must be quick; whoever has one shares the page with none but those who have the same.',
  { order: 'The order in which they are asked.' },
);

/** A look at the discussions of the whole forum, one of several above the list of the front page. */
export interface ListTab {
  /** Text key. */
  readonly label: string;
  /** Path of its page, which shows the tabs too: `Discussions.listPage` has them, and `Discussions.tabs`. */
  readonly href: string;
  /** Called for each page; default: everyone sees it. Must be synchronous. */
  visible?(viewer: Viewer): boolean;
}
export const listTabs = defineExtensionPoint<ListTab>(
  'discussions.list-tabs',
  'Tabs above the list of the front page, such as what is unread; they show where a viewer has another one than all discussions.',
  { order: 'The place among the tabs, behind that of all discussions.' },
);

/** Identity of a discussion, and everything that decides who may see it and act on it. */
export interface DiscussionHead extends Readonly<
  Record<'id' | 'title' | 'slug' | 'categoryId' | 'authorId' | 'firstPostId', string>
> {
  readonly number: number;
  readonly locked: boolean;
  readonly pinned: boolean;
  /** Only moderators get to see a head with `deleted`. */
  readonly deleted: boolean;
}

/** Identity of a post, and its discussion. */
export interface PostHead {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
  /** Only moderators get to see it then. */
  readonly deleted: boolean;
  readonly discussion: DiscussionHead;
}

/** Values for the fields of other plugins, by name; names that no plugin knows are ignored. */
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
  /** Id or number of the post of the discussion that it answers; a reply to the first one answers none. */
  readonly replyTo?: string | undefined;
}
export type CreatedDiscussion = Readonly<{ discussionId: string; number: number; postId: string; path: string }>;
export type DiscussionUrl = Readonly<{ number: number; path: string; updatedAt: Date }>;
export type CreatedReply = Readonly<{ id: string; number: number; path: string }>;
/** `number` is the post's, `discussionNumber` that of its discussion, and `title` too. */
export type PublishedPost = Readonly<
  Record<'discussionId' | 'title' | 'postId' | 'path', string> & Record<'discussionNumber' | 'number', number>
>;

/** Discussions and their posts, as far as the viewer may see and change them. */
export interface Discussions {
  /** With the fields that other plugins add, for the results of routes. */
  readonly record: typeof DiscussionRecord;
  /**
   * Markdown in, ids out. 400 naming the field, 403 where the category does not let the viewer, 429 above the rate. It is
   * written at once, as by `reply`: what members send by pages and the API may be held (`discussion.sent`).
   */
  start(viewer: Viewer, draft: NewDiscussion): Promise<CreatedDiscussion>;
  /**
   * 404 for a discussion the viewer cannot see, 403 where it is locked or closed to them, 400 naming `reply_to_id` where
   * that is no post to be answered, 429 above the rate.
   */
  reply(viewer: Viewer, draft: NewReply): Promise<CreatedReply>;
  /**
   * Writes what was held when its author sent it, as new, with all that follows from a post. Checked once more, but for
   * the rate: fails as `start` and `reply` do. What answered a post that is gone answers none.
   */
  publish(author: Viewer, draft: NewDiscussion | NewReply): Promise<PublishedPost>;
  /** How many posts each of these members has in all categories, without deleted ones. One statement. */
  postCounts(authorIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** A discussion by id or public number, and a post by id, if the viewer may see it. */
  find(idOrNumber: string, viewer: Viewer): Promise<DiscussionHead | undefined>;
  findPost(id: string, viewer: Viewer): Promise<PostHead | undefined>;
  /** What the viewer may see of a list. One statement, whatever its length. 400 for a cursor of another list. */
  list(request: ListRequest, viewer: Viewer): Promise<Page<DiscussionRecord>>;
  /** In the order of `ids`, without those the viewer may not see. */
  records(ids: readonly string[], viewer: Viewer): Promise<readonly DiscussionRecord[]>;
  posts(ids: readonly string[], viewer: Viewer): Promise<readonly PostRecord[]>;
  /** Records as the rows that `@discussions/rows` takes. */
  listItems(records: readonly DiscussionRecord[]): Promise<readonly object[]>;
  /** What `@discussions/list` takes besides `label` and `empty`. 404 for a page behind the last one. */
  listPage(page: ListPage, viewer: Viewer): Promise<ListModel>;
  /** What `@discussions/tabs` takes as `tabs`, on the page of a tab that is no list of discussions. */
  tabs(path: string, viewer: Viewer): readonly object[];
  /** Whether the viewer may reply to a discussion that was found for them. */
  canReply(discussion: DiscussionHead, viewer: Viewer): boolean;
  /** Ids of those who wrote most of the posts that the viewer may see. One statement. */
  mostPosts(
    part: { readonly limit: number; readonly offset?: number | undefined; readonly cursor?: string | undefined },
    viewer: Viewer,
  ): Promise<Page<string>>;
  /** All discussions, and all posts, that the viewer may see: to filter lists in other plugins' statements. */
  visible(viewer: Viewer): Promise<DiscussionIds>;
  visiblePosts(viewer: Viewer): Promise<PostIds>;
  /**
   * The posts that `posts` shows the viewer, to be joined with a few ids: deleted ones are not among them, for
   * moderators either.
   */
  readablePosts(viewer: Viewer): Promise<ReadablePosts>;
  /** URLs of what the viewer may see, by number: at most `limit` above `after` and up to `last`. One statement. */
  urls(
    range: { readonly after: number; readonly last: number; readonly limit: number },
    viewer: Viewer,
  ): Promise<readonly DiscussionUrl[]>;
  /** Which ranges of `size` numbers have something the viewer may see; 0 is the first range. One statement. */
  occupiedRanges(size: number, viewer: Viewer): Promise<readonly number[]>;
  /**
   * Every post by id, deleted ones too; with `since`, those of discussions changed since that checkpoint. In a
   * transaction it locks their discussions. Three statements at most.
   */
  projectedPosts(after: string | undefined, limit: number, since?: string): Promise<readonly ProjectedPost[]>;
  /** Where the backfill of a projection that stops now has to begin later. */
  checkpoint(): Promise<string>;
  /** For `plugin.backfill` of a plugin with a projection: passes on posts in batches of at most 500, by id. */
  postBackfill(projection: Pick<PostProjection, 'posts'>): Backfill;
}
export const Discussions = defineToken<Discussions>('Discussions');

/** A whole discussion to import, such as from another forum. Its posts are in order, the first one opens it. */
export interface ImportedDiscussion {
  readonly title: string;
  readonly slug?: string;
  readonly categoryId: string;
  /** Who wrote the first post. */
  readonly authorId: string;
  readonly createdAt: Date;
  readonly views?: number;
  /** Where; `true` is everywhere. */
  readonly pinned?: boolean | PinPlace;
  readonly locked?: boolean;
  readonly fields?: Fields;
  /** Both are stored as they are: they must come from `Importer.acceptContent`, or `html` from `Markdown.render`. */
  readonly posts: readonly {
    readonly authorId: string;
    readonly content: string;
    readonly html: string;
    readonly createdAt: Date;
    /** Number of the post before it that it answers. */
    readonly replyTo?: number;
    readonly fields?: Fields;
  }[];
}
/** What an import tells while it goes on. */
export interface ImportListener {
  /** Runs in the transaction of each batch, with the ids that its discussions got. */
  written?(batch: readonly { readonly id: string; readonly source: ImportedDiscussion }[]): Promise<void>;
  /** After each batch: how many there are by now. */
  progress?(discussions: number, posts: number): void;
}
/** Imports many discussions fast. Emits no events and checks no permissions; all counters are right afterwards. */
export interface Importer {
  /** A title as it is stored. 400 naming what is wrong. */
  acceptTitle(title: string): string;
  /** What a post says as it is stored, and as it is shown. 400 naming what is wrong. */
  acceptContent(content: string): Promise<{ readonly content: string; readonly html: string }>;
  /** In batches, each a transaction. Resolves to how many were written. */
  importDiscussions(
    discussions: Iterable<ImportedDiscussion> | AsyncIterable<ImportedDiscussion>,
    listener?: ImportListener,
  ): Promise<{ readonly discussions: number; readonly posts: number }>;
}
export const Importer = defineToken<Importer>('Importer');

/** A table of counters with the columns `owner`, `category_id` and `count`, and how to count anew. */
export interface CategoryCounterOptions extends Readonly<Record<'name' | 'table' | 'owner' | 'count', string>> {
  readonly data: Data;
  /** What an owner is called in reports of mismatches. */
  readonly label: string;
  readonly keys: Counter['keys'];
  /**
   * A select from the plugin's own tables of `owner`, `category_id` and the true `count` of these owners, without zeros.
   */
  actual(owners: readonly string[]): RawBuilder<{ readonly category_id: string }>;
  /** Runs `correct` in a transaction, and then whatever has to follow a correction. */
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
        // Only now: transactions that held one of these rows have committed, and later ones wait.
        await data.all(sql`update ${table} k set ${count} = n.${count} from (
            select c.${owner}, c.category_id, coalesce(t.${count}, 0) as ${count} from ${table} c
            left join (${actual(owners)}) t using (${owner}, category_id)
            where c.${owner} = any(${owners}::uuid[])
          ) n where k.${owner} = n.${owner} and k.category_id = n.category_id`);
      }),
  };
}

/**
 * Cache tags of records and responses. A plugin purges them when its field or slot has something new to show.
 */
export const discussionCacheTags = {
  /** Every list of discussions. */
  lists: 'discussions',
  /** Everything that shows any discussion, post or list, such as when a member has a new name. */
  all: 'discussion-records',
  categories: 'categories',
  /** All that shows one discussion or its posts. */
  discussion: (id: string): string => `discussion:${id}`,
  /**
   * Lists that show how often discussions were viewed, or are in that order. Views are counted every few seconds: pages,
   * which do not show them, are cached all the same.
   */
  views: 'discussion-views',
  /** What shows how often one discussion was viewed. */
  viewsOf: (id: string): string => `discussion-views:${id}`,
} as const;

/**
 * A slot in the form of a discussion or a post; what fills it may contain inputs, which the form submits under their
 * names.
 */
export interface ComposerSlot {
  /**
   * A whole discussion with its title and fields, or a single post. Of a discussion that is there already its text is
   * not part of the form. `message`: what only those read to whom it is written, and what is no post.
   */
  readonly writes: 'discussion' | 'post' | 'message';
  /** Absent for a new discussion. */
  readonly discussion?: DiscussionHead | undefined;
  /** Submitted values by field name, when the form is shown again. */
  readonly values: Readonly<Record<string, unknown>>;
  /** What is wrong with them, by field name. */
  readonly wrong?: Readonly<Record<string, string>> | undefined;
  /** Under which drafts of the form are kept; absent where none are. */
  readonly key?: string | undefined;
}
export const cardTitle = defineSlot<DiscussionRecord>(
  'discussion-card.title',
  'On each row of a list of discussions, in place of its title: a link to where the viewer goes on, and short marks.',
);
export const cardBadges = defineSlot<DiscussionRecord>(
  'discussion-card.badges',
  'On each row of a list of discussions, after the title: short marks.',
);
export const cardMeta = defineSlot<DiscussionRecord>(
  'discussion-card.meta',
  'On each row of a list of discussions, in the line of small print below the title.',
);
export const cardEnd = defineSlot<DiscussionRecord>(
  'discussion-card.end',
  'At the end of each row of a list of discussions, beside its numbers.',
);
/** Posts of a discussion on one of its pages. */
export const POSTS_PER_PAGE = 20;
/** A discussion on a page with some of its posts. */
export interface ShownDiscussion extends DiscussionRecord {
  /** Numbers of the first and the last post of the page. */
  readonly shown: { readonly from: number; readonly to: number };
}
export const postBefore = defineSlot<PostRecord>(
  'post.before',
  'Above each post: what divides it from the one before.',
);
export const postBadges = defineSlot<PostRecord>(
  'post.badges',
  'At the head of each post, after the author’s name: short marks.',
);
export const postAfterBody = defineSlot<PostRecord>(
  'post.body.after',
  'Below the text of each post: what belongs to it, such as a poll.',
);
export const postFooter = defineSlot<PostRecord>(
  'post.footer.end',
  'In the footer of each post, before its buttons: reactions and the like.',
);
export const postActions = defineSlot<PostRecord>(
  'post.actions',
  'In the footer of each post, before its own buttons: a button or two.',
);
/** A post whose menu is open. */
export interface MenuPost extends PostRecord {
  /** Path of the post on the page of its discussion. */
  readonly url: string;
}
export const postMenu = defineSlot<MenuPost>('post.menu', 'At the end of each post’s menu: list items.');
export const headBadges = defineSlot<DiscussionRecord>(
  'discussion.head.badges',
  'On the page of a discussion, beside its category: short marks.',
);
export const headAfterTitle = defineSlot<DiscussionRecord>(
  'discussion.head.after-title',
  'On the page of a discussion, below its title.',
);
export const headActions = defineSlot<DiscussionRecord>(
  'discussion.head.actions',
  'On the page of a discussion, beside its title: buttons.',
);
export const beforePosts = defineSlot<ShownDiscussion>(
  'discussion.before-posts',
  'On the page of a discussion, between its head and the posts.',
);
export const afterPosts = defineSlot<ShownDiscussion>(
  'discussion.after-posts',
  'On the page of a discussion, between the posts and the pager.',
);
export const discussionRail = defineSlot<DiscussionRecord>(
  'rail.discussion',
  'Beside the page of a discussion: small panels.',
);
/** A slot in the administrators’ form of a category. */
export interface CategoryFormSlot {
  /** Absent for a new one. */
  readonly category?: Category | undefined;
  /** Submitted values by field name, when the form is shown again. */
  readonly values: Readonly<Record<string, unknown>>;
}
export const categoryFormFields = defineSlot<CategoryFormSlot>(
  'admin.category.fields',
  'In the administrators’ form of a category, above its button: inputs, which the form submits under their names.',
);
export const composerFields = defineSlot<ComposerSlot>(
  'composer.fields',
  'In the form of a discussion or a post, below the text: inputs, which the form submits under their names.',
);
export const composerEnd = defineSlot<ComposerSlot>(
  'composer.end',
  'In the form of a discussion or a post, below its buttons: what there is to say of it, and buttons of its own.',
);
export const composerAfterTitle = defineSlot<ComposerSlot>(
  'composer.after-title',
  'In the form of a new discussion, below the field of its title: what there is to know before one writes on.',
);
export const homeBanner = defineSlot<object>('home.banner', 'On the front page, above the list of discussions.');
/** What discussions are listed by on a page of its own. */
export interface ListSubject {
  readonly kind: 'tag';
  readonly id: string;
}
export const listActions = defineSlot<ListSubject>(
  'list.actions',
  'On the page of what discussions are listed by, such as a tag, beside its name: buttons.',
);
export const categoryActions = defineSlot<CategoryRecord>(
  'category.actions',
  'On the page of a category, beside its name: buttons.',
);
export const categoryRail = defineSlot<CategoryRecord>('rail.category', 'Beside the page of a category: small panels.');
/** A tab above a list of discussions, as it is shown. */
export interface ShownListTab {
  readonly label: string;
  readonly href: string;
  readonly current: boolean;
}
export const listTabEnd = defineSlot<ShownListTab>(
  'list.tab',
  'In each tab above the list of the front page, behind its name: how much waits for the viewer there.',
);
export const listToolbar = defineSlot<object>(
  'list.toolbar',
  'Between the orders of a list of discussions and its rows.',
);

export const startDiscussion = definePermission('discussions.start', { label: 'start discussions', default: 'member' });
export const writeReply = definePermission('discussions.reply', { label: 'reply', default: 'member' });
export const editPost = definePermission('discussions.edit', { label: 'edit posts', default: 'member' });
export const moderate = definePermission('discussions.moderate', {
  label: 'edit, move, merge, pin, lock, delete and restore what others wrote',
  default: 'moderator',
});
export const manageCategories = definePermission('discussions.manage-categories', {
  label: 'manage categories',
  default: 'admin',
});
