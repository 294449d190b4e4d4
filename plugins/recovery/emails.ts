import type { Environment } from 'parley-forum';
import type { MailLink, Message } from 'parley-forum/ports/mail';
import type { Web } from 'parley-forum/plugins/web';

export interface EmailsDeps {
  readonly environment: Environment;
  readonly web: Web;
}

/** The mails of this plugin, in the site's own language. */
export class RecoveryEmails {
  readonly #deps: EmailsDeps;

  constructor(deps: EmailsDeps) {
    this.#deps = deps;
  }

  reset(
    to: string,
    { token, username, lifetime }: { readonly token: string; readonly username: string; readonly lifetime: number },
  ): Message {
    return this.#email(to, 'reset', { username, count: Math.round(lifetime / 60) }, `/password/reset/${token}`);
  }

  confirm(to: string, { token, username }: { readonly token: string; readonly username: string }): Message {
    return this.#email(to, 'confirm', { username }, `/register/confirm/${token}`);
  }

  change(to: string, { token, username }: { readonly token: string; readonly username: string }): Message {
    return this.#email(to, 'change', { username }, `/settings/security/email/confirm/${token}`);
  }

  /** Another member tried to change to the address of this one. At most one mail a day for each. */
  emailWanted(
    to: string,
    { id, username, day }: { readonly id: string; readonly username: string; readonly day: string },
  ): Message {
    return { ...this.#email(to, 'wanted', { username }, '/settings/security'), key: `recovery.wanted:${id}:${day}` };
  }

  /** Another person signed up with the address of a member. At most one a day for each. */
  emailTaken(
    to: string,
    { id, username, day }: { readonly id: string; readonly username: string; readonly day: string },
  ): Message {
    return { ...this.#email(to, 'taken', { username }, '/password/forgot'), key: `recovery.taken:${id}:${day}` };
  }

  #email(to: string, kind: string, values: Readonly<Record<string, unknown>>, path: string): Message {
    const { web, environment } = this.#deps;
    const subject = web.text(`recovery:mail.${kind}.title`, values);
    const action: MailLink = {
      label: web.text(`recovery:mail.${kind}.action`, values),
      href: environment.baseUrl + path,
    };
    const paragraphs = [web.text(`recovery:mail.${kind}.text`, values)];
    return {
      to,
      subject,
      content: { title: subject, paragraphs, action, reason: web.text(`recovery:mail.${kind}.reason`, values) },
    };
  }
}
