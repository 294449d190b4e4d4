import type { Environment, Secrets } from 'parley-forum';
import type { Author } from 'parley-forum/plugins/accounts';
import { letter, type Message } from 'parley-forum/plugins/mail';
import type { NotificationType } from 'parley-forum/plugins/notifications';
import type { Web } from 'parley-forum/plugins/web';
import type { NotificationRow } from '../store.ts';

const PURPOSE = 'notifications.unsubscribe';
/** What a link switches off: a type of notification, or the digest. */
export const DIGEST = 'digest';

export interface LetterParts {
  readonly environment: Environment;
  readonly secrets: Secrets;
  readonly web: Web;
  types(): readonly NotificationType[];
}

interface DigestOptions {
  readonly to: string;
  /** There are others that the mail does not name. */
  readonly more: boolean;
  /** The day that it is for. */
  readonly key: string;
}

/** Mails about notifications, and the links in them that end their kind. */
export class Letters {
  readonly #parts: LetterParts;

  constructor(parts: LetterParts) {
    this.#parts = parts;
  }

  /** What happened, in one line. */
  says({ type, title, count }: Pick<NotificationRow, 'type' | 'title' | 'count'>, actor: Author | undefined): string {
    const { web, types } = this.#parts;
    const sentence = types().find((one) => one.type === type)?.sentence;
    return [sentence && web.text(sentence, { name: actor?.username ?? '', count }), title].filter(Boolean).join(' ');
  }

  one(row: NotificationRow, actor: Author | undefined, to: string): Message {
    const { web, environment } = this.#parts;
    const subject = this.says(row, actor);
    const unsubscribe = this.#link(row.userId, row.type);
    const parts = letter({
      title: subject,
      paragraphs: [],
      action: { label: web.text('notifications:mail.open'), href: environment.baseUrl + row.url },
      reason: web.text('notifications:mail.reason'),
      end: { label: web.text('notifications:mail.stop'), href: unsubscribe },
    });
    return { to, subject, ...parts, unsubscribe, key: `notification:${row.id}` };
  }

  digest(
    rows: readonly NotificationRow[],
    actors: ReadonlyMap<string, Author>,
    { to, more, key }: DigestOptions,
  ): Message {
    const { web, environment } = this.#parts;
    const userId = rows[0]!.userId;
    const title = web.text('notifications:digest.title', { count: rows.length });
    const unsubscribe = this.#link(userId, DIGEST);
    const parts = letter({
      title,
      paragraphs: [],
      links: rows.map((row) => ({
        label: this.says(row, actors.get(row.actorId ?? '')),
        href: environment.baseUrl + row.url,
      })),
      action: {
        label: web.text(more ? 'notifications:digest.more' : 'notifications:digest.all'),
        href: `${environment.baseUrl}/notifications`,
      },
      reason: web.text('notifications:digest.reason'),
      end: { label: web.text('notifications:mail.stop'), href: unsubscribe },
    });
    return { to, subject: title, ...parts, unsubscribe, key: `digest:${userId}:${key}` };
  }

  /** Whom and what a link of a mail is about; undefined for one that was not made here. */
  read(
    userId: string,
    kind: string,
    signature: string,
  ): { readonly userId: string; readonly kind: string } | undefined {
    return this.#parts.secrets.verify(PURPOSE, `${userId} ${kind}`, signature) ? { userId, kind } : undefined;
  }

  /** It has no end: whoever reads an old mail may want to stop them too. */
  #link(userId: string, kind: string): string {
    const { environment, secrets } = this.#parts;
    return `${environment.baseUrl}/notifications/stop/${userId}/${encodeURIComponent(kind)}/${secrets.sign(PURPOSE, `${userId} ${kind}`)}`;
  }
}
