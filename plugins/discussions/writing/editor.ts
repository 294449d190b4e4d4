import { slugOf } from 'parley-forum/plugins/api';
import {
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
import type { ActionName } from 'parley-forum/plugins/moderation';
import {
  discussionDeleted,
  discussionUpdated,
  postDeleted,
  postUpdated,
  discussionCacheTags,
  type Category,
  type DiscussionHead,
  type PinPlace,
} from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';
import {
  addPostCounts,
  addDiscussionCounts,
  removeParticipantPosts,
  restoreParticipantPost,
} from '../counters/counters.ts';
import { changesBetween, type ChangedBy, type ModerationLog, type DiscussionState } from './moderation-log.ts';
import type { Drafts } from './drafts.ts';
import { DiscussionEntity, PostEntity } from '../entities.ts';
import { discussionEvent, postEvent } from '../events/event-payloads.ts';

import type { Projections } from '../projections/projections.ts';
import { formerPlacesIn } from '../moving/rows.ts';
import { countTag, headTag, type FoundPost } from '../reading/reader.ts';
import type { Revisions } from '../revisions/revisions.ts';
import type { Rights } from '../rights.ts';
import { changedMeanwhile, movedMeanwhile } from './conflicts.ts';

export interface EditorDeps {
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
  readonly revisions: Revisions;
  readonly rights: Rights;
}
/** Changes to a discussion; undefined properties are left as they are. */
export interface Changes {
  readonly title?: string | undefined;
  readonly categoryId?: string | undefined;
  readonly pinned?: boolean | undefined;
  /** Pins the discussion there; null unpins it. */
  readonly pinnedIn?: PinPlace | null | undefined;
  /** The time at which the pin ends; null for no end. */
  readonly pinnedUntil?: Date | null | undefined;
  readonly locked?: boolean | undefined;
  /** The reason shown to readers while it is locked; null removes it. */
  readonly lockReason?: string | null | undefined;
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** Further actions for the moderation log, which the other properties do not show. */
  readonly as?: readonly ActionName[] | undefined;
}
/** Actions by which moderators switch something on or off with one click. */
export const SWITCH_ACTIONS = ['lock', 'unlock', 'pin', 'unpin'] as const;
/** The changes that each of these actions makes. */
export const SWITCHES: Readonly<Record<(typeof SWITCH_ACTIONS)[number], Changes>> = {
  lock: { locked: true },
  unlock: { locked: false },
  pin: { pinned: true },
  unpin: { pinned: false },
};
interface StoredDiscussion {
  id: string;
  number: number;
  title: string;
  slug: string;
  categoryId: string;
  authorId: string;
  firstPostId: string;
  replyCount: number;
  isPinned: boolean;
  isPinnedEverywhere: boolean;
  pinnedUntil?: Date | null;
  isLocked: boolean;
  lockReason?: string | null;
  createdAt: Date;
  updatedAt: Date;
  deletedAt?: Date | null;
  deletedBy?: string | null;
}

interface StoredPost {
  id: string;
  number: number;
  content: string;
  html: string;
  authorId: string;
  createdAt: Date;
  replyToNumber?: number | null | undefined;
  deletedAt?: Date | null | undefined;
  deletedBy?: string | null | undefined;
}

const pinPlaceOf = ({ isPinned, isPinnedEverywhere }: StoredDiscussion): PinPlace | null =>
  isPinned ? (isPinnedEverywhere ? 'everywhere' : 'category') : null;
const stateOf = (stored: StoredDiscussion): DiscussionState => ({
  title: stored.title,
  categoryId: stored.categoryId,
  pinnedIn: pinPlaceOf(stored),
  isLocked: stored.isLocked,
});
/** Whether the changes pin or unpin; undefined if they do neither. */
function pins({ pinned, pinnedIn, pinnedUntil }: Changes): boolean | undefined {
  if (pinned !== undefined) return pinned;
  if (pinnedIn !== undefined) return pinnedIn !== null;
  return pinnedUntil ? true : undefined;
}
/** Throws 400 for contradictory changes, and for an end in the past. */
function refuseBadPin(changes: Changes, now: number): void {
  const { pinned, pinnedIn, pinnedUntil } = changes;
  if (pinned !== undefined && pinnedIn !== undefined && pinned !== (pinnedIn !== null))
    throw new InvalidInput([
      { field: 'pinned_in', message: 'must be null if is_pinned is false, and a place if it is true' },
    ]);
  if (pinnedUntil && pins(changes) && pinnedUntil.getTime() <= now)
    throw new InvalidInput([{ field: 'pinned_until', message: 'must be in the future' }]);
}
/** The pin after the change. A new pin has the end that was given, or none. */
function pinOf(stored: StoredDiscussion, changes: Changes): object {
  const isPinned = pins(changes) ?? stored.isPinned;
  if (!isPinned) return { isPinned, isPinnedEverywhere: false, pinnedUntil: null };
  const kept = changes.pinned === undefined ? stored.pinnedUntil : null;
  return {
    isPinned,
    isPinnedEverywhere: (changes.pinnedIn ?? pinPlaceOf(stored) ?? 'everywhere') === 'everywhere',
    pinnedUntil: changes.pinnedUntil === undefined ? kept : changes.pinnedUntil,
  };
}
/**
 * The post as it is now: others may have changed it, or moved it to another discussion, while this waited for the lock.
 */
async function postIn(em: EntityManager, id: string, discussion: StoredDiscussion) {
  const post = await em.findOne(PostEntity, { id, discussionId: discussion.id });
  if (!post) throw movedMeanwhile();
  return post;
}
/** The moderation action of a restore; none if authors undo their own deletion. */
const restoring = (
  action: ActionName,
  { authorId, deletedBy }: Pick<StoredPost, 'authorId' | 'deletedBy'>,
  { viewer }: ChangedBy,
): readonly ActionName[] => (viewer.id === authorId && viewer.id === deletedBy ? [] : [action]);
/** The old value if the new one differs. */
const changed = (before: string, now: string): string | undefined => (before === now ? undefined : before);

/** The lock after the change; its reason is removed along with it. */
function lockOf(stored: StoredDiscussion, { locked, lockReason }: Changes): object {
  const isLocked = locked ?? stored.isLocked;
  const said = lockReason === undefined ? stored.lockReason : lockReason?.trim() || null;
  return { isLocked, lockReason: isLocked ? said : null };
}

/**
 * Edits, deletes and restores discussions and posts. Callers check permissions, except those reserved for moderators,
 * and who may restore what.
 */
export class DiscussionEditor {
  readonly #deps: EditorDeps;

  constructor(deps: EditorDeps) {
    this.#deps = deps;
  }

  /** `check` runs while nobody else can change the discussion, and may throw to reject the change. */
  async change(head: DiscussionHead, changes: Changes, by: ChangedBy, check?: () => Promise<void>): Promise<void> {
    const { rights, drafts, projections, revisions, moderationLog } = this.#deps;
    const { viewer } = by;
    const { pinned, pinnedIn, pinnedUntil, locked, lockReason } = changes;
    const staffOnly = [pinned, pinnedIn, pinnedUntil, locked, lockReason].some((change) => change !== undefined);
    if (staffOnly && !rights.inCategory(head.categoryId, viewer).moderate)
      throw new HttpError(403, 'Only moderators may pin and lock discussions');
    refuseBadPin(changes, this.#deps.clock.now());
    const target = changes.categoryId === undefined ? undefined : this.#target(changes.categoryId, head, viewer);
    const fields = drafts.fields(changes.fields ?? {}, viewer);
    const title = await this.#newTitle(head, changes, by, target?.id ?? head.categoryId);
    await this.#write(
      head,
      async (em, stored, now) => {
        this.#requireStill(head, stored, stored.authorId, by);
        await check?.();
        if (target && target.id !== stored.categoryId) await this.#move(stored, target.id);
        const before = stateOf(stored);
        Object.assign(stored, {
          ...(title !== undefined && { title, slug: slugOf(title, 'discussion') }),
          ...(target && { categoryId: target.id }),
        });
        Object.assign(stored, pinOf(stored, changes));
        Object.assign(stored, lockOf(stored, changes));
        for (const save of fields) await save(em, stored.id);
        const replaced = {
          title: changed(before.title, stored.title),
          categoryId: changed(before.categoryId, stored.categoryId),
        };
        if (fields.length > 0 || replaced.title !== undefined || replaced.categoryId !== undefined)
          await projections.discussion(em, stored);
        await revisions.add(stored.firstPostId, replaced, by, now);
        await this.#updated(stored, replaced.categoryId === undefined ? {} : { from_category_id: replaced.categoryId });
        await moderationLog.record(
          [...changesBetween(before, stateOf(stored)), ...(changes.as ?? [])],
          { authorId: stored.authorId, discussion: stored },
          { ...by, reason: by.reason ?? lockReason ?? undefined },
        );
      },
      target?.id,
    );
  }

  /** Unpins discussions whose pins have expired; returns their number. */
  async endPins(limit: number): Promise<number> {
    const { data, clock } = this.#deps;
    const ended = await data.all(sql<DiscussionHead>`select id, number, category_id as "categoryId" from discussion
      where pinned_until <= ${new Date(clock.now())} order by pinned_until, id limit ${limit}`);
    for (const head of ended) {
      await this.#write(head, async (_em, stored, now) => {
        // It may have been pinned again in the meantime.
        if (!stored.pinnedUntil || stored.pinnedUntil > now) return;
        Object.assign(stored, pinOf(stored, { pinned: false }));
        if (!stored.deletedAt) await this.#updated(stored);
      });
    }
    return ended.length;
  }

  /** The new title as filtered by plugins. Filters are skipped for changes made `regardless`. */
  async #newTitle(
    head: DiscussionHead,
    { title }: Changes,
    { viewer, regardless }: ChangedBy,
    categoryId: string,
  ): Promise<string | undefined> {
    if (title === undefined || title === head.title) return undefined;
    return regardless ? title : this.#deps.drafts.acceptTitle(title, viewer, categoryId);
  }

  /** The category to move a discussion to, by id or slug. */
  #target(idOrSlug: string, { categoryId }: DiscussionHead, viewer: Viewer): Category {
    const { categories } = this.#deps;
    const target = categories.find(idOrSlug, viewer);
    if (!target) throw new InvalidInput([{ field: 'category_id', message: 'is not a category you can see' }]);
    if (target.id !== categoryId && !categories.rights(target, viewer).create)
      throw new HttpError(403, 'You may not start discussions in that category');
    return target;
  }

  /** Removes the discussion from lists, feeds and search; it can be restored. */
  async remove(head: DiscussionHead, by: ChangedBy): Promise<void> {
    await this.#write(head, async (em, stored, now) => {
      if (stored.deletedAt) return;
      this.#requireStill(head, stored, stored.authorId, by);
      Object.assign(stored, { deletedAt: now, deletedBy: by.viewer.id ?? null });
      await addDiscussionCounts(this.#deps.data, stored.id, [{ categoryId: stored.categoryId, by: -1 }]);
      await this.#deps.projections.discussion(em, stored);
      await this.#deps.plugin.emit(discussionDeleted, { discussion: await this.#event(stored) });
      await this.#deps.moderationLog.record(
        ['discussion.deleted'],
        { authorId: stored.authorId, discussion: stored },
        by,
      );
    });
  }

  async restore(head: DiscussionHead, by: ChangedBy): Promise<void> {
    await this.#write(head, async (em, stored, now) => {
      this.#deps.rights.requireRestore(stored, stored, by.viewer, now);
      if (!stored.deletedAt) return;
      if (await this.#wasMerged(stored)) throw notFound('There is no such discussion');
      const actions = restoring('discussion.restored', stored, by);
      Object.assign(stored, { deletedAt: null, deletedBy: null });
      await addDiscussionCounts(this.#deps.data, stored.id, [{ categoryId: stored.categoryId, by: 1 }]);
      await this.#deps.projections.discussion(em, stored);
      await this.#updated(stored, { was_deleted: true });
      await this.#deps.moderationLog.record(actions, { authorId: stored.authorId, discussion: stored }, by);
    });
  }

  /** `seen` is the time at which the replaced text was written. Throws 409 if it has changed since. */
  async edit({ row, discussion }: FoundPost, content: string, by: ChangedBy, seen?: string): Promise<void> {
    const { drafts, revisions, moderationLog } = this.#deps;
    const accepted = await drafts.accept({ content }, by.viewer, discussion.categoryId);
    await this.#write(discussion, async (em, stored, now) => {
      const post = await postIn(em, row.id, stored);
      if (post.deletedAt && !row.deleted_at) throw notFound('There is no such post');
      this.#requireStill(discussion, stored, post.authorId, by);
      const changed = post.content !== accepted.content;
      if (changed && seen !== undefined && seen !== post.updatedAt.toISOString())
        throw new HttpError(
          409,
          'This post was changed in the meantime. Save again to replace that version with yours.',
        );
      if (changed) await revisions.add(post.id, { content: post.content }, by, now);
      Object.assign(post, { content: accepted.content, html: accepted.html, updatedAt: now, editedAt: now });
      await this.#publishPost(em, postUpdated, post, stored);
      await moderationLog.record(['post.edited'], { authorId: post.authorId, discussion: stored, post }, by);
    });
  }

  /**
   * Deleting a first post deletes its discussion. The posts of a deleted discussion are not counted until it is
   * restored.
   */
  async removePost({ row, discussion }: FoundPost, by: ChangedBy): Promise<void> {
    if (row.number === 1) return this.remove(discussion, by);
    await this.#write(discussion, async (em, stored, now) => {
      const post = await postIn(em, row.id, stored);
      if (post.deletedAt) return;
      this.#requireStill(discussion, stored, post.authorId, by);
      Object.assign(post, { deletedAt: now, deletedBy: by.viewer.id ?? null, updatedAt: now });
      await em.flush();
      await removeParticipantPosts(this.#deps.data, stored.id, post.authorId, { posts: 1, replies: 1 });
      if (!stored.deletedAt)
        await addPostCounts(this.#deps.data, post.authorId, [
          { categoryId: stored.categoryId, discussions: 0, posts: -1 },
        ]);
      await this.#publishPost(em, postDeleted, post, stored);
      await this.#deps.moderationLog.record(
        ['post.deleted'],
        { authorId: post.authorId, discussion: stored, post },
        by,
      );
    });
  }

  async restorePost({ row, discussion }: FoundPost, by: ChangedBy): Promise<void> {
    if (row.number === 1) return this.restore(discussion, by);
    await this.#write(discussion, async (em, stored, now) => {
      const post = await postIn(em, row.id, stored);
      this.#deps.rights.requireRestore(post, stored, by.viewer, now);
      if (!post.deletedAt) return;
      const actions = restoring('post.restored', post, by);
      Object.assign(post, { deletedAt: null, deletedBy: null, updatedAt: now });
      await em.flush();
      await restoreParticipantPost(this.#deps.data, stored.id, post.authorId);
      if (!stored.deletedAt)
        await addPostCounts(this.#deps.data, post.authorId, [
          { categoryId: stored.categoryId, discussions: 0, posts: 1 },
        ]);
      await this.#publishPost(em, postUpdated, post, stored);
      await this.#deps.moderationLog.record(actions, { authorId: post.authorId, discussion: stored, post }, by);
    });
  }

  /**
   * Serializes writers: the discussion's row is locked first, as it is by replies. Everything that shows it is purged
   * before the response is sent.
   */
  async #write(
    head: DiscussionHead,
    work: (em: EntityManager, stored: StoredDiscussion, now: Date) => Promise<void>,
    to?: string,
  ): Promise<void> {
    const { data, cache, clock } = this.#deps;
    const { categoryIds, shownIn } = await data.transaction(async (em) => {
      // Lock the target category so that it cannot be deleted meanwhile.
      if (to !== undefined) await data.one(sql`select id from category where id = ${to} for key share`);
      await data.one(sql`select id from discussion where id = ${head.id} for no key update`);
      const stored = (await em.findOneOrFail(DiscussionEntity, { id: head.id })) as StoredDiscussion;
      const now = new Date(clock.now());
      stored.updatedAt = now;
      const [from, deleted, title] = [stored.categoryId, stored.deletedAt, stored.title];
      await work(em, stored, now);
      const seenByOthers =
        from !== stored.categoryId || title !== stored.title || Boolean(deleted) !== Boolean(stored.deletedAt);
      return {
        categoryIds: new Set([from, stored.categoryId]),
        // Discussions from which posts were moved here show whether this one is visible, and its title.
        shownIn: seenByOthers ? await formerPlacesIn(data, stored.id) : [],
      };
    });
    await cache.purge(
      discussionCacheTags.lists,
      ...[head.id, ...shownIn].map(discussionCacheTags.discussion),
      headTag(head.id),
      headTag(head.number),
      ...[...categoryIds].map(countTag),
    );
  }

  /**
   * Callers check the discussion as they found it. While its text was rendered or this waited for a lock, a moderator
   * may have locked, deleted or moved it; authors then get 409.
   */
  #requireStill(
    head: DiscussionHead,
    { categoryId, isLocked: locked, deletedAt }: StoredDiscussion,
    authorId: string,
    { viewer, regardless }: ChangedBy,
  ): void {
    const { rights } = this.#deps;
    if (regardless || rights.inCategory(categoryId, viewer).moderate) return;
    const now = { categoryId, locked, deleted: Boolean(deletedAt) };
    if (categoryId !== head.categoryId || !rights.canEdit(now, authorId, viewer)) throw changedMeanwhile();
  }

  async #move(stored: StoredDiscussion, to: string): Promise<void> {
    if (stored.deletedAt) return;
    await addDiscussionCounts(this.#deps.data, stored.id, [
      { categoryId: stored.categoryId, by: -1 },
      { categoryId: to, by: 1 },
    ]);
  }

  /** The first post leaves a discussion only when the whole discussion is merged into another. */
  async #wasMerged({ firstPostId }: StoredDiscussion): Promise<boolean> {
    const left = await this.#deps.data.one(
      sql`select 1 as left from post where id = ${firstPostId} and moved_post_id is not null`,
    );
    return left !== undefined;
  }

  async #updated(
    stored: StoredDiscussion,
    before: { readonly was_deleted?: true; readonly from_category_id?: string } = {},
  ): Promise<void> {
    await this.#deps.plugin.emit(discussionUpdated, { discussion: await this.#event(stored), ...before });
  }

  async #event(stored: StoredDiscussion) {
    return discussionEvent(this.#deps.environment.baseUrl, stored, await this.#author(stored.authorId));
  }

  async #publishPost(
    em: EntityManager,
    action: typeof postUpdated,
    post: StoredPost,
    stored: StoredDiscussion,
  ): Promise<void> {
    const { plugin, environment, projections } = this.#deps;
    await projections.posts(em, stored, [post]);
    const event = postEvent(environment.baseUrl, post, stored, await this.#author(post.authorId));
    await plugin.emit(action, { post: event, category_id: stored.categoryId });
  }

  async #author(id: string): Promise<{ id: string; username: string }> {
    return (await this.#deps.accounts.authors([id])).get(id) ?? { id, username: 'deleted' };
  }
}
