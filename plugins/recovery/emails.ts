import type { Environment } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import type { Message } from 'parley-forum/ports/mail';
import type { Web } from 'parley-forum/plugins/web';

export interface EmailsDeps {
  readonly environment: Environment;
  readonly web: Web;
}

/** The account a mail is about, which also determines its language. */
type Owner = Pick<Account, 'id' | 'username'>;
interface Linked extends Owner {
  readonly token: string;
}

/** The mails of this plugin. */
export class RecoveryEmails {
  readonly #deps: EmailsDeps;

  constructor(deps: EmailsDeps) {
    this.#deps = deps;
  }

  reset(to: string, { token, lifetime, ...owner }: Linked & { readonly lifetime: number }): Promise<Message> {
    const values = { count: Math.round(lifetime / 60) };
    return this.#email(to, owner, { kind: 'reset', path: `/password/reset/${token}`, values });
  }

  confirm(to: string, { token, ...owner }: Linked): Promise<Message> {
    return this.#email(to, owner, { kind: 'confirm', path: `/register/confirm/${token}` });
  }

  change(to: string, { token, ...owner }: Linked): Promise<Message> {
    return this.#email(to, owner, { kind: 'change', path: `/settings/security/email/confirm/${token}` });
  }

  /** Another member tried to change to this account's address. At most one mail a day per account. */
  async emailWanted({ email, ...owner }: Account, day: string): Promise<Message> {
    const message = await this.#email(email, owner, { kind: 'wanted', path: '/settings/security' });
    return { ...message, key: `recovery.wanted:${owner.id}:${day}` };
  }

  /** Another person tried to sign up with a member's address. At most one mail a day per account. */
  async emailTaken({ email, ...owner }: Account, day: string): Promise<Message> {
    const message = await this.#email(email, owner, { kind: 'taken', path: '/password/forgot' });
    return { ...message, key: `recovery.taken:${owner.id}:${day}` };
  }

  async #email(
    to: string,
    { id, username }: Owner,
    { kind, path, values }: { readonly kind: string; readonly path: string; readonly values?: object },
  ): Promise<Message> {
    const { web, environment } = this.#deps;
    const texts = (await web.textsFor([id]))(id);
    const text = (key: string): string => texts.text(`recovery:mail.${kind}.${key}`, { username, ...values });
    const subject = text('title');
    const content = {
      language: texts.id,
      title: subject,
      paragraphs: [text('text')],
      action: { label: text('action'), href: environment.baseUrl + path },
      reason: text('reason'),
    };
    return { to, subject, content };
  }
}
