import type { PluginHandle } from 'parley-forum';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { emailConfirmed, passwordReset, resetRequested } from 'parley-forum/plugins/recovery';

/** Audit log entries. The requester of a link is unknown, so the account is the subject, not the actor. */
export function addAuditRules(plugin: PluginHandle): void {
  const about = (account: string) => ({ type: 'account', id: account });
  plugin.extend(
    auditRules,
    audited(resetRequested, ['account.reset-asked'], ({ account, address }) => ({
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
