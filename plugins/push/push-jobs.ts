import { Type, type Job, type JobDelivery, type Logger, type PluginHandle, type Settings } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { notificationsStored, type Notifications } from 'parley-forum/ports/notifications';
import type { DeviceStore, Recipient } from './device-store.ts';
import type { PushMessage, Sender, SendResult } from './sender.ts';

interface PushJob {
  readonly notification: string;
  readonly device: string;
  /** Attempts that the push service answered with “later”. */
  readonly attempts?: number;
}
export interface PushJobsDeps {
  readonly accounts: Accounts;
  readonly devices: DeviceStore;
  readonly notifications: Notifications;
  readonly sender: Sender;
  readonly settings: Settings;
}
/** Maximum number of messages that one process sends at a time. */
const MAX_REQUESTS = 32;
/**
 * Seconds for which a device gets nothing after each failure in a row, and the most that a push service can ask for. A
 * message is given up after one attempt more than there are of these.
 */
const DELAYS = [30, 300, 1_800, 7_200];
const MAX_DELAY = 6 * 3_600;

/** Sends each stored notification to the devices of its member: one job for each, stored with the notification. */
export function addPushJobs(plugin: PluginHandle, deps: PushJobsDeps): void {
  const { devices } = deps;
  const pusher = new Pusher({ ...deps, log: plugin.log, job: () => job });
  const job: Job<PushJob> = plugin.job<PushJob>('send', {
    schema: Type.Object({
      notification: Type.String(),
      device: Type.String(),
      attempts: Type.Optional(Type.Integer()),
    }),
    key: ({ device }) => device,
    perKey: 1,
    limit: MAX_REQUESTS,
    external: true,
    run: (payload, delivery) => pusher.run(payload, delivery),
  });
  plugin.on(
    notificationsStored,
    async ({ notifications }) => {
      const found = await devices.ids([...new Set(notifications.map(({ userId }) => userId))]);
      const byMember = Map.groupBy(found, ({ userId }) => userId);
      for (const { id, userId } of notifications)
        for (const device of byMember.get(userId) ?? []) await job.add({ notification: id, device: device.id });
    },
    { durable: true },
  );
  plugin.job('clean', { schema: Type.Object({}), cron: '41 4 * * *', run: () => devices.removeSilent() });
}

interface PusherDeps extends PushJobsDeps {
  readonly log: Logger;
  job(): Pick<Job<PushJob>, 'pause' | 'resume'>;
}

class Pusher {
  readonly #deps: PusherDeps;

  constructor(deps: PusherDeps) {
    this.#deps = deps;
  }

  /** Does nothing if the device was removed, or its member may no longer be told of the notification. */
  async run(job: PushJob, { signal, continueWith }: JobDelivery<PushJob>): Promise<void> {
    const { devices, sender, job: jobs } = this.#deps;
    const device = await devices.recipient(job.device);
    const message = device && (await this.#messageFor(job.notification, device));
    const result = message && (await sender.send(device.subscription, message, signal));
    const failures = result ? await this.#record(device, result) : 0;
    const { attempts = 0 } = job;
    if (result?.outcome !== 'later' || attempts === DELAYS.length) return jobs().resume(job.device);
    const delay = DELAYS[Math.min(failures, DELAYS.length) - 1] ?? 0;
    const after = Math.min(MAX_DELAY, Math.max(delay, result.retryAfter ?? 0));
    // Nothing else either, so that devices of one member that are slow to answer do not keep those of others waiting.
    await jobs().pause(job.device, after);
    await continueWith({ ...job, attempts: attempts + 1 }, { after });
  }

  /** Resolves to the number of failures in a row. */
  async #record({ id, subscription }: Recipient, { outcome, problem }: SendResult): Promise<number> {
    const { devices, log } = this.#deps;
    if (outcome === 'sent') {
      await devices.succeeded(id);
      return 0;
    }
    // Whoever knows the whole endpoint can send to the device.
    log.info({ host: new URL(subscription.endpoint).host, problem }, 'a push service did not accept a message');
    if (outcome !== 'gone') return devices.failed(id);
    await devices.forget(id);
    return 0;
  }

  async #messageFor(notification: string, { userId }: Recipient): Promise<PushMessage | undefined> {
    const { accounts, notifications, settings } = this.#deps;
    const described = await notifications.describe(notification);
    if (described?.userId !== userId) return undefined;
    const viewer = (await accounts.viewers([userId])).get(userId);
    if (!viewer || viewer.group.level === 'banned') return undefined;
    const { text, url, language } = described;
    return { title: String(settings.get('site.name') ?? ''), body: text, url, tag: notification, lang: language };
  }
}
