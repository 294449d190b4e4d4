import { createId, sql, ZERO_ID, type Clock, type Data, type Job } from 'parley-forum';
import type { WebhookSecrets } from '../signatures.ts';

/** Minutes after which a pending delivery is checked in case its job was lost. */
const OVERDUE = 10;
/** Number of overdue deliveries checked in one transaction. */
const PAGE = 1_000;

/** The stored data of a delivery's job. The webhook's id is the key of the job. */
export interface DeliveryJob {
  readonly webhook: string;
}
export interface DeliveryQueueDeps {
  readonly data: Data;
  readonly clock: Clock;
  /** Maximum number of attempts per delivery. */
  readonly attempts: () => number;
  readonly job: Job<DeliveryJob>;
}
export interface NewDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
}
/** The URL and secrets with which a webhook is sent. */
export interface Endpoint extends WebhookSecrets {
  readonly url: string;
}
/** An attempt to be made. */
export interface Attempt {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly body: string;
  readonly attempt: number;
  readonly attempts: number;
}
/** An attempt whose job has started. */
export interface DueAttempt extends Attempt {
  readonly endpoint: Endpoint;
}
interface PendingRow extends Attempt, Endpoint {
  readonly job: string;
  readonly status: string;
  readonly active: boolean;
}

/**
 * Pending deliveries. Each has one job for all its attempts, which is stored and removed in the same transactions as
 * the delivery; the jobs of a webhook have its id as their key.
 */
export class DeliveryQueue {
  readonly #deps: DeliveryQueueDeps;

  constructor(deps: DeliveryQueueDeps) {
    this.#deps = deps;
  }

  /**
   * Joins the current transaction. Deliveries to deleted or disabled webhooks are skipped. Resolves to the number of
   * deliveries added.
   */
  async add(deliveries: readonly NewDelivery[]): Promise<number> {
    const { data, clock, attempts, job } = this.#deps;
    if (deliveries.length === 0) return 0;
    return data.transaction(async () => {
      const rows = await Promise.all(
        deliveries.map(async (delivery) => ({
          ...delivery,
          id: createId(clock.now()),
          job: await job.add({ webhook: delivery.webhookId }),
        })),
      );
      // The lock prevents the webhooks from being deleted before the commit, but allows any other change.
      const added = await data.all(sql`
        with open as materialized (select id from webhook where active
            and id = any(${[...new Set(deliveries.map(({ webhookId }) => webhookId))]}::uuid[])
          order by id for key share)
        insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts, job, created_at)
        select d.id, d."webhookId", d."eventId", d.event, 'pending', 1, ${attempts()}::integer, d.job,
          ${new Date(clock.now())}
        from open w join json_to_recordset(${JSON.stringify(rows)}::json) as d(id uuid, "webhookId" uuid,
            "eventId" uuid, event text, job uuid)
          on d."webhookId" = w.id order by d.id returning 1`);
      return added.length;
    });
  }

