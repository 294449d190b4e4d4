import { Clock, Data, definePlugin, Environment, Http, sealedStores, Secrets, Settings } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { accountChangeListeners, Accounts, Sessions, staffRequirements } from 'parley-forum/plugins/accounts';
import { settingsSaving } from 'parley-forum/plugins/admin';
import { Limits } from 'parley-forum/plugins/limits';
import { Mail } from 'parley-forum/ports/mail';
import { personalData } from 'parley-forum/ports/personal-data';
import { TwoFactor, twoFactorChanged, twoFactorRefused } from 'parley-forum/plugins/two-factor';
import { Web } from 'parley-forum/plugins/web';
import { addAdminPages } from './admin-pages.ts';
import { addAuditRules } from './audit-rules.ts';
import { commands } from './commands.ts';
import { CodeVerifier } from './code-verifier.ts';
import { notifyOwner, warnOwner } from './emails.ts';
import { addLoginPages } from './login-pages.ts';
import { twoFactorData } from './personal-data.ts';
import { TwoFactorService } from './service.ts';
import { addSettingsPages, PAGE } from './settings-pages.ts';
import { twoFactorSettings } from './settings.ts';

export default definePlugin({
  id: 'two-factor',
  name: 'Two-factor login',
  version: '1.0.0',
  description: 'Members can require a code from their phone, besides the password, to log in.',
  defends: true,
  needs: {
    data: Data,
    clock: Clock,
    secrets: Secrets,
    environment: Environment,
    settings: Settings,
    http: Http,
    access: Access,
    accounts: Accounts,
    sessions: Sessions,
    limits: Limits,
    web: Web,
  },
  wants: { mail: Mail },
  provides: { twoFactor: TwoFactor },
  hooks: [twoFactorChanged, twoFactorRefused],
  settings: twoFactorSettings,
  commands,
  setup({ data, clock, secrets, environment, settings, http, access, accounts, sessions, limits, web, mail }, plugin) {
    const emails = { accounts, environment, web, mail };
    const service = new TwoFactorService({
      data,
      clock,
      secrets,
      changed: async (what) => {
        await plugin.emit(twoFactorChanged, what);
        await notifyOwner(emails, what.account, what.event);
      },
      warn: (accountId, failures) => warnOwner(emails, accountId, failures),
    });
    const verifier = new CodeVerifier({
      limits,
      service,
      settings: plugin.settings,
      refused: ({ id, address }) => plugin.emit(twoFactorRefused, { account: id, address }),
    });
    plugin.extend(sealedStores, service);
    plugin.extend(staffRequirements, {
      code: 'second_factor_needed',
      message: 'Your group requires two-factor login: set it up to do this',
      path: PAGE,
      unmet: async (id) => plugin.settings['two_factor.required_for_staff'] && !(await service.enabled(id)),
    });
    plugin.on(settingsSaving, async (problems, { actor, changes }) => {
      const key = 'two_factor.required_for_staff';
      if (changes[key] !== true || actor === undefined || (await service.enabled(actor))) return problems;
      return [
        ...problems,
        { field: key, message: 'would lock you out: set up two-factor login for your own account first' },
      ];
    });
    // After a password reset by mail: an attacker who guesses codes does not have the new password.
    plugin.extend(accountChangeListeners, {
      changed: async (what, { id }) => (what === 'reset' ? service.endWait(id) : undefined),
    });
    addAuditRules(plugin);
    addSettingsPages(plugin, { service, verifier, http, settings, web });
    addAdminPages(plugin, { service, access, accounts, web });
    addLoginPages(plugin, { service, verifier, sessions, http });
    plugin.extend(personalData, twoFactorData(data, service));
    return { twoFactor: service };
  },
});
