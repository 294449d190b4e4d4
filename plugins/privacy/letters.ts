import type { Environment } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import { letter, type Mail } from 'parley-forum/plugins/mail';
import type { Mode } from 'parley-forum/plugins/privacy';
import type { Web } from 'parley-forum/plugins/web';

export interface LetterParts {
  readonly environment: Environment;
  readonly web: Web;
  readonly mail: Mail | undefined;
}
/** What a member is told: that it was asked for, that it was called off, that it is done. */
type Kind = 'requested' | 'cancelled' | 'erased';

/** Where a mail leads to. */
const PATHS: Readonly<Record<Kind, string | undefined>> = {
  requested: '/login',
  cancelled: '/settings/security/sessions',
  erased: undefined,
};

/**
 * Tells the owner of an account what becomes of it. Joins the transaction under way; does nothing where there is no
 * mail.
 */
export class Letters {
  readonly #parts: LetterParts;

  constructor(parts: LetterParts) {
    this.#parts = parts;
  }

  async tell(
    kind: Kind,
    { username, email }: Account,
    values: { readonly mode?: Mode; readonly date?: string } = {},
  ): Promise<void> {
    const { mail, web, environment } = this.#parts;
    if (!mail) return;
    const text = (key: string): string => web.text(`privacy:mail.${kind}.${key}`, { username, date: values.date });
    const subject = text('title');
    const paragraphs = [text('text'), ...(values.mode ? [web.text(`privacy:mail.${values.mode}`)] : [])];
    const path = PATHS[kind];
    const action = path === undefined ? {} : { action: { label: text('action'), href: environment.baseUrl + path } };
    await mail.send({
      to: email,
      subject,
      ...letter({ title: subject, paragraphs, ...action, reason: web.text('privacy:mail.reason') }),
    });
  }
}
