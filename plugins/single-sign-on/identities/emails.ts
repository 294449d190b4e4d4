import type { Environment } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import type { Mail } from 'parley-forum/ports/mail';
import type { Web } from 'parley-forum/plugins/web';

export interface EmailsDeps {
  readonly accounts: Pick<Accounts, 'emails'>;
  readonly environment: Environment;
  readonly web: Web;
  /** Undefined if mail is not available. */
  readonly mail: Mail | undefined;
}

/** Notifies a member by mail that an account elsewhere was linked to theirs, or unlinked, in case it was not them. */
export async function notifyOwner(
  { accounts, environment, web, mail }: EmailsDeps,
  accountId: string,
  event: 'linked' | 'unlinked',
  provider: string,
): Promise<void> {
  const to = mail && (await accounts.emails([accountId])).get(accountId);
  if (!mail || to === undefined) return;
  const texts = (await web.textsFor([accountId]))(accountId);
  const text = (key: string): string => texts.text(`single-sign-on:mail.${key}`, { provider });
  const subject = text(event);
  const content = {
    language: texts.id,
    title: subject,
    paragraphs: [text(`${event}.text`), text('unless')],
    action: { label: text('look'), href: `${environment.baseUrl}/settings/security` },
    reason: text('reason'),
  };
  await mail.send({ to, subject, content });
}
