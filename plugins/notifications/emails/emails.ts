import type { Environment, Secrets } from 'parley-forum';
import type { Author } from 'parley-forum/plugins/accounts';
import type { Message } from 'parley-forum/ports/mail';
import type { NotificationType } from 'parley-forum/ports/notifications';
import type { Texts, Web } from 'parley-forum/plugins/web';
import { sentenceOf } from '../sentence.ts';
import type { NotificationRow } from '../store.ts';

const PURPOSE = 'notifications.unsubscribe';
/** The kind that stands for the digest in unsubscribe links, beside types of notifications. */
export const DIGEST = 'digest';

export interface EmailsDeps {
  readonly environment: Environment;
  readonly secrets: Secrets;
  readonly web: Web;
  types(): readonly NotificationType[];
}

interface DigestOptions {
  readonly to: string;
  /** There are more than the email lists. */
  readonly more: boolean;
  /** When the digest was due. */
  readonly due: Date;
  /** In the language of its reader. */
  readonly texts: Texts;
}

/** Renders emails about notifications, with their unsubscribe links. */
export class NotificationEmails {
  readonly #deps: EmailsDeps;

  constructor(deps: EmailsDeps) {
    this.#deps = deps;
  }

  /** Whether there is something to say: not of what has no title, where nobody knows the type, since its plugin is off. */
  tells({ type, title }: NotificationRow): boolean {
    return title !== '' || this.#deps.types().some((known) => known.type === type);
  }

  /** The notification in one line. */
  #summary(row: NotificationRow, actors: ReadonlyMap<string, Author>, texts: Texts): string {
    const type = this.#deps.types().find((known) => known.type === row.type);
    const known = row.actorIds.map((id) => actors.get(id));
    const sentence = sentenceOf(type, { ...row, actors: known }, (key, values) => texts.text(key, values));
    const title = row.title || (type?.untitled && texts.text(type.untitled));
    return [sentence, title].filter(Boolean).join(' ');
  }

  /** `text`: what was written, where the mail is about a text of somebody else. */
  async single(
    row: NotificationRow,
    actors: ReadonlyMap<string, Author>,
    { to, text }: { readonly to: string; readonly text: string | undefined },
  ): Promise<Message> {
    const { web, environment } = this.#deps;
    const texts = (await web.textsFor([row.userId]))(row.userId);
    const subject = this.#summary(row, actors, texts);
    const unsubscribe = this.#unsubscribeUrl(row.userId, row.type);
    const content = {
      language: texts.id,
      title: subject,
      paragraphs: text === undefined ? [] : [text],
      action: { label: texts.text('notifications:mail.open'), href: environment.baseUrl + row.url },
      reason: texts.text('notifications:mail.reason'),
      end: { label: texts.text('notifications:mail.stop'), href: unsubscribe },
    };
    const thread = row.discussionId === null ? {} : { thread: row.discussionId };
    return { to, subject, content, unsubscribe, ...thread, key: `notification:${row.id}` };
  }

  digest(
    rows: readonly NotificationRow[],
    actors: ReadonlyMap<string, Author>,
    { to, more, due, texts }: DigestOptions,
  ): Message {
    const { environment } = this.#deps;
    const userId = rows[0]!.userId;
    const title = texts.text('notifications:digest.title', { count: rows.length });
    const unsubscribe = this.#unsubscribeUrl(userId, DIGEST);
    const content = {
      language: texts.id,
      title,
      paragraphs: [],
      links: rows.map((row) => ({
        label: this.#summary(row, actors, texts),
        href: environment.baseUrl + row.url,
      })),
      action: {
        label: texts.text(more ? 'notifications:digest.more' : 'notifications:digest.all'),
        href: `${environment.baseUrl}/notifications`,
      },
      reason: texts.text('notifications:digest.reason'),
      end: { label: texts.text('notifications:mail.stop'), href: unsubscribe },
    };
    return { to, subject: title, content, unsubscribe, key: `digest:${userId}:${due.toISOString()}` };
  }

  /** Texts for these readers, in the language of each. */
  textsFor(ids: readonly string[]): ReturnType<Web['textsFor']> {
    return this.#deps.web.textsFor(ids);
  }

  /** Member and kind of a signed unsubscribe link; undefined if the signature is wrong. */
  verifyLink(
    userId: string,
    kind: string,
    signature: string,
  ): { readonly userId: string; readonly kind: string } | undefined {
    return this.#deps.secrets.verify(PURPOSE, `${userId} ${kind}`, signature) ? { userId, kind } : undefined;
  }

  /** It does not expire: readers of an old email may want to unsubscribe too. */
  #unsubscribeUrl(userId: string, kind: string): string {
    const { environment, secrets } = this.#deps;
    return `${environment.baseUrl}/notifications/stop/${userId}/${encodeURIComponent(kind)}/${secrets.sign(PURPOSE, `${userId} ${kind}`)}`;
  }
}
