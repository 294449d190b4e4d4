import type { Environment } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import type { Mail } from 'parley-forum/ports/mail';
import type { Mode } from 'parley-forum/ports/personal-data';
import type { Web } from 'parley-forum/plugins/web';

export interface EmailsDeps {
  readonly environment: Environment;
  readonly web: Web;
  readonly accounts: Pick<Accounts, 'emails'>;
  readonly mail: Mail | undefined;
}
/** The mails: deletion requested, cancelled or done. */
type Kind = 'requested' | 'cancelled' | 'erased';

/** The page each mail links to. */
const PATHS: Readonly<Record<Kind, string | undefined>> = {
  requested: '/login',
  cancelled: '/settings/security/sessions',
  erased: undefined,
};

/**
 * Mails the owner of an account about its deletion. Joins the current transaction; does nothing if no mail can be sent.
 */
export class DeletionEmails {
  readonly #deps: EmailsDeps;

  constructor(deps: EmailsDeps) {
    this.#deps = deps;
  }

  async send(
    kind: Kind,
    { id, username, email, status }: Account,
    { mode, due }: { readonly mode?: Mode; readonly due?: Date } = {},
  ): Promise<void> {
    const { mail, web, environment, accounts } = this.#deps;
    // An unconfirmed address may belong to somebody else.
    if (!mail || (status === 'active' && !(await accounts.emails([id])).has(id))) return;
    const texts = (await web.textsFor([id]))(id);
    const values = { username, ...(due && { date: texts.day(due) }) };
    const text = (key: string): string => texts.text(`privacy:mail.${kind}.${key}`, values);
    const subject = text('title');
    const paragraphs = [text('text'), ...(mode ? [texts.text(`privacy:mail.${mode}`)] : [])];
    const path = PATHS[kind];
    const action = path === undefined ? {} : { action: { label: text('action'), href: environment.baseUrl + path } };
    await mail.send({
      to: email,
      subject,
      content: {
        language: texts.id,
        title: subject,
        paragraphs,
        ...action,
        reason: texts.text('privacy:mail.reason'),
      },
    });
  }
}
