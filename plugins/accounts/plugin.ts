import { Cache, Clock, Data, definePlugin, Environment, Cluster, Http, Secrets, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import {
  accountNotices,
  Accounts,
  accountsTag,
  accountTag,
  Csrf,
  editProfile,
  emailConfirmations,
  lastSeenRules,
  loginSteps,
  mailDomainAccepted,
  manageAccounts,
  profileTabs,
  seeAddresses,
  sessionNotices,
  Sessions,
  staffDemands,
  tokenStores,
  userChanged,
  userFields,
  userRegistered,
} from 'parley-forum/plugins/accounts';
import { eventRules } from 'parley-forum/plugins/events';
import { Limits } from 'parley-forum/plugins/limits';
import { personalData } from 'parley-forum/plugins/privacy';
import { addAuditRules, auditedHooks } from './audit-rules.ts';
import { commands } from './commands.ts';
import { addConfirmPages } from './login/confirm-pages.ts';
import { Cookies } from './sessions/cookies.ts';
import { CsrfService } from './sessions/csrf.ts';
import { DatabaseSessions } from './sessions/database-session-store.ts';
import { AccountEntity } from './accounts/entity.ts';
import { Entrance } from './login/login-flow.ts';
import { registrationRule } from './profiles/event-rules.ts';
import { Forms } from './forms.ts';
import { hashing } from './passwords/hash-cost.ts';
import { HeldSessions } from './sessions/session-cache.ts';
import { Honeypot } from './registration/honeypot.ts';
import { Logins } from './login/authenticator.ts';
import { takesMail } from './registration/mail-domain.ts';
import { OwnSessions } from './sessions/account-sessions.ts';
import { addPages } from './login/pages.ts';
import { PasswordHasher } from './passwords/password-hasher.ts';
import { Passwords } from './passwords/passwords.ts';
import { accountData } from './personal-data.ts';
import { addProfile } from './profiles/profile-pages.ts';
import { UserRecords } from './profiles/user-records.ts';
import { RedisSessions } from './sessions/redis-session-store.ts';
import { Registration } from './registration/registration.ts';
import { addRoutes } from './profiles/routes.ts';
import { AccountsService } from './accounts/service.ts';
import { addSessionPages } from './sessions/session-pages.ts';
import { SessionRules } from './sessions/session-rules.ts';
import { addSettingsPages } from './settings-pages.ts';
import { accountSettings } from './settings.ts';
import { ApiTokens } from './api-tokens.ts';
import { WaitingLogins } from './login/pending-logins.ts';

export default definePlugin({
  id: 'accounts',
  name: 'Accounts',
  version: '1.0.0',
  description: 'Registration, login, sessions, API tokens and profiles.',
  needs: {
    data: Data,
    cache: Cache,
    cluster: Cluster,
    clock: Clock,
    http: Http,
    secrets: Secrets,
    environment: Environment,
    access: Access,
    limits: Limits,
  },
  provides: { accounts: Accounts, sessions: Sessions, csrf: Csrf },
  hooks: [userChanged, mailDomainAccepted, ...auditedHooks],
  extensionPoints: [
    userFields,
    lastSeenRules,
    profileTabs,
    emailConfirmations,
    loginSteps,
    accountNotices,
    tokenStores,
    sessionNotices,
    staffDemands,
  ],
  permissions: [seeAddresses, manageAccounts, editProfile],
  settings: accountSettings,
  entities: [AccountEntity],
  commands,
  setup({ data, cache, cluster, clock, http, secrets, environment, access, limits }, plugin) {
    const { settings, log, emit } = plugin;
    const { baseUrl } = environment;
    const hasher = new PasswordHasher();
    plugin.defer(hasher.close);
    const passwords = new Passwords({ data, clock, settings: hashing(settings, environment, log), hasher });
    const notices = () => plugin.extensions(accountNotices).map(({ value }) => value);
    const accounts = new AccountsService({
      data,
      cache,
      clock,
      access,
      passwords,
      emit,
      notices,
      tokenStores: () => plugin.extensions(tokenStores).map(({ value }) => value),
    });
    plugin.on(userChanged, ({ id }) => cache.purge(accountTag(id), accountsTag), { awaited: true });
    plugin.on(userRegistered, () => cache.purge(accountsTag), { awaited: true });
    plugin.extend(eventRules, registrationRule(data));
    addAuditRules(plugin);

    const held = new HeldSessions(clock, cluster);
    plugin.defer(held.stop);
    const store = cache.redis
      ? new RedisSessions({ redis: cache.redis, clock, held })
      : new DatabaseSessions({ data, cache, clock });
    const cookies = new Cookies(http, baseUrl);
    const csrf = new CsrfService({ secrets, cookies, baseUrl, log });
    const users = new UserRecords({
      data,
      access,
      fields: () => plugin.extensions(userFields),
      lastSeenRules: () => plugin.extensions(lastSeenRules),
    });
    const tokens = new ApiTokens({ data, cache, clock, accounts, emit });
    plugin.extend(tokenStores, tokens);
    const rules = new SessionRules({ clock, http, settings });
    const own = new OwnSessions({ store, rules, cache });
    const waiting = new WaitingLogins({ data, clock, cookies });
    const steps = () => plugin.extensions(loginSteps).map(({ value }) => value);
    const sessions = new Entrance({
      store,
      own,
      rules,
      accounts,
      tokens,
      access,
      clock,
      http,
      cookies,
      secrets,
      emit,
      log,
      waiting,
      csrf,
      users,
      steps,
      notices: () => plugin.extensions(sessionNotices).map(({ value }) => value),
      demands: () => plugin.extensions(staffDemands).map(({ value }) => value),
    });
    plugin.job('clean-sessions', {
      schema: Type.Object({}),
      cron: '17 * * * *',
      run: async () => {
        await waiting.clean();
        if (store instanceof DatabaseSessions) await store.clean();
      },
    });

    const honeypot = new Honeypot(secrets, clock);
    const confirmation = () =>
      plugin
        .extensions(emailConfirmations)
        .map(({ value }) => value)
        .find((one) => one.required());
    const registration = new Registration({
      accounts,
      limits,
      honeypot,
      settings,
      confirmation,
      takesMail: async (domain) => (await plugin.query(mailDomainAccepted, { domain })) ?? takesMail(domain, { log }),
    });
    const logins = new Logins({ accounts, passwords, limits, settings, emit, log });
    const forms = new Forms(passwords, honeypot);
    addRoutes(plugin, users, clock);
    addPages(plugin, { sessions, csrf, logins, registration, forms, http, environment });
    addConfirmPages(plugin, { accounts, sessions, logins, forms, http, environment, steps });
    addSettingsPages(plugin, { access, accounts, sessions, tokens, logins, forms, http, confirmation });
    addSessionPages(plugin, { accounts, sessions, own, forms });
    addProfile(plugin, users, accounts);
    plugin.extend(personalData, accountData({ data, accounts, own }));
    return { accounts, sessions, csrf };
  },
});
