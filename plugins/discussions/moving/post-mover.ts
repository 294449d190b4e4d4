import {
  createId,
  HttpError,
  InvalidInput,
  notFound,
  sql,
  type Cache,
  type Clock,
  type Data,
  type EntityManager,
  type Environment,
  type PluginHandle,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { slugOf } from 'parley-forum/plugins/api';
import {
  discussionCacheTags,
  discussionDeleted,
  postsMoved,
  type DiscussionHead,
  type MovedPost,
} from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';
import { discussionEvent } from '../events/event-payloads.ts';
import type { Projections } from '../projections/projections.ts';
import { countTag, headTag, type DiscussionReader } from '../reading/reader.ts';
import type { Revisions } from '../revisions/revisions.ts';
import type { Rights } from '../rights.ts';
import type { Drafts } from '../writing/drafts.ts';
import type { ChangedBy, ModerationLog } from '../writing/moderation-log.ts';
import { countMoved } from './moved-counts.ts';
import {
  chosenPosts,
  formerPlaces,
  insertDiscussion,
  lockDiscussions,
  moveRows,
  postsToMerge,
  type Move,
  type MovingPost,
  type Place,
  type PostToMove,
} from './rows.ts';
import { categoryRemovedMeanwhile, changedMeanwhile } from '../writing/conflicts.ts';

export interface PostMoverDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly plugin: PluginHandle;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly categories: CategoryService;
  readonly drafts: Drafts;
  readonly moderationLog: ModerationLog;
  readonly projections: Projections;
  readonly reader: DiscussionReader;
  readonly revisions: Revisions;
  readonly rights: Rights;
}
/** The destination of posts: an existing discussion, by id or number, or a new one. */
export type Destination = { readonly discussionId: string } | Fresh;
/** The posts, and the discussion they are in now. */
export interface Moved {
  readonly discussion: { readonly id: string; readonly number: number };
  readonly posts: readonly MovedPost[];
}
/** A discussion to be created. */
interface Fresh {
  readonly title: string;
  readonly categoryId: string;
}
/** A destination in which the moderator is allowed to write. */
type Target = { readonly head: DiscussionHead } | { readonly fresh: Fresh };

/**
 * Moves posts to another discussion, and merges whole discussions. Callers check that the viewer may moderate the
 * discussion that the posts leave.
 */
export class PostMover {
  readonly #deps: PostMoverDeps;

  constructor(deps: PostMoverDeps) {
    this.#deps = deps;
  }

  /**
   * Moves replies, in order, to the end of the other discussion. Throws 400 for posts that are not replies or are
   * deleted, and if the destination is their own discussion; 404 for a discussion that the viewer cannot see.
   */
  async move(source: DiscussionHead, postIds: readonly string[], to: Destination, by: ChangedBy): Promise<Moved> {
    const target =
      'discussionId' in to
        ? { head: await this.#head(source, to.discussionId, by.viewer, 'discussion_id') }
        : { fresh: await this.#fresh(to, by.viewer) };
    return this.#carryOut(source, target, { by, postIds });
  }

  /**
   * Moves all posts, keeping deleted ones deleted; the URL of the merged discussion then redirects to the other one.
   */
  async merge(source: DiscussionHead, into: string, by: ChangedBy): Promise<Moved> {
    return this.#carryOut(source, { head: await this.#head(source, into, by.viewer, 'into') }, { by });
  }

  async #head(source: DiscussionHead, idOrNumber: string, viewer: Viewer, field: string): Promise<DiscussionHead> {
    const { reader, rights } = this.#deps;
    const head = await reader.find(idOrNumber, viewer);
    if (!head || head.deleted) throw notFound('There is no such discussion');
    if (head.id === source.id)
      throw new InvalidInput([{ field, message: 'is the discussion that the posts are already in' }]);
    rights.requireReply(head, viewer);
    return head;
  }

  async #fresh({ title, categoryId }: Fresh, viewer: Viewer): Promise<Fresh> {
    const { categories, drafts } = this.#deps;
    await categories.refresh();
    const category = categories.find(categoryId, viewer);
    if (!category) throw new InvalidInput([{ field: 'category_id', message: 'is not a category you can see' }]);
    if (!categories.rights(category, viewer).create)
      throw new HttpError(403, 'You may not start discussions in that category');
    return { title: await drafts.acceptTitle(title, viewer, category.id), categoryId: category.id };
  }

