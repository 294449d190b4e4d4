import { Cache, Clock, Data, definePlugin, Environment, Cluster, Http, Secrets, Settings, Type } from 'parley-forum';
import { figures } from 'parley-forum/plugins/admin';
import { Access, isGuest } from 'parley-forum/plugins/access';
import {
  accountChangeListeners,
  Accounts,
  accountsTag,
  accountTag,
  browserListeners,
  Csrf,
  editProfile,
  emailConfirmations,
  lastSeenRules,
  loginMethods,
  loginSteps,
  languageOffered,
  mailDomainAccepted,
  manageAccounts,
  profileTabs,
  Registrations,
  seeAddresses,
  logoutNotices,
  Sessions,
  staffRequirements,
  tokenStores,
  userChanged,
  userFields,
  userRegistered,
} from 'parley-forum/plugins/accounts';
import { eventRules } from 'parley-forum/ports/events';
import { Limits } from 'parley-forum/plugins/limits';
import { personalData } from 'parley-forum/ports/personal-data';
import { bodyStart, composerCompletion, fill, html, slotFillings } from 'parley-forum/plugins/web';
import { suggestionSources } from 'parley-forum/ports/suggestions';
import { addAuditRules, auditedHooks } from './audit-rules.ts';
import { commands } from './commands.ts';
import { addConfirmPages } from './login/confirm-pages.ts';
import { Cookies } from './sessions/cookies.ts';
import { CsrfService } from './sessions/csrf.ts';
import { DatabaseSessionStore } from './sessions/database-session-store.ts';
import { AccountEntity } from './accounts/entity.ts';
import { LoginFlow } from './login/login-flow.ts';
import { registrationRule } from './profiles/event-rules.ts';
import { Forms } from './forms.ts';
import { passwordSettings } from './passwords/hash-cost.ts';
import { SessionCache } from './sessions/session-cache.ts';
import { Honeypot } from './registration/honeypot.ts';
import { Authenticator } from './login/authenticator.ts';
import { acceptsMail } from './registration/mail-domain.ts';
import { AccountSessions } from './sessions/account-sessions.ts';
import { addPages } from './login/pages.ts';
import { PasswordHasher } from './passwords/password-hasher.ts';
import { Passwords } from './passwords/passwords.ts';
import { accountData } from './personal-data.ts';
import { addProfile } from './profiles/profile-pages.ts';
import { memberSuggestions } from './profiles/suggestions.ts';
import { UserRecords, userSchema } from './profiles/user-records.ts';
import { RedisSessionStore } from './sessions/redis-session-store.ts';
import { Registration } from './registration/registration.ts';
import { addRoutes } from './profiles/routes.ts';
import { signUps } from './accounts/figures.ts';
import { AccountsService } from './accounts/service.ts';
import { addSessionPages } from './sessions/session-pages.ts';
import { SessionRules } from './sessions/session-rules.ts';
import { addSessionRoutes } from './sessions/session-routes.ts';
import { addSettingsPages } from './settings-pages.ts';
import { accountSettings } from './settings.ts';
import { ApiTokens } from './api-tokens.ts';
import { PendingLogins } from './login/pending-logins.ts';

