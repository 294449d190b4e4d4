import { Type, type Clock, type Data, type Job, type PluginHandle } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { notificationTypes, type Notifications } from 'parley-forum/ports/notifications';
import type { BookmarkStore } from './bookmark-store.ts';
import type { Bookmark } from './rows.ts';

export interface ReminderDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly access: Pick<Access, 'unrestricted'>;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly discussions: Pick<Discussions, 'findPost'>;
  readonly notifications: Notifications | undefined;
  readonly store: BookmarkStore;
}
/** The stored data of a reminder job, which is keyed by its bookmark. */
interface ReminderJob {
  readonly bookmark: string;
  readonly at: string;
}

/** Milliseconds until a deleted post is checked again. */
const LATER = 86_400_000;
const TYPE = 'bookmark_reminder';

/** One reminder job per bookmark, added and cancelled in the transactions that change the bookmark. */
export class Reminders {
  readonly #deps: ReminderDeps;
  readonly #job: Job<ReminderJob>;

  constructor(plugin: PluginHandle, deps: ReminderDeps) {
    this.#deps = deps;
    this.#job = plugin.job<ReminderJob>('remind', {
      schema: Type.Object({ bookmark: Type.String(), at: Type.String() }),
      key: ({ bookmark }) => bookmark,
      run: (reminder) => this.#remind(reminder),
    });
    if (deps.notifications)
      plugin.extend(notificationTypes, {
        type: TYPE,
        name: 'bookmarks:kind',
        label: 'bookmarks:notify',
        sentence: 'bookmarks:notified',
        mailed: true,
        fromMuted: true,
      });
  }

  /** Replaces the bookmark's reminder. Must be called in a transaction. */
  async schedule({ id, remindAt }: Bookmark): Promise<void> {
    await this.cancel(id);
    if (remindAt) await this.#add(id, remindAt);
  }

  async #add(id: string, remindAt: Date): Promise<void> {
    // Jobs use real time, whatever the forum's clock says.
    const at = new Date(Date.now() + remindAt.getTime() - this.#deps.clock.now());
    await this.#job.add({ bookmark: id, at: remindAt.toISOString() }, { at });
  }

  cancel(bookmarkId: string): Promise<void> {
    return this.#job.cancelKey(bookmarkId);
  }

  /**
   * Sends nothing if the bookmark has a different reminder by now or its owner may not see the post. While the post is
   * deleted, the reminder is postponed.
   */
  #remind({ bookmark: id, at }: ReminderJob): Promise<void> {
    const { data, accounts, discussions, notifications, store } = this.#deps;
    return data.transaction(async () => {
      const bookmark = await store.endReminder(id, new Date(at));
      if (bookmark && (await this.#isDeleted(bookmark.postId))) {
        const later = new Date(this.#deps.clock.now() + LATER);
        await store.putOff(id, later);
        return this.#add(id, later);
      }
      const owner = bookmark && (await accounts.viewers([bookmark.userId])).get(bookmark.userId);
      const post = owner && (await discussions.findPost(bookmark.postId, owner));
      if (!post || post.deleted) return;
      await notifications?.notify([
        {
          type: TYPE,
          userId: bookmark.userId,
          discussionId: post.discussion.id,
          postId: post.id,
          url: `/d/${post.discussion.number}/${post.number}`,
          group: `bookmark:${id}`,
          key: `bookmark:${id}:${at}`,
        },
      ]);
    });
  }

  async #isDeleted(postId: string): Promise<boolean> {
    const { access, discussions } = this.#deps;
    const post = await discussions.findPost(postId, access.unrestricted);
    return post !== undefined && (post.deleted || post.discussion.deleted);
  }
}
