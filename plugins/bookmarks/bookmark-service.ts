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
  /** How many a member may have. */
  readonly most: () => number;
}
/** A bookmark and its post, which its owner may see. */
export interface FoundBookmark {
  readonly bookmark: Bookmark;
  readonly post: PostHead;
}

const DAY = 86_400_000;
/** Days from now for which a reminder may be set: ten years. */
const LONGEST = 3_653;

/** The bookmarks of members, each for its owner alone; `viewer` is always a member here. */
export class BookmarkService {
  readonly #deps: BookmarkDeps;

  constructor(deps: BookmarkDeps) {
    this.#deps = deps;
  }

  /** One of the viewer's own whose post they may see at present. */
  async find(id: string, viewer: Viewer): Promise<FoundBookmark | undefined> {
    const bookmark = viewer.id === undefined ? undefined : await this.#deps.store.find(id, viewer.id);
    const post = bookmark && (await this.#deps.discussions.findPost(bookmark.postId, viewer));
    return bookmark && post && !post.deleted ? { bookmark, post } : undefined;
  }

  /** Ids of the viewer's own bookmarks of these posts, by post. */
  async ofPosts(postIds: readonly string[], viewer: Member): Promise<ReadonlyMap<string, string>> {
    const own = await this.#deps.store.ofPosts(viewer.id, postIds);
    return new Map(own.map(({ id, postId }) => [postId, id]));
  }

  /** Those whose posts the viewer may see at present, and in whose note, title or beginning of the text every word of `search` stands. */
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
   * One that is there already stays, with what is given changed. 404 for a post that the viewer cannot see, 400 naming
   * the field, 409 when they have as many as they may.
   */
  async add(viewer: Member, postId: string, changes: BookmarkChanges): Promise<Bookmark> {
    const { data, discussions, store, most } = this.#deps;
    const post = await discussions.findPost(postId, viewer);
    if (!post || post.deleted) throw notFound('There is no such post');
    const checked = this.#checked(changes);
    return this.#write(viewer, () =>
      data.transaction(async () => {
        const bookmark = await store.add(viewer.id, post.id, checked, most());
        if (!bookmark) throw new HttpError(409, `You have ${most()} bookmarks; remove some that you need no longer`);
        await this.#deps.reminders.schedule(bookmark);
        return bookmark;
      }),
    );
  }

  /** 400 naming the field. */
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

  /** Those of `ids` that are the viewer's own; resolves to how many that were. */
  remove(ids: readonly string[], viewer: Member): Promise<number> {
    return this.#remove(() => this.#deps.store.remove(viewer.id, ids), viewer);
  }

  /** The viewer's own bookmark of a post, where there is one. */
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
      throw new InvalidInput([{ field: 'remind_at', message: 'must be a moment in the future' }]);
    if (remindAt && remindAt.getTime() > now + LONGEST * DAY)
      throw new InvalidInput([{ field: 'remind_at', message: 'must be within the next ten years' }]);
    return { note: clean, remindAt };
  }

  /** All that the member sees of their bookmarks is new afterwards. */
  async #write<T>(viewer: Member, work: () => Promise<T>): Promise<T> {
    const done = await work();
    await this.#deps.cache.purge(accountTag(viewer.id));
    return done;
  }
}
