import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';
import type { DescribedNotification, NotificationType } from 'parley-forum/ports/notifications';
import type { Texts, Web } from 'parley-forum/plugins/web';
import type { PreferenceStore } from './preferences/preferences.ts';
import { sentenceOf } from './sentence.ts';
import type { NotificationRow, Store } from './store.ts';
import type { Visibility } from './visibility.ts';

export interface DescriberDeps {
  readonly accounts: Accounts;
  readonly preferences: PreferenceStore;
  readonly store: Store;
  readonly visibility: Visibility;
  /** Undefined if there are no texts. */
  readonly web: Web | undefined;
  types(): readonly NotificationType[];
}

/** A notification that its member may be told of now. */
export interface DueNotification {
  readonly row: NotificationRow;
  readonly viewer: Viewer;
  readonly channel: 'site' | 'mail';
}

/** Describes notifications outside of the site's pages, in one line. */
export class Describer {
  readonly #deps: DescriberDeps;

  constructor(deps: DescriberDeps) {
    this.#deps = deps;
  }

  /** Undefined if it was read, deleted, hidden or switched off in the meantime, or cannot be described. */
  async due(id: string): Promise<DueNotification | undefined> {
    const { accounts, preferences, store, visibility } = this.#deps;
    const row = await store.find(id);
    if (!row || row.isRead || !this.canDescribe(row)) return undefined;
    const { userId, type } = row;
    const viewer = (await accounts.viewers([userId])).get(userId);
    if (!viewer || !(await visibility.categories(viewer)).includes(row.categoryId)) return undefined;
    const channel = preferences.channel((await preferences.of([userId]))(userId), type);
    return channel === 'off' ? undefined : { row, viewer, channel };
  }

  async describe(id: string): Promise<DescribedNotification | undefined> {
    const { accounts, web } = this.#deps;
    const due = web && (await this.due(id));
    if (!due) return undefined;
    const { userId, actorIds, url } = due.row;
    const texts = (await web.textsFor([userId]))(userId);
    return { userId, url, language: texts.id, text: this.line(due.row, await accounts.authors(actorIds), texts) };
  }

  /** One without a title cannot be described if its type is unknown because its plugin is off. */
  canDescribe({ type, title }: NotificationRow): boolean {
    return title !== '' || this.#deps.types().some((known) => known.type === type);
  }

  line(row: NotificationRow, actors: ReadonlyMap<string, Author>, texts: Texts): string {
    const type = this.#deps.types().find((known) => known.type === row.type);
    const known = row.actorIds.map((id) => actors.get(id));
    const sentence = sentenceOf(type, { ...row, actors: known }, (key, values) => texts.text(key, values));
    const title = row.title || (type?.untitled && texts.text(type.untitled));
    return [sentence, title].filter(Boolean).join(' ');
  }
}
