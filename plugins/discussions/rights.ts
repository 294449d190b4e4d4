import { HttpError } from 'parley-forum';
import { limitFor, type Access, type Viewer } from 'parley-forum/plugins/access';
import {
  editPost,
  moderate,
  startDiscussion,
  type CategoryRights,
  type DiscussionHead,
} from 'parley-forum/plugins/discussions';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import type { CategoryService } from './categories/category-service.ts';

/** Settings of this plugin. */
export interface Rates {
  /** Maximum number of posts per member in ten minutes. */
  readonly 'posts.rate_limit': number;
  /** Maximum number of discussions per member in an hour. */
  readonly 'discussions.rate_limit': number;
  /** Whether everyone who may read a post may read its revisions. */
  readonly 'posts.public_history': boolean;
  /** Minutes during which authors may restore what they deleted. */
  readonly 'posts.undo_minutes': number;
}
/** A post or discussion: its author, and by whom and when it was deleted. */
interface Deletable {
  readonly authorId: string;
  readonly deletedAt?: Date | null | undefined;
  readonly deletedBy?: string | null | undefined;
}
const POSTS: Bucket = { name: 'posts', window: 600 };
const DISCUSSIONS: Bucket = { name: 'discussions', window: 3_600 };
const NOTHING: CategoryRights = { view: false, create: false, reply: false, moderate: false };

/** Checks permissions and rate limits for writing. */
export class Rights {
  readonly #access: Access;
  readonly #categories: CategoryService;
  readonly #limits: Limits;
  readonly #rates: Rates;

  constructor({
    access,
    categories,
    limits,
    rates,
  }: {
    access: Access;
    categories: CategoryService;
    limits: Limits;
    rates: Rates;
  }) {
    this.#access = access;
    this.#categories = categories;
    this.#limits = limits;
    this.#rates = rates;
  }

  inCategory(categoryId: string, viewer: Viewer): CategoryRights {
    const category = this.#categories.find(categoryId, viewer);
    return category ? this.#categories.rights(category, viewer) : NOTHING;
  }

  /** Whether the viewer may start a discussion in any category; decides whether the button is shown. */
  canStartAnywhere(viewer: Viewer): boolean {
    return (
      this.#access.allows(viewer, startDiscussion) &&
      this.#categories.visible(viewer).some((category) => this.#categories.rights(category, viewer).create)
    );
  }

  canModerate(viewer: Viewer): boolean {
    return this.#access.allows(viewer, moderate);
  }

  canReply(discussion: DiscussionHead, viewer: Viewer): boolean {
    const { reply, moderate: moderates } = this.inCategory(discussion.categoryId, viewer);
    return moderates || (reply && !discussion.locked && !discussion.deleted);
  }

  /**
   * Whether the viewer may edit or delete something by `authorId` in a discussion: their own while it is open, anyone's
   * as a moderator.
   */
  canEdit(
    discussion: Pick<DiscussionHead, 'categoryId' | 'locked' | 'deleted'>,
    authorId: string,
    viewer: Viewer,
  ): boolean {
    if (this.inCategory(discussion.categoryId, viewer).moderate) return true;
    return viewer.id === authorId && !discussion.locked && !discussion.deleted && this.#access.allows(viewer, editPost);
  }

  /** Whether a viewer who deletes something may restore it, at least for a while. */
  canUndo(discussion: DiscussionHead, viewer: Viewer): boolean {
    return this.#rates['posts.undo_minutes'] > 0 || this.inCategory(discussion.categoryId, viewer).moderate;
  }

  /**
   * Throws 403 unless the viewer may restore it. Moderators may restore everything; authors may restore what they
   * deleted themselves, for a while, unless the discussion was locked.
   */
  requireRestore(
    { authorId, deletedAt, deletedBy }: Deletable,
    { categoryId, isLocked }: { readonly categoryId: string; readonly isLocked: boolean },
    viewer: Viewer,
    now: Date,
  ): void {
    if (this.inCategory(categoryId, viewer).moderate) return;
    const own = viewer.id === authorId && (!deletedAt || deletedBy === viewer.id);
    if (!own || isLocked || !this.#access.allows(viewer, editPost))
      throw new HttpError(403, 'Only moderators may restore this');
    if (deletedAt && now.getTime() - deletedAt.getTime() > this.#rates['posts.undo_minutes'] * 60_000)
      throw new HttpError(403, 'It is too late to restore this yourself; moderators still can');
  }

  /** Whether the viewer may read the revisions of something by `authorId` that is visible to them. */
  canReadHistory(discussion: DiscussionHead, authorId: string, viewer: Viewer): boolean {
    return (
      viewer.id === authorId ||
      this.#rates['posts.public_history'] ||
      this.inCategory(discussion.categoryId, viewer).moderate
    );
  }

  /** Throws 403 with the reason if the viewer may not reply. */
  requireReply(discussion: DiscussionHead, viewer: Viewer): void {
    if (this.canReply(discussion, viewer)) return;
    if (discussion.locked && this.inCategory(discussion.categoryId, viewer).reply)
      throw new HttpError(403, 'This discussion is locked: only moderators may reply');
    throw new HttpError(403, 'You may not reply in this category');
  }

  /** Counts one use towards the viewer's rate limit; throws 429 above it. */
  async consumeRateLimit(kind: 'post' | 'discussion', viewer: Viewer): Promise<void> {
    const [bucket, rate] =
      kind === 'post' ? [POSTS, this.#rates['posts.rate_limit']] : [DISCUSSIONS, this.#rates['discussions.rate_limit']];
    const limit = limitFor(viewer, rate);
    const key = viewer.id ?? '';
    const allowance = this.#limits.consumeNow(bucket, key, limit) ?? (await this.#limits.consume(bucket, key, limit));
    assertAllowed(allowance, (seconds) => `You have written many ${kind}s; wait ${seconds} s before the next`);
  }
}
