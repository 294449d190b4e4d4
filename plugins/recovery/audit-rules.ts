import type { PluginHandle } from 'parley-forum';
import { audited, auditRules } from 'parley-forum/plugins/audit';
import { emailConfirmed, passwordReset, resetAsked } from 'parley-forum/plugins/recovery';

/** What is kept for administrators. Who asked for a link is not known: the account is what it is about. */
export function addAuditRules(plugin: PluginHandle): void {
  const about = (account: string) => ({ type: 'account', id: account });
  plugin.extend(
    auditRules,
    audited(resetAsked, ['account.reset-asked'], ({ account, address }) => ({
      action: 'account.reset-asked',
      subject: about(account),
      address,
    })),
  );
  plugin.extend(
    auditRules,
    audited(passwordReset, ['account.password-reset'], ({ account, address }) => ({
      action: 'account.password-reset',
      actor: account,
      subject: about(account),
      address,
    })),
  );
  plugin.extend(
    auditRules,
    audited(emailConfirmed, ['account.email-confirmed'], ({ account, address }) => ({
      action: 'account.email-confirmed',
      actor: account,
      subject: about(account),
      address,
    })),
  );
}
