import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Categories, DiscussionHead, Discussions } from 'parley-forum/plugins/discussions';
import { NONE, type Store } from './store.ts';

interface VisibilityDeps {
  readonly access: Access;
  readonly accounts: Accounts;
  readonly categories: Categories;
  readonly discussions: Discussions;
  readonly store: Store;
}

/** Decides which notifications members may see. */
export class Visibility {
  readonly #access: Access;
  readonly #accounts: Accounts;
  readonly #categories: Categories;
  readonly #discussions: Discussions;
  readonly #store: Store;

  constructor({ access, accounts, categories, discussions, store }: VisibilityDeps) {
    this.#access = access;
    this.#accounts = accounts;
    this.#categories = categories;
    this.#discussions = discussions;
    this.#store = store;
  }

  /**
   * The categories whose notifications the viewer may read, including the placeholder for notifications without a
   * category.
   */
  async categories(viewer: Viewer): Promise<readonly string[]> {
    await this.#categories.refresh();
    return [NONE, ...this.#categories.visible(viewer).map(({ id }) => id)];
  }

  /** Returns a function that checks by the current rules whether a viewer may read the contents of a category. */
  async rules(): Promise<(categoryId: string, viewer: Viewer) => boolean> {
    await this.#categories.refresh();
    return (categoryId, viewer) => categoryId === NONE || this.#categories.find(categoryId, viewer) !== undefined;
  }

  /** The discussion, regardless of who may see it; undefined if it is deleted. */
  async head(discussionId: string): Promise<DiscussionHead | undefined> {
    const head = await this.#discussions.find(discussionId, this.#access.unrestricted);
    return head?.deleted ? undefined : head;
  }

  /** As `unreadOf`, for members by id; those without an active account are missing. Two statements. */
  async unread(userIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.unreadOf(await this.#accounts.viewers(userIds));
  }

  /** The number of unread notifications of each member, by id; members with none are missing. One statement. */
  async unreadOf(viewers: ReadonlyMap<string, Viewer>): Promise<ReadonlyMap<string, number>> {
    const canSee = await this.rules();
    const sums = new Map<string, number>();
    for (const { userId, categoryId, unread } of await this.#store.counts([...viewers.keys()])) {
      const viewer = viewers.get(userId);
      if (viewer && canSee(categoryId, viewer)) sums.set(userId, (sums.get(userId) ?? 0) + unread);
    }
    return sums;
  }
}
