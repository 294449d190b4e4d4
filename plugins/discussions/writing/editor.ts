import {
  HttpError,
  InvalidInput,
  sql,
  type Cache,
  type Clock,
  type Data,
  type EntityManager,
  type Environment,
  type PluginHandle,
} from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import {
  discussionDeleted,
  discussionUpdated,
  postDeleted,
  postUpdated,
  tags,
  type DiscussionHead,
} from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';
import { addPosts, addWhole, leave, rejoin } from '../counters/counters.ts';
import { deedsBetween, type By, type Deeds, type State } from './moderation-log.ts';
import type { Drafts } from './drafts.ts';
import { DiscussionEntity, PostEntity } from '../entities.ts';
import { discussionEvent, postEvent } from '../events/event-payloads.ts';
import { slugOf } from '../identifiers.ts';
import type { Mirroring } from '../projections/projections.ts';
import { countTag, headTag, type FoundPost } from '../reading/reader.ts';
import type { Revisions } from '../revisions/revisions.ts';
import type { Rights } from '../rights.ts';

export interface EditingServices {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly plugin: PluginHandle;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly categories: CategoryService;
  readonly drafts: Drafts;
  readonly deeds: Deeds;
  readonly mirroring: Mirroring;
  readonly revisions: Revisions;
  readonly rights: Rights;
}
/** What may be changed of a discussion; what is undefined stays. */
export interface Changes {
  readonly title?: string | undefined;
  readonly categoryId?: string | undefined;
  readonly pinned?: boolean | undefined;
  readonly locked?: boolean | undefined;
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
}
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
  isLocked: boolean;
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
  deletedAt?: Date | null | undefined;
}

const stateOf = ({ title, categoryId, isPinned, isLocked }: StoredDiscussion): State => ({
  title,
  categoryId,
  isPinned,
  isLocked,
});
/** What was there before, if something else is there now. */
const changed = (before: string, now: string): string | undefined => (before === now ? undefined : before);

/**
 * Changes to what was written. Whether the viewer may is checked by whoever calls, except for what only moderators may.
 */
export class Editing {
  readonly #services: EditingServices;

  constructor(services: EditingServices) {
    this.#services = services;
  }

