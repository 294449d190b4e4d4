import type { Environment } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import type { Mail } from 'parley-forum/ports/mail';
import type { Mode } from 'parley-forum/ports/personal-data';
import type { Web } from 'parley-forum/plugins/web';

export interface EmailsDeps {
  readonly environment: Environment;
  readonly web: Web;
  readonly mail: Mail | undefined;
}
/** The mails: deletion requested, cancelled, done. */
type Kind = 'requested' | 'cancelled' | 'erased';

/** Where a mail leads to. */
const PATHS: Readonly<Record<Kind, string | undefined>> = {
  requested: '/login',
  cancelled: '/settings/security/sessions',
  erased: undefined,
};

/**
 * Mails the owner of an account about its deletion. Joins the transaction under way; does nothing where there is no
 * mail.
 */
export class DeletionEmails {
  readonly #deps: EmailsDeps;

  constructor(deps: EmailsDeps) {
    this.#deps = deps;
  }

  async send(
    kind: Kind,
    { username, email }: Account,
    values: { readonly mode?: Mode; readonly date?: string } = {},
  ): Promise<void> {
    const { mail, web, environment } = this.#deps;
    if (!mail) return;
    const text = (key: string): string => web.text(`privacy:mail.${kind}.${key}`, { username, date: values.date });
    const subject = text('title');
    const paragraphs = [text('text'), ...(values.mode ? [web.text(`privacy:mail.${values.mode}`)] : [])];
    const path = PATHS[kind];
    const action = path === undefined ? {} : { action: { label: text('action'), href: environment.baseUrl + path } };
    await mail.send({
      to: email,
      subject,
      content: { title: subject, paragraphs, ...action, reason: web.text('privacy:mail.reason') },
    });
  }
}
