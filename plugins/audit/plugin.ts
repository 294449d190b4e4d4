import { Clock, Data, definePlugin, sealedStores, Secrets, Settings, Type } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Admin } from 'parley-forum/plugins/admin';
import { AuditLog, readAudit } from 'parley-forum/plugins/audit';
import { auditRules } from 'parley-forum/ports/audit';
import { subscribe } from './event-subscriber.ts';
import { verifyCommand } from './commands.ts';
import { deleteOld } from './retention.ts';
import { addPages } from './pages.ts';
import { LogReader } from './log-reader.ts';
import { Seals } from './seals.ts';
import { verify } from './verification.ts';
import { LogWriter } from './log-writer.ts';

export default definePlugin({
  id: 'audit',
  name: 'Audit log',
  version: '2.0.0',
  description: 'The audit log: who changed what, and who tried to.',
  defends: true,
  needs: { data: Data, clock: Clock, secrets: Secrets, settings: Settings, accounts: Accounts },
  wants: { admin: Admin },
  provides: { audit: AuditLog },
  extensionPoints: [auditRules],
  permissions: [readAudit],
  commands: [verifyCommand],
  settings: Type.Object({
    'audit.days': Type.Integer({
      default: 365,
      minimum: 0,
      maximum: 36_500,
      'x-danger': true,
      title: 'Days to keep the audit log',
      'x-group': 'security',
      description: '0 keeps it forever; values below 30 count as 30.',
    }),
  }),

  setup({ data, clock, secrets, settings, accounts, admin }, plugin) {
    const seals = new Seals({ data, secrets });
    const writer = new LogWriter({ data, seals, log: plugin.log });
    plugin.extend(sealedStores, seals);
    subscribe(plugin, (id, entry) => writer.add(id, entry));
    plugin.job('tend', {
      schema: Type.Object({}),
      cron: '43 3 * * *',
      run: async () => {
        const { broken } = await verify(data, seals);
        // Checked before anything is deleted: if the log is broken, the evidence stays.
        if (broken !== undefined) plugin.log.error({ audit: true, position: broken }, 'the audit log was altered');
        else await deleteOld({ data, clock, writer, signal: plugin.signal }, plugin.settings['audit.days']);
      },
    });
    if (admin) addPages(plugin, { admin, settings, reader: new LogReader({ data, accounts }) });
    return { audit: { verify: () => verify(data, seals) } };
  },
});
