import { Clock, Data, definePlugin, Environment, Http, Secrets, Type } from 'parley-forum';
import { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Mail } from 'parley-forum/ports/mail';
import { Deletions, personalData } from 'parley-forum/ports/personal-data';
import { emailConfirmed, passwordReset, resetRequested } from 'parley-forum/plugins/recovery';
import { Web } from 'parley-forum/plugins/web';
import { EmailChanges } from './email-changes.ts';
import { addEmailChangePages } from './email-change-pages.ts';
import { addAuditRules } from './audit-rules.ts';
import { addConfirmationPages } from './confirmation-pages.ts';
import { EmailConfirmations } from './email-confirmations.ts';
import { RecoveryEmails } from './emails.ts';
import { linksData } from './personal-data.ts';
import { addResetPages } from './reset-pages.ts';
import { PasswordResets } from './password-resets.ts';
import { recoverySettings } from './settings.ts';

export default definePlugin({
  id: 'recovery',
  name: 'Password reset and confirmed addresses',
  version: '1.0.0',
  description: 'Password resets and e-mail address confirmation.',
  defends: true,
  needs: {
    data: Data,
    clock: Clock,
    environment: Environment,
    http: Http,
    secrets: Secrets,
    limits: Limits,
    accounts: Accounts,
    sessions: Sessions,
    mail: Mail,
    web: Web,
  },
  wants: { deletions: Deletions },
  hooks: [resetRequested, passwordReset, emailConfirmed],
  settings: recoverySettings,
  setup({ data, clock, environment, http, secrets, limits, accounts, sessions, mail, web, deletions }, plugin) {
    const emails = new RecoveryEmails({ environment, web });
    const changes = new EmailChanges({ plugin, data, clock, limits, accounts, mail, emails });
    const confirmations = new EmailConfirmations({
      plugin,
      data,
      clock,
      limits,
      accounts,
      mail,
      emails,
      changes,
      deletions,
    });
    const resets = new PasswordResets({
      plugin,
      data,
      clock,
      secrets,
      limits,
      accounts,
      mail,
      emails,
      emailProven: ({ id }) => confirmations.confirm(id),
    });
    addResetPages(plugin, { resets, accounts, http, web });
    addConfirmationPages(plugin, { confirmations, sessions, http });
    addEmailChangePages(plugin, { changes, accounts, http, web, emailProven: ({ id }) => confirmations.confirm(id) });
    addAuditRules(plugin);
    plugin.extend(personalData, linksData(data));
    plugin.job('clean', {
      schema: Type.Object({}),
      cron: '29 * * * *',
      run: async (_none, { signal }) => {
        await resets.deleteExpired();
        await confirmations.deleteExpired();
        await changes.deleteExpired();
        await confirmations.endOldSignUps(signal);
      },
    });
  },
});
