import type { Data, Environment } from 'parley-forum';
import type { Member } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Page } from 'parley-forum/plugins/api';
import type { NotificationRecord } from 'parley-forum/plugins/notifications';
import type { Texts } from 'parley-forum/plugins/web';
import type { sentenceOf } from './sentence.ts';
import type { Visibility } from './visibility.ts';
import type { NotificationRow, Store } from './store.ts';

export interface ReaderDeps {
  readonly data: Data;
  readonly environment: Environment;
  readonly accounts: Accounts;
  readonly store: Store;
  readonly visibility: Visibility;
  changed(userIds: readonly string[]): Promise<void>;
  /** Text key, by type, of the text shown instead of a title. */
  untitled(type: string): string | undefined;
  /** Texts in the member's language; undefined if there are no pages. */
  textsFor(userId: string): Promise<Texts | undefined>;
}
/** A notification as the API returns it, with additional properties for pages. */
export type ShownNotification = NotificationRecord & {
  readonly path: string;
  /** Text key to show instead of a title, if the type has one. */
  readonly untitled: string | undefined;
  readonly values: Parameters<typeof sentenceOf>[1];
};

/** Reads members' own notifications; `viewer` is always a member here. */
export class NotificationReader {
  readonly #deps: ReaderDeps;

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  async list(viewer: Member, request: Parameters<Store['list']>[2]): Promise<Page<ShownNotification>> {
    const { store, visibility, accounts } = this.#deps;
    const page = await store.list(viewer.id, await visibility.categories(viewer), request);
    const actors = await accounts.authors([...new Set(page.items.flatMap(({ actorIds }) => actorIds))]);
    const texts = await this.#deps.textsFor(viewer.id);
    return { ...page, items: page.items.map((row) => this.#record(row, actors, texts)) };
  }

  async unread(viewer: Member): Promise<number> {
    return (await this.#deps.visibility.unreadOf(new Map([[viewer.id, viewer]]))).get(viewer.id) ?? 0;
  }

  unreadIn({ id }: Member): Promise<ReadonlySet<string>> {
    return this.#deps.store.unreadIn(id);
  }

  /**
   * Marks all of the viewer's notifications as read, or those selected by `which`; ids of other members' notifications
   * are ignored.
   */
  async read(viewer: Member, which: Parameters<Store['read']>[1] = {}): Promise<void> {
    const { data, store, changed } = this.#deps;
    await data.transaction(async () => {
      if ((await store.read(viewer.id, which)) > 0) await changed([viewer.id]);
    });
  }

  #record(
    row: NotificationRow,
    actors: Awaited<ReturnType<Accounts['authors']>>,
    texts: Texts | undefined,
  ): ShownNotification {
    const { id, type, title, url, actorId, actorIds, people, discussionId, postId, count, isRead, createdAt } = row;
    const untitled = title === '' ? this.#deps.untitled(type) : undefined;
    const actor = actorId === null ? null : (actors.get(actorId) ?? null);
    const last = actorIds.map((one) => actors.get(one));
    const record = {
      id,
      type,
      title: untitled === undefined ? title : (texts?.text(untitled) ?? untitled),
      url: this.#deps.environment.baseUrl + url,
      actor,
      actors: last.filter((one) => one !== undefined),
      actor_count: people,
      discussion_id: discussionId,
      post_id: postId,
      count,
      is_read: isRead,
    };
    return {
      ...record,
      created_at: createdAt.toISOString(),
      path: url,
      untitled,
      values: { actors: last, people, count },
    };
  }
}
