import { Clock, Data, definePlugin, Environment, Http, Secrets, Type } from 'parley-forum';
import { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import { Limits } from 'parley-forum/plugins/limits';
import { Mail } from 'parley-forum/plugins/mail';
import { personalData } from 'parley-forum/plugins/privacy';
import { emailConfirmed, passwordReset, resetAsked } from 'parley-forum/plugins/recovery';
import { Web } from 'parley-forum/plugins/web';
import { AddressChanges } from './address-changes.ts';
import { addAddressPages } from './address-pages.ts';
import { addAuditRules } from './audit-rules.ts';
import { addConfirmationPages } from './confirmation-pages.ts';
import { Confirmations } from './confirmations.ts';
import { Letters } from './letters.ts';
import { linksData } from './personal-data.ts';
import { addResetPages } from './reset-pages.ts';
import { Resets } from './resets.ts';
import { recoverySettings } from './settings.ts';

export default definePlugin({
  id: 'recovery',
  name: 'Password reset and confirmed addresses',
  version: '1.0.0',
  description: 'Links by mail: to choose a new password, and to show that an address is one’s own.',
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
  hooks: [resetAsked, passwordReset, emailConfirmed],
  settings: recoverySettings,
  setup({ data, clock, environment, http, secrets, limits, accounts, sessions, mail, web }, plugin) {
    const letters = new Letters({ environment, web });
    const changes = new AddressChanges({ plugin, data, clock, limits, accounts, mail, letters });
    const confirmations = new Confirmations({ plugin, data, clock, limits, accounts, mail, letters, changes });
    const resets = new Resets({
      plugin,
      data,
      clock,
      secrets,
      limits,
      accounts,
      mail,
      letters,
      proven: ({ id }) => confirmations.accept(id),
    });
    addResetPages(plugin, { resets, accounts, http, web });
    addConfirmationPages(plugin, { confirmations, sessions, http });
    addAddressPages(plugin, { changes, accounts, http, web, proven: ({ id }) => confirmations.accept(id) });
    addAuditRules(plugin);
    plugin.extend(personalData, linksData(data));
    plugin.job('clean', {
      schema: Type.Object({}),
      cron: '29 * * * *',
      run: async () => {
        await resets.clean();
        await confirmations.clean();
        await changes.clean();
      },
    });
  },
});
