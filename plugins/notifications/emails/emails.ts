import type { Environment, Secrets } from 'parley-forum';
import type { Author } from 'parley-forum/plugins/accounts';
import type { Message } from 'parley-forum/ports/mail';
import type { Texts, Web } from 'parley-forum/plugins/web';
import type { Describer } from '../describer.ts';
import type { NotificationRow } from '../store.ts';

const PURPOSE = 'notifications.unsubscribe';
/** The kind that represents the digest in unsubscribe links, next to the types of notifications. */
export const DIGEST = 'digest';

export interface EmailsDeps {
  readonly environment: Environment;
  readonly secrets: Secrets;
  readonly web: Web;
  readonly describer: Describer;
}

interface DigestOptions {
  readonly to: string;
  /** Whether there are more than the email lists. */
  readonly more: boolean;
  /** When the digest was due. */
  readonly due: Date;
  /** Texts in the reader's language. */
  readonly texts: Texts;
}

/** Renders emails about notifications, with their unsubscribe links. */
export class NotificationEmails {
  readonly #deps: EmailsDeps;

  constructor(deps: EmailsDeps) {
    this.#deps = deps;
  }

  /** `text`: the text of the post, if the email is about one written by someone else. */
  async single(
    row: NotificationRow,
    actors: ReadonlyMap<string, Author>,
    { to, text }: { readonly to: string; readonly text: string | undefined },
  ): Promise<Message> {
    const { web, environment, describer } = this.#deps;
    const texts = (await web.textsFor([row.userId]))(row.userId);
    const subject = describer.line(row, actors, texts);
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
    const { environment, describer } = this.#deps;
    const userId = rows[0]!.userId;
    const title = texts.text('notifications:digest.title', { count: rows.length });
    const unsubscribe = this.#unsubscribeUrl(userId, DIGEST);
    const content = {
      language: texts.id,
      title,
      paragraphs: [],
      links: rows.map((row) => ({
        label: describer.line(row, actors, texts),
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

  /** Texts for these readers, each in their own language. */
  textsFor(ids: readonly string[]): ReturnType<Web['textsFor']> {
    return this.#deps.web.textsFor(ids);
  }

  /** Member and kind of a signed unsubscribe link; undefined if the signature is invalid. */
  verifyLink(
    userId: string,
    kind: string,
    signature: string,
  ): { readonly userId: string; readonly kind: string } | undefined {
    return this.#deps.secrets.verify(PURPOSE, `${userId} ${kind}`, signature) ? { userId, kind } : undefined;
  }

  /** The link never expires, because readers of an old email may want to unsubscribe too. */
  #unsubscribeUrl(userId: string, kind: string): string {
    const { environment, secrets } = this.#deps;
    return `${environment.baseUrl}/notifications/stop/${userId}/${encodeURIComponent(kind)}/${secrets.sign(PURPOSE, `${userId} ${kind}`)}`;
  }
}
