import { Cache, Clock, Data, definePlugin, Environment, Http, sealedStores, Secrets } from 'parley-forum';
import {
  accountChangeListeners,
  Accounts,
  loginMethods,
  passwordChanged,
  Registrations,
  Sessions,
} from 'parley-forum/plugins/accounts';
import { Admin } from 'parley-forum/plugins/admin';
import { Limits } from 'parley-forum/plugins/limits';
import { Mail } from 'parley-forum/ports/mail';
import { personalData } from 'parley-forum/ports/personal-data';
import { Protection } from 'parley-forum/plugins/protection';
import { Identities, manageProviders } from 'parley-forum/plugins/single-sign-on';
import { Web } from 'parley-forum/plugins/web';
import { addAuditRules, auditedHooks } from './audit-rules.ts';
import { commands } from './commands.ts';
import { notifyOwner } from './identities/emails.ts';
import { IdentityStore } from './identities/identity-store.ts';
import { LinkedIdentities } from './identities/linked-identities.ts';
import { identitiesData } from './identities/personal-data.ts';
import { addSettingsPages } from './identities/settings-pages.ts';
import { Attempts } from './login/attempts.ts';
import { BrowserToken } from './login/browser-token.ts';
import { addButtons } from './login/buttons.ts';
import { addLinkPages } from './login/link-pages.ts';
import { addLoginPages } from './login/pages.ts';
import { PendingIdentities } from './login/pending-identities.ts';
import { SignOn } from './login/sign-on.ts';
import { ProviderClient } from './openid/provider-client.ts';
import { addAdminPages } from './providers/admin-pages.ts';
import { ProviderCheck } from './providers/provider-check.ts';
import { ProviderStore } from './providers/provider-store.ts';
import { singleSignOnSettings } from './settings.ts';

export default definePlugin({
  id: 'single-sign-on',
  name: 'Single sign-on',
  version: '1.0.0',
  description: 'Members log in with an account at another site, by OpenID Connect.',
  needs: {
    data: Data,
    cache: Cache,
    clock: Clock,
    secrets: Secrets,
    environment: Environment,
    http: Http,
    accounts: Accounts,
    sessions: Sessions,
    registrations: Registrations,
    limits: Limits,
    protection: Protection,
    web: Web,
  },
  wants: { admin: Admin, mail: Mail },
  provides: { identities: Identities },
  hooks: [...auditedHooks],
  permissions: [manageProviders],
  settings: singleSignOnSettings,
  commands,
  setup(
    {
      data,
      cache,
      clock,
      secrets,
      environment,
      http,
      accounts,
      sessions,
      registrations,
      limits,
      protection,
      web,
      admin,
      mail,
    },
    plugin,
  ) {
    const { emit, log, settings, signal: stop } = plugin;
    const guard = protection.urlGuard({
      allowedHosts: environment.identityProviderHosts,
      allowedPorts: [443],
      variables: { hosts: 'SSO_ALLOWED_HOSTS' },
      secure: true,
    });
    const providers = new ProviderStore({ data, cache, clock, secrets, baseUrl: environment.baseUrl });
    const emails = { accounts, environment, web, mail };
    const identities = new IdentityStore({
      data,
      clock,
      accounts,
      emit,
      notify: async (accountId, event, providerId) =>
        notifyOwner(emails, accountId, event, (await providers.find(providerId))?.name ?? ''),
    });
    const linkedIdentities = new LinkedIdentities({ providers, identities });
    const browser = new BrowserToken(http);
    const attempts = new Attempts({ data, clock, browser });
    const pending = new PendingIdentities({ data, clock, browser });
    const client = new ProviderClient({ guard, stop, log });
    const signOn = new SignOn({ attempts, client, limits, http, settings, web });

    plugin.extend(sealedStores, providers);
    plugin.extend(loginMethods, identities);
    plugin.extend(personalData, identitiesData(data));
    plugin.extend(accountChangeListeners, {
      changed: async (what, { id, email }) =>
        what === 'reset' || what === 'first' ? identities.unlinkAfterReset(id, email) : undefined,
    });
    // A password set by an operator, for a member who cannot receive a link by mail; awaited, so that the command does
    // not end before.
    plugin.on(
      passwordChanged,
      async ({ id, by }) => {
        const account = by === id ? undefined : await accounts.find(id);
        if (account) await identities.unlinkAfterReset(id, account.email);
      },
      { awaited: true },
    );
    addAuditRules(plugin);
    addButtons(plugin, { providers, identities, web });
    addLoginPages(plugin, {
      accounts,
      sessions,
      providers,
      identities,
      attempts,
      pending,
      client,
      signOn,
      http,
      environment,
    });
    addLinkPages(plugin, { accounts, sessions, registrations, providers, identities, pending, http });
    addSettingsPages(plugin, { accounts, providers, identities, linkedIdentities, signOn, web });
    if (admin)
      addAdminPages(plugin, {
        data,
        admin,
        web,
        guard,
        providers,
        identities,
        check: new ProviderCheck({ client, guard, stop }),
      });
    return { identities: linkedIdentities };
  },
});
