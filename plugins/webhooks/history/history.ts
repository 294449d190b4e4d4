import { createId, HttpError, notFound, sql, type Clock, type Data, type Job, type RawBuilder } from 'parley-forum';
import { decodeId, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { DeliveryRecord, Status } from 'parley-forum/plugins/webhooks';
import type { DeliveryAttempts } from '../delivery/delivery-attempts.ts';
import { saveResults } from '../delivery/delivery-results.ts';
import type { DeliveryJob, DeliveryQueue, NewDelivery } from '../delivery/delivery-queue.ts';
import type { WebhookRow, WebhookStore } from '../webhook-store.ts';

/** Maximum number of deliveries redelivered at once. */
const MAX_REDELIVERIES = 10_000;

interface DeliveryRow extends Omit<DeliveryRecord, 'next_attempt_at' | 'created_at'> {
  readonly next_attempt_at: Date | null;
  readonly created_at: Date;
}
/** One attempt with its request and response. */
export interface DeliveryDetails extends DeliveryRecord {
  readonly webhook: string;
  readonly active: boolean;
  readonly body: string;
  readonly response: string | null;
}
export interface HistoryRequest {
  readonly webhookId?: string | undefined;
  readonly status?: Status | undefined;
  readonly event?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}
/** What to redeliver: everything that was first attempted in this period and has not been delivered since. */
export interface RedeliveryRange {
  readonly webhookId?: string | undefined;
  readonly from: Date;
  readonly to: Date;
}
export interface HistoryDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly queue: DeliveryQueue;
  readonly webhooks: WebhookStore;
  readonly attempts: DeliveryAttempts;
  readonly job: Job<DeliveryJob>;
}

const COLUMNS = sql.raw(
  'd.id, d.event_id, d.webhook_id, d.event, d.status, d.attempt, d.attempts, d.response_status, d.duration_ms, d.next_attempt_at, d.error, d.created_at',
);
const recordOf = ({ next_attempt_at: next, created_at: at, ...row }: DeliveryRow): DeliveryRecord => ({
  ...row,
  next_attempt_at: next?.toISOString() ?? null,
  created_at: at.toISOString(),
});

/** The history of deliveries, and redelivery. */
export class DeliveryHistory {
  readonly #deps: HistoryDeps;

  constructor(deps: HistoryDeps) {
    this.#deps = deps;
  }

  /** Attempts, newest first. */
  async list({ webhookId, status, event, limit, offset = 0, cursor }: HistoryRequest): Promise<Page<DeliveryRecord>> {
    if (webhookId !== undefined && !isId(webhookId)) return { items: [], hasMore: false, nextCursor: undefined };
    const before = cursor === undefined ? undefined : decodeId(cursor);
    const rows = await this.#deps.data.all(sql<DeliveryRow>`select ${COLUMNS} from webhook_delivery d where true
      ${webhookId === undefined ? sql`` : sql`and d.webhook_id = ${webhookId}`} ${status === undefined ? sql`` : sql`and d.status = ${status}`}
      ${event === undefined ? sql`` : sql`and d.event = ${event}`} ${before === undefined ? sql`` : sql`and d.id < ${before}::uuid`}
      order by d.id desc limit ${limit + 1} offset ${offset}`);
    const page = pageOfRows(rows, limit, ({ id }) => [id]);
    return { ...page, items: page.items.map(recordOf) };
  }

  async find(id: string): Promise<DeliveryDetails | undefined> {
    if (!isId(id)) return undefined;
    const row = await this.#deps.data.one(sql<DeliveryRow & Omit<DeliveryDetails, keyof DeliveryRecord>>`
      select ${COLUMNS}, w.name as webhook, w.active, e.body, d.response from webhook_delivery d
      join webhook w on w.id = d.webhook_id join webhook_event e on e.id = d.event_id where d.id = ${id}`);
    return (
      row && { ...recordOf(row), webhook: row.webhook, active: row.active, body: row.body, response: row.response }
    );
  }

  /**
   * Sends a test event immediately, whether or not the webhook is switched on, and resolves when the attempt has ended.
   */
  async test({ id: webhookId, name, url, secret, oldSecrets }: WebhookRow, stop: AbortSignal): Promise<DeliveryRecord> {
    const { data, clock, webhooks, attempts } = this.#deps;
    const now = clock.now();
    const [id, eventId] = [createId(now), createId(now)];
    const [event, at] = ['webhook.test', new Date(now)];
    const body = JSON.stringify({
      id: eventId,
      event,
      timestamp: at.toISOString(),
      data: { webhook: { id: webhookId, name } },
    });
    await data.transaction(async () => {
      await data.all(
        sql`insert into webhook_event (id, event, body, created_at) values (${eventId}, ${event}, ${body}, ${at})`,
      );
      await data.all(sql`insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts,
        created_at)
        values (${id}, ${webhookId}, ${eventId}, ${event}, 'pending', 1, 1, ${at})`);
    });
    const result = await attempts.make(
      { url, secret, oldSecrets },
      { id, webhookId, eventId, event, body, attempt: 1, attempts: 1 },
      stop,
    );
    await saveResults(this.#deps, [result]);
    if (result.status === 'disabled') await webhooks.disable(webhookId, 'gone');
    return (await this.find(id)) ?? Promise.reject(notFound('The webhook was deleted in the meantime'));
  }

  /** Sends an event to the same webhook again; if a retry is pending, that is made immediately. */
  async redeliver(deliveryId: string): Promise<number> {
    const { data } = this.#deps;
    const found = await this.find(deliveryId);
    if (!found) throw notFound('There is no such delivery');
    if (!found.active) throw new HttpError(409, 'The webhook is switched off; switch it on first');
    return data.transaction(() =>
      this.#requeue(sql`d.event_id = ${found.event_id} and d.webhook_id = ${found.webhook_id}`),
    );
  }

  /** Redelivers everything that was not delivered, at most 10,000 deliveries at a time. */
  async redeliverAll({ webhookId, from, to }: RedeliveryRange): Promise<number> {
    if (webhookId !== undefined && !isId(webhookId)) throw notFound('There is no such webhook');
    const own = webhookId === undefined ? sql`` : sql`and d.webhook_id = ${webhookId}`;
    return this.#deps.data.transaction(() =>
      this.#requeue(sql`d.created_at >= ${from} and d.created_at <= ${to} ${own} and not exists (
      select 1 from webhook_delivery o where o.event_id = d.event_id and o.webhook_id = d.webhook_id
        and o.status = 'delivered')`),
    );
  }

  /** Makes pending deliveries due now, and adds the others. */
  async #requeue(condition: RawBuilder<unknown>): Promise<number> {
    const { data, queue } = this.#deps;
    const found = await data.all(sql<NewDelivery>`
      select d.webhook_id as "webhookId", d.event_id as "eventId", d.event from webhook_delivery d
      join webhook w on w.id = d.webhook_id and w.active
      where ${condition} group by d.webhook_id, d.event_id, d.event
      order by d.event_id, d.webhook_id limit ${MAX_REDELIVERIES}`);
    // If two requests ask for the same at once, the second one sees what the first one added.
    await data.all(
      sql`select 1 from webhook where id = any(${[...new Set(found.map(({ webhookId }) => webhookId))]}::uuid[])
        order by id for no key update`,
    );
    const pending = await queue.hasten(found);
    const known = new Set(pending.map(({ webhookId, eventId }) => `${webhookId} ${eventId}`));
    const added = await queue.add(found.filter(({ webhookId, eventId }) => !known.has(`${webhookId} ${eventId}`)));
    return known.size + added;
  }
}