export default definePlugin({
  id: 'accounts',
  name: 'Accounts',
  version: '2.0.0',
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
    allSettings: Settings,
  },
  provides: { accounts: Accounts, sessions: Sessions, registrations: Registrations, csrf: Csrf },
  hooks: [userChanged, mailDomainAccepted, languageOffered, ...auditedHooks],
  extensionPoints: [
    userFields,
    lastSeenRules,
    profileTabs,
    emailConfirmations,
    loginSteps,
    loginMethods,
    accountChangeListeners,
    tokenStores,
    logoutNotices,
    browserListeners,
    staffRequirements,
  ],
  permissions: [seeAddresses, manageAccounts, editProfile],
  settings: accountSettings,
  entities: [AccountEntity],
  commands,
  setup({ data, cache, cluster, clock, http, secrets, environment, access, limits, allSettings }, plugin) {
    const { settings, log, emit } = plugin;
    const { baseUrl } = environment;
    const hasher = new PasswordHasher();
    plugin.defer(hasher.close);
    const passwords = new Passwords({ data, clock, settings: passwordSettings(settings, environment, log), hasher });
    const changeListeners = () => plugin.extensions(accountChangeListeners);
    const confirmation = () =>
      plugin
        .extensions(emailConfirmations)
        .map(({ value }) => value)
        .find((one) => one.required());
    const users = new UserRecords({
      data,
      access,
      fields: () => plugin.extensions(userFields),
      lastSeenRules: () => plugin.extensions(lastSeenRules),
      attempt: plugin.attempt,
      attemptSync: plugin.attemptSync,
    });
    const accounts = new AccountsService({
      data,
      cache,
      clock,
      access,
      passwords,
      users,
      siteName: () => String(allSettings.get('site.name') ?? ''),
      languageOffered: async (language) => (await plugin.query(languageOffered, { language })) ?? false,
      record: userSchema(() => plugin.extensions(userFields)),
      emit,
      changeListeners,
      confirmation,
      tokenStores: () => plugin.extensions(tokenStores),
      run: plugin.run,
      loginMethods: () => plugin.extensions(loginMethods).map(({ value }) => value),
      staffRequirements: () => plugin.extensions(staffRequirements).map(({ value }) => value),
    });
    plugin.on(userChanged, ({ id }) => cache.purge(accountTag(id), accountsTag), { awaited: true });
    plugin.on(userRegistered, () => cache.purge(accountsTag), { awaited: true });
    plugin.extend(eventRules, registrationRule(data));
    addAuditRules(plugin);

    const sessionCache = new SessionCache(clock, cluster);
    plugin.defer(sessionCache.stop);
    const store = cache.redis
      ? new RedisSessionStore({ redis: cache.redis, clock, cache: sessionCache })
      : new DatabaseSessionStore({ data, cache, clock });
    const cookies = new Cookies(http, baseUrl);
    const csrf = new CsrfService({ secrets, cookies, baseUrl, log });
    const tokens = new ApiTokens({ data, cache, clock, accounts, emit });
    plugin.extend(tokenStores, tokens);
    const rules = new SessionRules({ clock, http, settings });
    const accountSessions = new AccountSessions({ store, rules, cache });
    const pendingLogins = new PendingLogins({ data, clock, cookies });
    const steps = () => plugin.extensions(loginSteps).map(({ value }) => value);
    const sessions = new LoginFlow({
      store,
      accountSessions,
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
      pendingLogins,
      csrf,
      users,
      steps,
      logoutNotices: () => plugin.extensions(logoutNotices).map(({ value }) => value),
      browserListeners: () => plugin.extensions(browserListeners),
      attempt: plugin.attempt,
    });
    plugin.job('clean-sessions', {
      schema: Type.Object({}),
      cron: '17 * * * *',
      run: async () => {
        await pendingLogins.deleteExpired();
        if (store instanceof DatabaseSessionStore) await store.deleteExpired();
      },
    });

    const honeypot = new Honeypot(secrets, clock);
    const registration = new Registration({
      accounts,
      limits,
      honeypot,
      settings,
      confirmation,
      acceptsMail: async (domain) =>
        (await plugin.query(mailDomainAccepted, { domain })) ?? acceptsMail(domain, { log }),
    });
    const authenticator = new Authenticator({ accounts, passwords, limits, settings, emit, log });
    const forms = new Forms(passwords, honeypot);
    addRoutes(plugin, { access, data, users, accounts, clock });
    addPages(plugin, { sessions, csrf, authenticator, registration, forms, http, environment });
    addConfirmPages(plugin, { accounts, sessions, authenticator, forms, http, environment });
    addSettingsPages(plugin, { access, accounts, sessions, tokens, authenticator, forms, http, confirmation });
    addSessionPages(plugin, { accounts, sessions, accountSessions, forms });
    addSessionRoutes(plugin, { rules, clock });
    addProfile(plugin, users, accounts);
    const names = html`<x-complete-member data-trigger="@"></x-complete-member>`;
    plugin.extend(
      slotFillings,
      fill(composerCompletion, (places) => places.map(() => names), { shared: true }),
    );
    const watch = html`<x-session hidden data-when="form textarea"></x-session>`;
    plugin.extend(
      slotFillings,
      fill(bodyStart, (places, viewer) => places.map(() => (isGuest(viewer) ? undefined : watch)), { shared: true }),
    );
    plugin.extend(suggestionSources, memberSuggestions(data), 10);
    plugin.extend(figures, signUps(data), -10);
    plugin.extend(personalData, accountData({ data, accounts, accountSessions }));
    return { accounts, sessions, registrations: registration, csrf };
  },
});
