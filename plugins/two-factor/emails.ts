import type { Environment } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Mail } from 'parley-forum/ports/mail';
import type { TwoFactorEvent } from 'parley-forum/plugins/two-factor';
import type { Web } from 'parley-forum/plugins/web';

export interface EmailsDeps {
  readonly accounts: Pick<Accounts, 'emails'>;
  readonly environment: Environment;
  readonly web: Web;
  /** Undefined if no mail can be sent. */
  readonly mail: Mail | undefined;
}

/**
 * Warns the owner of an account that somebody has the password and is guessing codes. The mail says how to stop them.
 */
export async function warnOwner(
  { accounts, environment, web, mail }: EmailsDeps,
  accountId: string,
  failures: number,
): Promise<void> {
  const to = mail && (await accounts.emails([accountId])).get(accountId);
  if (!mail || to === undefined) return;
  const texts = (await web.textsFor([accountId]))(accountId);
  const text = (key: string): string => texts.text(`two-factor:mail.guessed.${key}`, { count: failures });
  const subject = text('title');
  const action = { label: text('action'), href: `${environment.baseUrl}/login` };
  const paragraphs = [text('text'), text('help'), text('self')];
  await mail.send({
    to,
    subject,
    content: { language: texts.id, title: subject, paragraphs, action, reason: texts.text('two-factor:mail.reason') },
  });
}

/** Mails the owner of an account about a change of its second factor, in case it was not them. */
export async function notifyOwner(
  { accounts, environment, web, mail }: EmailsDeps,
  accountId: string,
  event: TwoFactorEvent,
): Promise<void> {
  const to = mail && (await accounts.emails([accountId])).get(accountId);
  if (!mail || to === undefined) return;
  const texts = (await web.textsFor([accountId]))(accountId);
  const subject = texts.text(`two-factor:mail.${event}`);
  const action = { label: texts.text('two-factor:mail.look'), href: `${environment.baseUrl}/settings/security` };
  const content = {
    language: texts.id,
    title: subject,
    paragraphs: [texts.text('two-factor:mail.unless')],
    action,
    reason: texts.text('two-factor:mail.reason'),
  };
  await mail.send({ to, subject, content });
}
