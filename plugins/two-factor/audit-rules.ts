import type { PluginHandle } from 'parley-forum';
import { audited, auditRules } from 'parley-forum/ports/audit';
import { twoFactorChanged, twoFactorRefused, type TwoFactorEvent } from 'parley-forum/plugins/two-factor';

const CHANGES = [
  'enabled',
  'disabled',
  'reset',
  'codes-renewed',
  'code-used',
] as const satisfies readonly TwoFactorEvent[];

/** Records changes of second factors in the audit log. */
export function addAuditRules(plugin: PluginHandle): void {
  plugin.extend(
    auditRules,
    audited(
      twoFactorChanged,
      CHANGES.map((event) => `two-factor.${event}` as const),
      ({ account, event, actor, address }) => ({
        action: `two-factor.${event}`,
        subject: { type: 'account', id: account },
        ...(actor !== undefined && { actor }),
        ...(address !== undefined && { address }),
      }),
    ),
  );
  plugin.extend(
    auditRules,
    audited(twoFactorRefused, ['two-factor.refused'], ({ account, address }) => ({
      action: 'two-factor.refused',
      subject: { type: 'account', id: account },
      address,
    })),
  );
}
