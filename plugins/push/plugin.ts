import { Clock, Data, definePlugin, Environment, Http, sealedStores, Secrets, Settings } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import {
  Accounts,
  browserListeners,
  groupChanged,
  passwordChanged,
  Sessions,
  sessionsRevoked,
  statusChanged,
  tokenIssued,
  tokenRevoked,
  tokenStores,
} from 'parley-forum/plugins/accounts';
import { Notifications } from 'parley-forum/ports/notifications';
import { personalData } from 'parley-forum/ports/personal-data';
import { Protection } from 'parley-forum/plugins/protection';
import { Web } from 'parley-forum/plugins/web';
import { BrowserCookie } from './browser-cookie.ts';
import { DeviceStore } from './device-store.ts';
import { devicesData } from './personal-data.ts';
import { addPushJobs } from './push-jobs.ts';
import { addRoutes } from './routes.ts';
import { Sender } from './sender.ts';
import { addSettingsPanel } from './settings-panel.ts';
import { VapidKeyStore } from './vapid-keys.ts';
import { serveWorker } from './worker-surface.ts';

export default definePlugin({
  id: 'push',
  name: 'Push notifications',
  version: '1.0.0',
  description: 'Notifications reach members’ phones and computers while the forum is not open.',
  needs: {
    data: Data,
    clock: Clock,
    http: Http,
    secrets: Secrets,
    settings: Settings,
    environment: Environment,
    access: Access,
    accounts: Accounts,
    sessions: Sessions,
    protection: Protection,
    notifications: Notifications,
    web: Web,
  },
  async setup(
    { data, clock, http, secrets, settings, environment, access, accounts, sessions, protection, notifications, web },
    plugin,
  ) {
    const guard = protection.urlGuard({
      allowedHosts: environment.pushHosts,
      allowedPorts: [443],
      variables: { hosts: 'PUSH_ALLOWED_HOSTS' },
      secure: true,
    });
    const keys = new VapidKeyStore({ data, secrets });
    // Before the first request for a page, which must not change anything.
    await keys.keys();
    const devices = new DeviceStore({ data, clock, secrets });
    const cookie = new BrowserCookie(http);
    const sender = new Sender({ guard, environment, keys: () => keys.keys() });

    for (const store of [keys, devices]) plugin.extend(sealedStores, store);
    plugin.extend(tokenStores, devices);
    plugin.extend(personalData, devicesData(devices));
    plugin.extend(browserListeners, {
      async loggedIn(req, accountId, { id: session }) {
        const id = cookie.read(req);
        if (id !== undefined) await devices.continueIn(id, accountId, session);
      },
      async loggedOut(req, res, session) {
        const id = cookie.read(req);
        if (id !== undefined) {
          cookie.clear(req, res);
          await devices.forget(id);
        }
        // Whoever else used the session may have added a device, too.
        const account = sessions.accountOf(req);
        if (session && account) await devices.endSession(account.id, session.id);
      },
    });
    // Awaited, so that nothing is sent after the page says that the access has ended.
    const awaited = { awaited: true } as const;
    plugin.on(
      sessionsRevoked,
      async ({ id, which, session }) => {
        if (which === 'one') await devices.endSession(id, session);
        if (which !== 'others') return;
        await devices.endSessionsExcept(id, session);
        await devices.endPrograms(id);
      },
      awaited,
    );
    plugin.on(passwordChanged, ({ id, session }) => devices.endSessionsExcept(id, session), awaited);
    // A new token replaces the one before.
    for (const changed of [tokenIssued, tokenRevoked]) plugin.on(changed, ({ id }) => devices.endPrograms(id), awaited);
    plugin.on(statusChanged, ({ id, to }) => (to === 'active' ? undefined : devices.revokeAll(id)), awaited);
    plugin.on(
      groupChanged,
      ({ id, to }) => (access.group(to)?.level === 'banned' ? devices.revokeAll(id) : undefined),
      awaited,
    );
    addPushJobs(plugin, { accounts, devices, notifications, sender, settings });
    addRoutes(plugin, { sessions, devices, keys, cookie, guard });
    addSettingsPanel(plugin, { devices, keys, sessions, web });
    serveWorker(plugin, { http, protection, settings, web });
  },
});
