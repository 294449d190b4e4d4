import { Clock, Data, definePlugin, Environment, Hooks, sealedStores, Secrets, Settings, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Admin } from 'parley-forum/plugins/admin';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { Notifications } from 'parley-forum/ports/notifications';
import { LAST, personalData } from 'parley-forum/ports/personal-data';
import { Protection } from 'parley-forum/plugins/protection';
import { Web } from 'parley-forum/plugins/web';
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
import { DeliveryAttempts } from './delivery/delivery-attempts.ts';
import { addAuditRules } from './audit-rules.ts';
import { createCategoryLookup } from './events/category-lookup.ts';
import { subscribeToEvents } from './events/event-subscriber.ts';
import { FanOut } from './events/fan-out.ts';
import { DeliveryHistory } from './history/history.ts';
import { addHistoryPages } from './history/pages.ts';
import { addWebhookPages } from './pages.ts';
import { addStatisticsPages } from './statistics/pages.ts';
import { deliveriesData } from './personal-data.ts';
import { Deliverer } from './delivery/deliverer.ts';
import { DeliveryQueue, type DeliveryJob } from './delivery/delivery-queue.ts';
import { InboundWebhooks } from './inbound.ts';
import { Sender } from './delivery/sender.ts';
import { settings as schema } from './settings.ts';
import { Statistics } from './statistics/statistics.ts';
import { notifyWhenDisabled } from './disabled-notifications.ts';
import { deleteOldDeliveries } from './history/cleanup.ts';
import { WebhookStore } from './webhook-store.ts';

/** Maximum numbers of concurrent requests from one process, and from all processes to one webhook. */
const MAX_REQUESTS = { process: 512, webhook: 4 };

export default definePlugin({
  id: 'webhooks',
  name: 'Webhooks',
  version: '1.0.0',
  description: 'Sends events to other services, and receives webhooks from them.',
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
  wants: { admin: Admin, web: Web, notifications: Notifications, categories: Categories, discussions: Discussions },
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
      web,
      notifications,
      categories,
      discussions,
    },
    plugin,
  ) {
    const own = plugin.settings;
    const job = plugin.job<DeliveryJob>('deliver', {
      schema: Type.Object({ webhook: Type.String() }),
      key: ({ webhook }) => webhook,
      perKey: MAX_REQUESTS.webhook,
      limit: MAX_REQUESTS.process,
      external: true,
      run: (payload, delivery): Promise<void> => deliverer.run(payload, delivery),
    });
    const guard = protection.urlGuard({
      allowedHosts: environment.allowedHosts,
      allowedPorts: environment.allowedPorts,
      variables: { hosts: 'WEBHOOKS_ALLOWED_HOSTS', ports: 'WEBHOOKS_ALLOWED_PORTS' },
      secure: environment.production,
    });
    const attempts = new DeliveryAttempts({
      clock,
      secrets,
      sender: new Sender(guard),
      version: environment.version,
      service: () => own['site.service_name'],
      delays: () => own['webhooks.retry_delays'],
      jitter: () => own['webhooks.retry_jitter'],
    });
    const queue = new DeliveryQueue({ data, clock, job, attempts: () => own['webhooks.retry_delays'].length + 1 });
    const webhooks = new WebhookStore({ data, clock, secrets, queue, plugin });
    const deliverer = new Deliverer({ data, clock, queue, attempts, webhooks, job });
    const fanOut = new FanOut({ data, queue, findCategories: createCategoryLookup(access, discussions) });
    const history = new DeliveryHistory({ data, clock, queue, webhooks, attempts, job });
    const inbound = new InboundWebhooks({ plugin, data, clock, protection });

    plugin.extend(sealedStores, webhooks);
    addAuditRules(plugin);
    subscribeToEvents(plugin, hooks, (raised) => fanOut.add(raised));
    plugin.extend(personalData, deliveriesData(data), LAST);
    plugin.job('revive', { schema: Type.Object({}), cron: '*/10 * * * *', run: () => queue.restoreJobs() });
    plugin.job('tidy', {
      schema: Type.Object({}),
      cron: '13 3 * * *',
      run: async () => {
        await deleteOldDeliveries({ data, clock, signal: plugin.signal }, own['webhooks.history_days']);
        await inbound.deleteOldIds();
      },
    });
    if (notifications) notifyWhenDisabled(plugin, { access, accounts, notifications });
    if (!admin || !web) return;
    const services = {
      plugin,
      data,
      admin,
      web,
      access,
      settings,
      hooks,
      guard,
      webhooks,
      history,
      statistics: new Statistics({ data, clock }),
      categories,
    };
    addWebhookPages(services);
    addHistoryPages(services);
    addStatisticsPages(services);
  },
});
