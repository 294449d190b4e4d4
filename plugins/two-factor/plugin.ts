import { Clock, Data, definePlugin, Environment, Http, sealedStores, Secrets, Settings } from '#core';
import { Accounts, Sessions } from '#plugins/accounts';
import { Limits } from '#plugins/limits';
import { Mail } from '#plugins/mail';
import { personalData } from '#plugins/privacy';
import { TwoFactor, twoFactorChanged, twoFactorRefused } from '#plugins/two-factor';
import { Web } from '#plugins/web';
import { addAdminPages } from './admin-pages.ts';
import { addAuditRules } from './audit-rules.ts';
import { commands } from './commands.ts';
import { Guard } from './guard.ts';
import { tellOwner } from './letters.ts';
import { addLoginPages } from './login-pages.ts';
import { twoFactorData } from './personal-data.ts';
import { TwoFactorService } from './service.ts';
import { addSettingsPages } from './settings-pages.ts';
import { twoFactorSettings } from './settings.ts';

export default definePlugin({
  id: 'two-factor',
  name: 'Two-factor login',
  version: '1.0.0',
  description: 'Members who wish so log in with a code of their phone besides the password.',
  needs: {
    data: Data, clock: Clock, secrets: Secrets, environment: Environment, settings: Settings, http: Http, accounts: Accounts, sessions: Sessions,
    limits: Limits, web: Web,
  },
  wants: { mail: Mail },
  provides: { twoFactor: TwoFactor },
  hooks: [twoFactorChanged, twoFactorRefused],
  settings: twoFactorSettings,
  commands,
  setup({ data, clock, secrets, environment, settings, http, accounts, sessions, limits, web, mail }, plugin) {
    const service = new TwoFactorService({
      data, clock, secrets,
      changed: async (what) => {
        await plugin.emit(twoFactorChanged, what);
        await tellOwner({ accounts, environment, web, mail }, what.account, what.event);
      },
    });
    const guard = new Guard({
      limits, service, settings: plugin.settings, refused: ({ id, address }) => plugin.emit(twoFactorRefused, { account: id, address }),
    });
    plugin.extend(sealedStores, service);
    addAuditRules(plugin);
    addSettingsPages(plugin, { service, guard, http, settings, web });
    addAdminPages(plugin, { service, accounts, web });
    addLoginPages(plugin, { service, guard, sessions, http });
    plugin.extend(personalData, twoFactorData(data, service));
    return { twoFactor: service };
  },
});
