import { sql, type Clock, type Data, type Job } from 'parley-forum';
import type { Status } from 'parley-forum/plugins/webhooks';
import type { DeliveryJob } from './delivery-queue.ts';

/** Number of consecutive failures after which a webhook is paused. */
const MAX_FAILURES = 4;
/** Seconds of a pause, so that a dead receiver takes next to nothing from the others. */
const PAUSE = 0.25;

/** The result of an attempt, as stored. */
export interface DeliveryResult {
  readonly id: string;
  readonly webhookId: string;
  readonly status: Status;
  /** Seconds until the next attempt, and its time. */
  readonly delay?: number;
  readonly next?: Date;
  readonly responseStatus: number | undefined;
  readonly durationMs: number;
  readonly error: string | undefined;
  readonly response: string | undefined;
}
/** The state of a webhook after results were stored. */
export interface WebhookHealth {
  readonly id: string;
  readonly active: boolean;
  /** Since when no delivery has succeeded. */
  readonly failingSince: Date | null;
}
interface HealthRow extends WebhookHealth {
  /** Failures since the last success, after and before these results. */
  readonly failures: number;
  readonly before: number;
}
export interface ResultsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly job: Job<DeliveryJob>;
}

/**
 * Stores the results of attempts, latest last, and pauses webhooks with nothing but failures: these get one attempt at
 * a time until one succeeds. Joins the current transaction. Resolves to the webhooks, in order of their ids.
 */
export async function saveResults(
  { data, clock, job }: ResultsDeps,
  results: readonly DeliveryResult[],
): Promise<readonly WebhookHealth[]> {
  const now = new Date(clock.now());
  return data.transaction(async () => {
    // Webhooks are locked before their deliveries and in order, to avoid deadlocks.
    const rows = await data.all(sql<HealthRow>`
      with o as materialized (
        select * from rows from (json_to_recordset(${JSON.stringify(results)}::json) as (id uuid, "webhookId" uuid, status text, next timestamptz,
          "responseStatus" integer, "durationMs" integer, error text, response text)) with ordinality as o
      ), own as materialized (
        select id, failures from webhook where id in (select "webhookId" from o) order by id for no key update
      ), ended as (
        select "webhookId" as id, bool_or(status = 'delivered') as arrived, count(*)::integer as count,
          (array_agg(status order by ordinality desc))[1] as last
        from o group by "webhookId"
      ), changed as (
        update webhook w set last_status = e.last, last_delivery_at = ${now},
          failing_since = case when not e.arrived then coalesce(w.failing_since, ${now}::timestamptz) end,
          failures = case when e.arrived then 0 else w.failures + e.count end
        from own join ended e on e.id = own.id where w.id = own.id
        returning w.id, w.active, w.failing_since, w.failures, own.failures as before
      ), done as (
        update webhook_delivery d set status = case when o.status = 'retrying'
          and (d.job is null or not c.active) then 'failed' else o.status end,
          job = case when o.status = 'retrying'
            and c.active then d.job end, next_attempt_at = case when d.job is not null and c.active then o.next end,
          response_status = o."responseStatus", duration_ms = o."durationMs", error = o.error, response = o.response
        from changed c join o on o."webhookId" = c.id where d.id = o.id and d.status in ('pending', 'disabled')
      ) select id, active, failing_since as "failingSince", failures, before from changed order by id`);
    for (const { id, failures, before } of rows) {
      if (failures >= MAX_FAILURES) await job.pause(id, PAUSE);
      else if (before >= MAX_FAILURES) await job.resume(id);
    }
    return rows;
  });
}
