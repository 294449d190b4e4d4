import { Cache, Clock, Data, definePlugin, Environment, Http, Secrets, Type } from '#core';
import { Access } from '#plugins/access';
import { Accounts, accountTag, Csrf, mailDomainAccepted, manageAccounts, profileTabs, seeAddresses, Sessions, userChanged, userFields, userRegistered } from '#plugins/accounts';
import { eventRules } from '#plugins/events';
import { Limits } from '#plugins/limits';
import { commands } from './commands.ts';
import { Cookies } from './cookies.ts';
import { CsrfService } from './csrf.ts';
import { AccountEntity } from './entities.ts';
import { registrationRule } from './event-rules.ts';
import { Forms } from './forms.ts';
import { Honeypot } from './honeypot.ts';
import { Logins } from './login.ts';
import { takesMail } from './mail-domain.ts';
import { addPages } from './pages.ts';
import { Passwords } from './passwords.ts';
import { addProfile } from './profile.ts';
import { UserRecords } from './records.ts';
import { Registration } from './registration.ts';
import { addRoutes } from './routes.ts';
import { AccountsService } from './service.ts';
import { DatabaseSessions, RedisSessions } from './session-store.ts';
import { SessionsService } from './sessions.ts';
import { addSettingsPages } from './settings-pages.ts';
import { accountSettings } from './settings.ts';

export default definePlugin({
  id: 'accounts',
  name: 'Accounts',
  version: '1.0.0',
  description: 'Registration, login, sessions, API tokens and profiles.',
  needs: { data: Data, cache: Cache, clock: Clock, http: Http, secrets: Secrets, environment: Environment, access: Access, limits: Limits },
  provides: { accounts: Accounts, sessions: Sessions, csrf: Csrf },
  hooks: [userRegistered, userChanged, mailDomainAccepted],
  extensionPoints: [userFields, profileTabs],
  permissions: [seeAddresses, manageAccounts],
  settings: accountSettings,
  entities: [AccountEntity],
  commands,
  setup({ data, cache, clock, http, secrets, environment, access, limits }, plugin) {
    const { settings, log } = plugin;
    const { baseUrl } = environment;
    const passwords = new Passwords(settings);
    const accounts = new AccountsService({
      data, cache, clock, access, passwords,
      registered: (user) => plugin.emit(userRegistered, { user }),
      changed: (id) => plugin.emit(userChanged, { id }),
    });
    plugin.on(userChanged, ({ id }) => cache.purge(accountTag(id)));
    plugin.extend(eventRules, registrationRule(data));

    const store = cache.redis ? new RedisSessions({ redis: cache.redis, clock, prefix: 'session:' }) : new DatabaseSessions({ data, cache, clock });
    if (store instanceof DatabaseSessions) plugin.job('clean-sessions', { schema: Type.Object({}), cron: '17 * * * *', run: async () => void (await store.clean()) });
    const cookies = new Cookies(http, baseUrl);
    const sessions = new SessionsService({ store, accounts, access, clock, http, cookies, secrets, settings, log });
    const csrf = new CsrfService({ secrets, cookies, baseUrl });

    const honeypot = new Honeypot(secrets, clock);
    const registration = new Registration({
      accounts, limits, honeypot, settings,
      takesMail: async (domain) => (await plugin.query(mailDomainAccepted, { domain })) ?? takesMail(domain, { log }),
    });
    const logins = new Logins({ accounts, passwords, limits, settings, log });
    const users = new UserRecords({ data, access, fields: () => plugin.extensions(userFields) });
    const forms = new Forms(passwords, honeypot);
    addRoutes(plugin, users);
    addPages(plugin, { sessions, csrf, logins, registration, users, forms, http, environment });
    addSettingsPages(plugin, { accounts, sessions, logins, forms, http });
    addProfile(plugin, users);
    return { accounts, sessions, csrf };
  },
});
