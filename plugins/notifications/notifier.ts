import type { Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { DiscussionHead } from 'parley-forum/plugins/discussions';
import type { DescribedNotification, NewNotification, Notifications } from 'parley-forum/ports/notifications';
import { batches } from './batches.ts';
import { withoutMuted, type MutesDeps } from './mutes.ts';
import type { Describer } from './describer.ts';
import type { DiscussionProjection } from './projection/projection.ts';
import type { PreferenceStore } from './preferences/preferences.ts';
import { NONE, type Entry, type Store, type StoredNotification } from './store.ts';

export interface NotifierDeps extends MutesDeps {
  readonly data: Data;
  readonly accounts: Accounts;
  readonly store: Store;
  readonly projection: DiscussionProjection;
  readonly preferences: PreferenceStore;
  readonly describer: Describer;
  changed(userIds: readonly string[]): Promise<void>;
  /** Raises `notificationsStored` in the current transaction. */
  stored(notifications: readonly StoredNotification[]): Promise<void>;
  /** Schedules emails about these notifications in the current transaction. */
  mail(ids: readonly string[]): Promise<void>;
}

/** Stores notifications for those members who may see and have not muted them, and schedules emails. */
export class Notifier implements Notifications {
  readonly #deps: NotifierDeps;

  constructor(deps: NotifierDeps) {
    this.#deps = deps;
  }

  async notify(notifications: readonly NewNotification[]): Promise<void> {
    const once = new Map<string, NewNotification>();
    for (const one of notifications) {
      const key = `${one.userId} ${one.key}`;
      if (one.userId !== one.actorId && !once.has(key)) once.set(key, one);
    }
    for (const batch of batches([...once.values()])) await this.#deliver(batch);
  }

  async unread(userId: string): Promise<number> {
    return (await this.#deps.visibility.unread([userId])).get(userId) ?? 0;
  }

  describe(id: string): Promise<DescribedNotification | undefined> {
    return this.#deps.describer.describe(id);
  }

  markRead(userId: string, about: { readonly type: string; readonly group: string }): Promise<void> {
    const { data, store, changed } = this.#deps;
    return data.transaction(async () => {
      if ((await store.read(userId, { about })) > 0) await changed([userId]);
    });
  }

  async #deliver(batch: readonly NewNotification[]): Promise<void> {
    const { data, accounts, preferences, store, projection, changed, stored: raise, mail } = this.#deps;
    const userIds = [...new Set(batch.map(({ userId }) => userId))];
    const discussionIds = [...new Set(batch.flatMap(({ discussionId }) => discussionId ?? []))];
    const viewers = await accounts.viewers(userIds);
    const chosen = await preferences.of(userIds);
    const unmuted = await withoutMuted(batch, this.#deps);
    const wanted = unmuted.filter(
      ({ userId, type }) => viewers.has(userId) && preferences.channel(chosen(userId), type) !== 'off',
    );
    if (wanted.length === 0) return;
    await data.transaction(async () => {
      await projection.lockShared(discussionIds);
      const entries = await this.#visible(wanted, discussionIds, viewers);
      const stored = entries.length > 0 ? await store.add(entries) : [];
      if (stored.length === 0) return;
      await mail(
        stored
          .filter(({ added, userId, type }) => added && preferences.channel(chosen(userId), type) === 'mail')
          .map(({ id }) => id),
      );
      await raise(stored);
      await changed([...new Set(stored.map(({ userId }) => userId))]);
    });
  }

  async #visible(
    batch: readonly NewNotification[],
    discussionIds: readonly string[],
    viewers: ReadonlyMap<string, Viewer>,
  ): Promise<readonly Entry[]> {
    const { visibility } = this.#deps;
    const heads = new Map<string, DiscussionHead | undefined>();
    for (const id of discussionIds) heads.set(id, await visibility.head(id));
    const canSee = await visibility.rules();
    return batch.flatMap((one): Entry[] => {
      const { type, userId, actorId, discussionId, postId, url, title, key } = one;
      const head = discussionId === undefined ? undefined : heads.get(discussionId);
      const categoryId = head?.categoryId ?? NONE;
      if ((discussionId !== undefined && !head) || !canSee(categoryId, viewers.get(userId)!)) return [];
      const group = one.group ?? discussionId ?? key;
      return [
        {
          type,
          userId,
          actorId,
          discussionId,
          postId,
          url,
          title,
          key,
          group,
          categoryId,
          discussionTitle: head?.title,
        },
      ];
    });
  }
}