  /** One transaction, with as many statements for one post as for 200. */
  async #carryOut(
    head: DiscussionHead,
    target: Target,
    { by, postIds }: { readonly by: ChangedBy; readonly postIds?: readonly string[] },
  ): Promise<Moved> {
    const { data, clock } = this.#deps;
    const merged = postIds === undefined;
    const result = await data.transaction(async (em) => {
      const now = new Date(clock.now());
      const [source, existing] = await this.#lock(head, target);
      const chosen = await (merged ? postsToMerge(data, source) : chosenPosts(data, source, postIds));
      const place = 'fresh' in target ? await this.#start(target.fresh, chosen[0]!, now) : existing!;
      const posts = chosen.map((post, at) => ({
        ...post,
        from: post.number,
        number: place.lastNumber + at + 1,
        stubId: createId(now.getTime()),
      }));
      const move = { source, place, posts, merged, fresh: !existing, by: by.viewer.id ?? null, now };
      await moveRows(data, move);
      await countMoved(data, move);
      if (merged)
        await this.#deps.revisions.add(
          source.firstPostId,
          { title: source.title, categoryId: source.categoryId === place.categoryId ? undefined : source.categoryId },
          by,
          now,
        );
      await this.#publish(em, move, by);
      const shownIn = await formerPlaces(
        data,
        chosen.map(({ id }) => id),
      );
      return { source, place, shownIn, posts: shown(posts) };
    });
    await this.#purge(result);
    return { discussion: result.place, posts: result.posts };
  }

  /** Locks and reads both discussions. Throws 409 if one has changed since the caller loaded it. */
  async #lock(head: DiscussionHead, target: Target): Promise<readonly [Place, Place | undefined]> {
    const { data } = this.#deps;
    const other = 'head' in target ? target.head : undefined;
    if ('fresh' in target) {
      const category = await data.one(sql`select id from category where id = ${target.fresh.categoryId} for key share`);
      if (!category) throw categoryRemovedMeanwhile();
    }
    const locked = await lockDiscussions(data, [head.id, ...(other ? [other.id] : [])]);
    const now = ({ id, categoryId: before }: DiscussionHead): Place => {
      const place = locked.find((one) => one.id === id);
      if (!place || place.categoryId !== before) throw changedMeanwhile();
      return place;
    };
    const [source, existing] = [now(head), other && now(other)];
    if (existing?.deletedAt) throw notFound('There is no such discussion');
    if (source.deletedAt)
      throw new HttpError(409, 'Posts of a deleted discussion cannot be moved; restore the discussion first');
    return [source, existing];
  }

  /** Inserts a discussion that starts with this post, without posts so far. */
  #start({ title, categoryId }: Fresh, first: PostToMove, now: Date): Promise<Place> {
    const id = createId(now.getTime());
    return insertDiscussion(this.#deps.data, { id, title, slug: slugOf(title, 'discussion'), categoryId, now }, first);
  }

  async #publish(em: EntityManager, move: Move, by: ChangedBy): Promise<void> {
    const { plugin, environment, accounts, projections, moderationLog } = this.#deps;
    const { source, place, posts, merged, now } = move;
    await projections.moved(em, {
      source: { ...source, deletedAt: merged ? now : null },
      place,
      merged,
      ids: posts.map(({ id }) => id),
    });
    const authors = await accounts.authors([source.authorId, place.authorId]);
    const event = (discussion: Place) =>
      discussionEvent(
        environment.baseUrl,
        discussion,
        authors.get(discussion.authorId) ?? { id: discussion.authorId, username: 'deleted' },
      );
    const { id, number } = source;
    await plugin.emit(postsMoved, {
      source: { id, number },
      discussion: event(place),
      posts: shown(posts),
      merged,
      by: by.viewer.id ?? '',
    });
    if (merged) await plugin.emit(discussionDeleted, { discussion: event(source) });
    const [first] = posts;
    await moderationLog.record(
      [merged ? 'discussion.merged' : 'posts.moved'],
      {
        authorId: merged ? source.authorId : onlyAuthor(posts),
        discussion: source,
        ...(!merged && { post: { id: first!.id, number: first!.from } }),
      },
      by,
    );
  }

  /** Purges everything that shows one of the two discussions, or where a post has moved to. */
  #purge({
    source,
    place,
    shownIn,
  }: {
    readonly source: Place;
    readonly place: Place;
    readonly shownIn: readonly string[];
  }): Promise<void> {
    const both = [source, place];
    return this.#deps.cache.purge(
      discussionCacheTags.lists,
      ...[...new Set([source.id, place.id, ...shownIn])].map(discussionCacheTags.discussion),
      ...both.flatMap(({ id, number }) => [headTag(id), headTag(number)]),
      ...new Set(both.map(({ categoryId }) => countTag(categoryId))),
    );
  }
}

/** The moved posts as readers may see them: deleted ones are left out. */
const shown = (posts: readonly MovingPost[]): readonly MovedPost[] =>
  posts
    .filter(({ deletedAt }) => !deletedAt)
    .map(({ id, authorId, from, number }) => ({ id, author_id: authorId, from_number: from, number }));

/** The author, if there is only one. */
function onlyAuthor(posts: readonly MovingPost[]): string | undefined {
  const authors = new Set(posts.map(({ authorId }) => authorId));
  return authors.size === 1 ? posts[0]!.authorId : undefined;
}