  /**
   * The attempts to be made by these jobs, by job id. A further attempt gets a row of its own here. Jobs whose delivery
   * was cancelled or deleted are missing.
   */
  async begin(jobs: readonly string[]): Promise<ReadonlyMap<string, DueAttempt>> {
    const rows = await this.#deps.data.all(sql<PendingRow>`
      select d.id, d.webhook_id as "webhookId", d.event_id as "eventId", d.event, e.body, d.attempt, d.attempts,
        d.status, d.job,
        w.url, w.secret, w.old_secrets as "oldSecrets", w.active
      from webhook_delivery d join webhook_event e on e.id = d.event_id join webhook w on w.id = d.webhook_id
      where d.job = any(${jobs}::uuid[]) order by d.id`);
    // These were added while their webhook was being switched off.
    const closed = new Set(rows.filter(({ active }) => !active).map(({ webhookId }) => webhookId));
    for (const webhookId of closed) await this.cancel(webhookId);
    const open = rows.filter(({ active }) => active);
    const again = await this.#nextAttempts(open.filter(({ status }) => status === 'retrying'));
    const due = [...open.filter(({ status }) => status !== 'retrying'), ...again];
    return new Map(
      due.map(({ url, secret, oldSecrets, job, ...attempt }) => [
        job,
        { ...attempt, endpoint: { url, secret, oldSecrets } },
      ]),
    );
  }

  /** Makes pending deliveries of these webhooks and events due now. Joins the current transaction. */
  async hasten(deliveries: readonly NewDelivery[]): Promise<readonly NewDelivery[]> {
    const { data, job } = this.#deps;
    return data.transaction(async () => {
      const pending = await data.all(sql<NewDelivery & { readonly job: string }>`
        select d.webhook_id as "webhookId", d.event_id as "eventId", d.event, d.job from webhook_delivery d
        join json_to_recordset(${JSON.stringify(deliveries)}::json) as f("webhookId" uuid,
            "eventId" uuid) on d.webhook_id = f."webhookId" and d.event_id = f."eventId"
        where d.job is not null order by d.id`);
      for (const { webhookId, job: id } of pending) await job.add({ webhook: webhookId }, { id });
      return pending;
    });
  }

  /** Cancels all pending deliveries. Joins the current transaction. */
  async cancel(webhookId: string): Promise<void> {
    const { data, job } = this.#deps;
    await data.transaction(async () => {
      await data.all(sql`update webhook_delivery
        set job = null, next_attempt_at = null, status = case status when 'pending' then 'disabled' else 'failed' end
        where webhook_id = ${webhookId} and job is not null`);
      await job.cancelKey(webhookId);
    });
  }

  /** Resumes deliveries immediately and in parallel, regardless of earlier failures. Joins the current transaction. */
  resume(webhookId: string): Promise<void> {
    return this.#deps.job.resume(webhookId);
  }

  /**
   * Recreates jobs of overdue deliveries that were lost, for example by restoring a backup, or that have failed
   * permanently.
   */
  async restoreJobs(): Promise<void> {
    const { data, clock, job } = this.#deps;
    const late = new Date(clock.now() - OVERDUE * 60_000);
    const page = (after: string): Promise<readonly { readonly id: string }[]> =>
      data.transaction(async () => {
        const rows = await data.all(sql<{ id: string; webhook: string; job: string }>`
          select id, webhook_id as webhook, job from webhook_delivery where job is not null
            and id > ${after} and coalesce(next_attempt_at, created_at) < ${late}
          order by id limit ${PAGE}`);
        for (const { webhook, job: id } of rows) await job.add({ webhook }, { id });
        return rows;
      });
    for (let last: string | undefined = ZERO_ID; last !== undefined;) {
      const rows = await page(last);
      last = rows.length < PAGE ? undefined : rows.at(-1)!.id;
    }
  }

  /** Adds a row for each further attempt when it starts. */
  async #nextAttempts(rows: readonly PendingRow[]): Promise<readonly PendingRow[]> {
    if (rows.length === 0) return [];
    const { data, clock } = this.#deps;
    const next = rows.map((row) => ({ ...row, id: createId(clock.now()), before: row.id, attempt: row.attempt + 1 }));
    const made = await data.all(sql<{ id: string }>`
      with own as materialized (select id from webhook
          where id = any(${[...new Set(rows.map(({ webhookId }) => webhookId))]}::uuid[]) order by id for key share),
      before as (
        update webhook_delivery d set job = null
        from own cross join json_to_recordset(${JSON.stringify(next.map(({ id, before, job }) => ({ id, before, job })))}::json) as r(id uuid, before uuid, job uuid)
        where d.id = r.before and d.webhook_id = own.id and d.job = r.job
        returning r.id as fresh, r.job as moved, d.webhook_id, d.event_id, d.event, d.attempt, d.attempts
      ) insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts, job, created_at)
        select fresh, webhook_id, event_id, event, 'pending', attempt + 1, attempts, moved,
          ${new Date(clock.now())} from before order by fresh returning id`);
    const ids = new Set(made.map(({ id }) => id));
    return next.filter(({ id }) => ids.has(id));
  }
}