  async change(head: DiscussionHead, changes: Changes, by: By): Promise<void> {
    const { rights, drafts, categories, mirroring, revisions, deeds } = this.#services;
    const { viewer } = by;
    const staffOnly = changes.pinned !== undefined || changes.locked !== undefined;
    if (staffOnly && !rights.in(head.categoryId, viewer).moderate)
      throw new HttpError(403, 'Only moderators pin and lock discussions');
    const title = changes.title === undefined ? undefined : drafts.title(changes.title);
    const target = changes.categoryId === undefined ? undefined : categories.find(changes.categoryId, viewer);
    if (changes.categoryId !== undefined && !target)
      throw new InvalidInput([{ field: 'category_id', message: 'is not a category you can see' }]);
    if (target && target.id !== head.categoryId && !categories.rights(target, viewer).create)
      throw new HttpError(403, 'You may not start discussions in that category');
    const fields = drafts.fields(changes.fields ?? {}, viewer);
    await this.#write(
      head,
      async (em, stored, now) => {
        if (target && target.id !== stored.categoryId) await this.#move(stored, target.id);
        const before = stateOf(stored);
        Object.assign(stored, {
          ...(title !== undefined && { title, slug: slugOf(title, 'discussion') }),
          ...(target && { categoryId: target.id }),
        });
        stored.isPinned = changes.pinned ?? stored.isPinned;
        stored.isLocked = changes.locked ?? stored.isLocked;
        for (const save of fields) await save(em, stored.id);
        const replaced = {
          title: changed(before.title, stored.title),
          categoryId: changed(before.categoryId, stored.categoryId),
        };
        if (fields.length > 0 || replaced.title !== undefined || replaced.categoryId !== undefined)
          await mirroring.discussion(em, stored);
        await revisions.keep(stored.firstPostId, replaced, by, now);
        await this.#announce(discussionUpdated, stored);
        await deeds.tell(deedsBetween(before, stateOf(stored)), { authorId: stored.authorId, discussion: stored }, by);
      },
      target?.id,
    );
  }

  /** Takes it out of lists, feeds and search; a moderator can bring it back. */
  async remove(head: DiscussionHead, by: By): Promise<void> {
    await this.#write(head, async (em, stored, now) => {
      if (stored.deletedAt) return;
      Object.assign(stored, { deletedAt: now, deletedBy: by.viewer.id ?? null });
      await addWhole(this.#services.data, stored.id, [{ categoryId: stored.categoryId, by: -1 }]);
      await this.#services.mirroring.discussion(em, stored);
      await this.#announce(discussionDeleted, stored);
      await this.#services.deeds.tell(['discussion.deleted'], { authorId: stored.authorId, discussion: stored }, by);
    });
  }

  async restore(head: DiscussionHead, by: By): Promise<void> {
    await this.#write(head, async (em, stored) => {
      if (!stored.deletedAt) return;
      Object.assign(stored, { deletedAt: null, deletedBy: null });
      await addWhole(this.#services.data, stored.id, [{ categoryId: stored.categoryId, by: 1 }]);
      await this.#services.mirroring.discussion(em, stored);
      await this.#announce(discussionUpdated, stored);
      await this.#services.deeds.tell(['discussion.restored'], { authorId: stored.authorId, discussion: stored }, by);
    });
  }

  async edit({ row, discussion }: FoundPost, content: string, by: By): Promise<void> {
    const { drafts, revisions, deeds } = this.#services;
    const accepted = await drafts.accept({ content }, by.viewer, discussion.categoryId);
    await this.#write(discussion, async (em, stored, now) => {
      const post = await em.findOneOrFail(PostEntity, { id: row.id });
      if (post.content !== accepted.content) await revisions.keep(post.id, { content: post.content }, by, now);
      Object.assign(post, { content: accepted.content, html: accepted.html, updatedAt: now, editedAt: now });
      await this.#announcePost(em, postUpdated, post, stored);
      await deeds.tell(['post.edited'], { authorId: post.authorId, discussion: stored, post }, by);
    });
  }

  /**
   * Deleting a first post deletes its discussion. What lies in a deleted discussion counts for nobody until that comes
   * back.
   */
  async removePost({ row, discussion }: FoundPost, by: By): Promise<void> {
    if (row.number === 1) return this.remove(discussion, by);
    await this.#write(discussion, async (em, stored, now) => {
      const post = await em.findOneOrFail(PostEntity, { id: row.id });
      if (post.deletedAt) return;
      Object.assign(post, { deletedAt: now, deletedBy: by.viewer.id ?? null, updatedAt: now });
      await em.flush();
      await leave(this.#services.data, stored.id, post.authorId, { posts: 1, replies: 1 });
      if (!stored.deletedAt)
        await addPosts(this.#services.data, post.authorId, [
          { categoryId: stored.categoryId, discussions: 0, posts: -1 },
        ]);
      await this.#announcePost(em, postDeleted, post, stored);
      await this.#services.deeds.tell(['post.deleted'], { authorId: post.authorId, discussion: stored, post }, by);
    });
  }

  async restorePost({ row, discussion }: FoundPost, by: By): Promise<void> {
    if (row.number === 1) return this.restore(discussion, by);
    await this.#write(discussion, async (em, stored, now) => {
      const post = await em.findOneOrFail(PostEntity, { id: row.id });
      if (!post.deletedAt) return;
      Object.assign(post, { deletedAt: null, deletedBy: null, updatedAt: now });
      await em.flush();
      await rejoin(this.#services.data, stored.id, post.authorId);
      if (!stored.deletedAt)
        await addPosts(this.#services.data, post.authorId, [
          { categoryId: stored.categoryId, discussions: 0, posts: 1 },
        ]);
      await this.#announcePost(em, postUpdated, post, stored);
      await this.#services.deeds.tell(['post.restored'], { authorId: post.authorId, discussion: stored, post }, by);
    });
  }

  /**
   * One writer at a time: the discussion's row is locked first, as replies do. Everything that shows it is dropped
   * before the answer.
   */
  async #write(
    head: DiscussionHead,
    work: (em: EntityManager, stored: StoredDiscussion, now: Date) => Promise<void>,
    to?: string,
  ): Promise<void> {
    const { data, cache, clock } = this.#services;
    const categoryIds = await data.transaction(async (em) => {
      // The category it comes to is kept from being removed meanwhile.
      if (to !== undefined) await data.one(sql`select id from category where id = ${to} for key share`);
      await data.one(sql`select id from discussion where id = ${head.id} for no key update`);
      const stored = (await em.findOneOrFail(DiscussionEntity, { id: head.id })) as StoredDiscussion;
      const now = new Date(clock.now());
      stored.updatedAt = now;
      const from = stored.categoryId;
      await work(em, stored, now);
      return new Set([from, stored.categoryId]);
    });
    await cache.purge(
      tags.lists,
      tags.discussion(head.id),
      headTag(head.id),
      headTag(head.number),
      ...[...categoryIds].map(countTag),
    );
  }

  async #move(stored: StoredDiscussion, to: string): Promise<void> {
    if (stored.deletedAt) return;
    await addWhole(this.#services.data, stored.id, [
      { categoryId: stored.categoryId, by: -1 },
      { categoryId: to, by: 1 },
    ]);
  }

  async #announce(action: typeof discussionUpdated, stored: StoredDiscussion): Promise<void> {
    const { plugin, environment } = this.#services;
    await plugin.emit(action, {
      discussion: discussionEvent(environment.baseUrl, stored, await this.#author(stored.authorId)),
    });
  }

  async #announcePost(
    em: EntityManager,
    action: typeof postUpdated,
    post: StoredPost,
    stored: StoredDiscussion,
  ): Promise<void> {
    const { plugin, environment, mirroring } = this.#services;
    await mirroring.posts(em, stored, [post]);
    const event = postEvent(environment.baseUrl, post, stored, await this.#author(post.authorId));
    await plugin.emit(action, { post: event, category_id: stored.categoryId });
  }

  async #author(id: string): Promise<{ id: string; username: string }> {
    return (await this.#services.accounts.authors([id])).get(id) ?? { id, username: 'deleted' };
  }
}
