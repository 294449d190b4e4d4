import type { PluginHandle } from 'parley-forum';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { accountErased, deletionCancelled, deletionRequested, exportRequested } from 'parley-forum/plugins/privacy';

/** Audit log entries contain ids, which outlive the names. */
export function addAuditRules(plugin: PluginHandle): void {
  const about = (id: string) => ({ type: 'account', id });
  plugin.extend(
    auditRules,
    audited(exportRequested, ['privacy.export-requested'], ({ id }) => ({
      action: 'privacy.export-requested',
      actor: id,
      subject: about(id),
    })),
  );
  plugin.extend(
    auditRules,
    audited(deletionRequested, ['privacy.deletion-requested'], ({ id, by, mode, due }) => ({
      action: 'privacy.deletion-requested',
      actor: by,
      subject: about(id),
      details: { mode, due },
    })),
  );
  plugin.extend(
    auditRules,
    audited(deletionCancelled, ['privacy.deletion-cancelled'], ({ id, by }) => ({
      action: 'privacy.deletion-cancelled',
      actor: by,
      subject: about(id),
    })),
  );
  plugin.extend(
    auditRules,
    audited(accountErased, ['privacy.account-erased'], ({ id, mode }) => ({
      action: 'privacy.account-erased',
      subject: about(id),
      details: { mode },
    })),
  );
}
