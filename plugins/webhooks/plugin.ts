import { Clock, Data, definePlugin, Environment, Hooks, sealedStores, Secrets, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Admin } from 'parley-forum/plugins/admin';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { Notifications } from 'parley-forum/plugins/notifications';
import { LAST, personalData } from 'parley-forum/plugins/privacy';
import { Protection } from 'parley-forum/plugins/protection';
import {
  manageWebhooks,
  webhookDeleted,
  webhookDisabled,
  webhookReceived,
  webhookRedelivered,
  webhookSaved,
  webhookSecretRotated,
  webhookTested,
} from 'parley-forum/plugins/webhooks';
import { Attempts } from './delivery/delivery-attempts.ts';
import { addAuditRules } from './audit-rules.ts';
import { categoryFinder } from './events/category-lookup.ts';
import { collect } from './events/event-subscriber.ts';
import { FanOut } from './events/fan-out.ts';
import { Guard } from './delivery/url-guard.ts';
import { History } from './history/history.ts';
import { Lanes } from './delivery/delivery-workers.ts';
import { historyPages } from './history/pages.ts';
import { listPages } from './pages.ts';
import { statisticsPages } from './statistics/pages.ts';
import { deliveriesData } from './personal-data.ts';
import { Queue } from './delivery/delivery-queue.ts';
import { Receiving } from './inbound.ts';
import { Sender } from './delivery/sender.ts';
import { settings as schema } from './settings.ts';
import { Statistics } from './statistics/statistics.ts';
import { tellWhenDisabled } from './disabled-notifications.ts';
import { tidy } from './history/cleanup.ts';
import { Webhooks } from './webhook-store.ts';

/** Lanes that begin at a time; a slow one lets the next begin after a second. */
const BEGINNING = 8;

export default definePlugin({
  id: 'webhooks',
  name: 'Webhooks',
  version: '1.0.0',
  description: 'Tells other services what happens here, and hears from them.',
  needs: {
    data: Data,
    clock: Clock,
    secrets: Secrets,
    settings: Settings,
    hooks: Hooks,
    environment: Environment,
    access: Access,
    accounts: Accounts,
    protection: Protection,
  },
  wants: { admin: Admin, notifications: Notifications, categories: Categories, discussions: Discussions },
  hooks: [
    webhookReceived,
    webhookDisabled,
    webhookSaved,
    webhookDeleted,
    webhookSecretRotated,
    webhookTested,
    webhookRedelivered,
  ],
  permissions: [manageWebhooks],
  settings: schema,
  movedSettings: {
    'webhooks.allowed_hosts': 'WEBHOOKS_ALLOWED_HOSTS',
    'webhooks.allowed_ports': 'WEBHOOKS_ALLOWED_PORTS',
  },
  async setup(
    {
      data,
      clock,
      secrets,
      settings,
      hooks,
      environment,
      access,
      accounts,
      protection,
      admin,
      notifications,
      categories,
      discussions,
    },
    plugin,
  ) {
    const own = plugin.settings;
    const job = plugin.job<{ readonly webhook: string }>('deliver', {
      schema: Type.Object({ webhook: Type.String() }),
      limit: BEGINNING,
      run: ({ webhook }): Promise<void> => lanes.run(webhook),
    });
    const guard = new Guard({
      allowedHosts: environment.allowedHosts,
      allowedPorts: environment.allowedPorts,
      secure: environment.production,
    });
    const attempts = new Attempts({
      clock,
      secrets,
      sender: new Sender(guard),
      version: environment.version,
      service: () => own['site.service_name'],
      delays: () => own['webhooks.retry_delays'],
      jitter: () => own['webhooks.retry_jitter'],
    });
    const queue = new Queue({ data, clock, job, attempts: () => own['webhooks.retry_delays'].length + 1 });
    const webhooks = new Webhooks({ data, clock, secrets, queue, plugin });
    const lanes = new Lanes({ data, clock, queue, attempts, webhooks, job, log: plugin.log, signal: plugin.signal });
    const fanOut = new FanOut({ data, queue, categoriesOf: categoryFinder(access, discussions) });
    const history = new History({ data, clock, queue, webhooks, attempts });
    const receiving = new Receiving({ plugin, data, clock, protection });

    await queue.begin();
    plugin.defer(() => lanes.end());
    plugin.extend(sealedStores, webhooks);
    addAuditRules(plugin);
    collect(plugin, hooks, (raised) => fanOut.add(raised));
    plugin.extend(personalData, deliveriesData(data), LAST);
    plugin.job('revive', { schema: Type.Object({}), cron: '*/10 * * * *', run: () => queue.revive() });
    plugin.job('tidy', {
      schema: Type.Object({}),
      cron: '13 3 * * *',
      run: async () => {
        await tidy(data, clock, own['webhooks.history_days']);
        await receiving.clean();
      },
    });
    if (notifications) tellWhenDisabled(plugin, { access, accounts, notifications });
    if (!admin) return;
    const services = {
      plugin,
      data,
      admin,
      access,
      settings,
      hooks,
      guard,
      webhooks,
      history,
      statistics: new Statistics({ data, clock }),
      categories,
    };
    listPages(services);
    historyPages(services);
    statisticsPages(services);
  },
});
