import { HttpError, InvalidInput, notFound, type Cache, type Clock, type Data } from 'parley-forum';
import type { Member, Viewer } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import type { Page } from 'parley-forum/plugins/api';
import { MAX_NOTE } from 'parley-forum/plugins/bookmarks';
import type { Discussions, PostHead } from 'parley-forum/plugins/discussions';
import type { BookmarkChanges, BookmarkStore, ListRequest, Selection } from './bookmark-store.ts';
import type { Reminders } from './reminders.ts';
import type { Bookmark } from './rows.ts';

export interface BookmarkDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly discussions: Pick<Discussions, 'findPost' | 'readablePosts'>;
  readonly store: BookmarkStore;
  readonly reminders: Reminders;
  /** The maximum number of bookmarks per member. */
  readonly most: () => number;
}
/** A bookmark with its post, which the owner may see. */
export interface FoundBookmark {
  readonly bookmark: Bookmark;
  readonly post: PostHead;
}

const DAY = 86_400_000;
/** How many days ahead a reminder may be set: ten years. */
const LONGEST = 3_653;

/** The bookmarks of members, each visible to its owner only; `viewer` is always a member here. */
export class BookmarkService {
  readonly #deps: BookmarkDeps;

  constructor(deps: BookmarkDeps) {
    this.#deps = deps;
  }

  /** The viewer's own bookmark with this id, if they may currently see its post. */
  async find(id: string, viewer: Viewer): Promise<FoundBookmark | undefined> {
    const bookmark = viewer.id === undefined ? undefined : await this.#deps.store.find(id, viewer.id);
    const post = bookmark && (await this.#deps.discussions.findPost(bookmark.postId, viewer));
    return bookmark && post && !post.deleted ? { bookmark, post } : undefined;
  }

  /** The ids of the viewer's own bookmarks of these posts, by post id. */
  async ofPosts(postIds: readonly string[], viewer: Member): Promise<ReadonlyMap<string, string>> {
    const own = await this.#deps.store.ofPosts(viewer.id, postIds);
    return new Map(own.map(({ id, postId }) => [postId, id]));
  }

  /**
   * The bookmarks whose posts the viewer may currently see and whose note, title or beginning of the text contains
   * every word of `search`.
   */
  async list(
    viewer: Member,
    { search, ...request }: ListRequest & { readonly search: string },
  ): Promise<Page<Bookmark>> {
    return this.#deps.store.list(await this.#selection(viewer, search), request);
  }

  async count(viewer: Member, search: string): Promise<number> {
    return this.#deps.store.count(await this.#selection(viewer, search));
  }

  /**
   * Adds a bookmark; an existing one is kept and gets the given changes. Throws 404 if the viewer cannot see the post,
   * 400 naming an invalid field, and 409 if they have reached the maximum number.
   */
  async add(viewer: Member, postId: string, changes: BookmarkChanges): Promise<Bookmark> {
    const { data, discussions, store, most } = this.#deps;
    const post = await discussions.findPost(postId, viewer);
    if (!post || post.deleted) throw notFound('There is no such post');
    const checked = this.#checked(changes);
    return this.#write(viewer, () =>
      data.transaction(async () => {
        const bookmark = await store.add(viewer.id, post.id, checked, most());
        if (!bookmark) throw new HttpError(409, `You have ${most()} bookmarks; remove some that you no longer need`);
        await this.#deps.reminders.schedule(bookmark);
        return bookmark;
      }),
    );
  }

  /** Throws 400 naming an invalid field. */
  async change(bookmark: Bookmark, changes: BookmarkChanges, viewer: Member): Promise<Bookmark> {
    const { data, store, reminders } = this.#deps;
    const stays = changes.remindAt?.getTime() === bookmark.remindAt?.getTime();
    const checked = this.#checked(stays ? { note: changes.note } : changes);
    return this.#write(viewer, () =>
      data.transaction(async () => {
        const changed = await store.change(bookmark.id, checked);
        if (!changed) throw notFound('There is no such bookmark');
        await reminders.schedule(changed);
        return changed;
      }),
    );
  }

  /** Removes the bookmarks with these ids that belong to the viewer. Resolves to the number removed. */
  remove(ids: readonly string[], viewer: Member): Promise<number> {
    return this.#remove(() => this.#deps.store.remove(viewer.id, ids), viewer);
  }

  /** Removes the viewer's own bookmark of a post, if there is one. */
  async removeFrom(postId: string, viewer: Member): Promise<void> {
    await this.#remove(() => this.#deps.store.removeFrom(viewer.id, postId), viewer);
  }

  #remove(from: () => Promise<readonly string[]>, viewer: Member): Promise<number> {
    const { data, reminders } = this.#deps;
    return this.#write(viewer, () =>
      data.transaction(async () => {
        const removed = await from();
        for (const id of removed) await reminders.cancel(id);
        return removed.length;
      }),
    );
  }

  async #selection(viewer: Member, search: string): Promise<Selection> {
    const words = search.split(/\s+/).filter(Boolean);
    return { userId: viewer.id, posts: await this.#deps.discussions.readablePosts(viewer), words };
  }

  #checked({ note, remindAt }: BookmarkChanges): BookmarkChanges {
    const now = this.#deps.clock.now();
    const clean = note
      ?.replace(/\r\n?/g, '\n')
      .replace(/(?![\t\n])\p{Cc}/gu, '')
      .trim();
    if ((clean?.length ?? 0) > MAX_NOTE)
      throw new InvalidInput([{ field: 'note', message: `must have at most ${MAX_NOTE} characters` }]);
    if (remindAt && !(remindAt.getTime() > now))
      throw new InvalidInput([{ field: 'remind_at', message: 'must be in the future' }]);
    if (remindAt && remindAt.getTime() > now + LONGEST * DAY)
      throw new InvalidInput([{ field: 'remind_at', message: 'must be within the next ten years' }]);
    return { note: clean, remindAt };
  }

  /** Afterwards, everything cached for the member is stale. */
  async #write<T>(viewer: Member, work: () => Promise<T>): Promise<T> {
    const done = await work();
    await this.#deps.cache.purge(accountTag(viewer.id));
    return done;
  }
}
