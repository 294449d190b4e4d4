import { sql, type Clock, type Data } from 'parley-forum';
import type { Status } from 'parley-forum/plugins/webhooks';

/** How an attempt ended, as it is stored. */
export interface DeliveryResult {
  readonly id: string;
  readonly status: Status;
  /** Seconds until the next attempt, and when that is. */
  readonly delay?: number;
  readonly next?: Date;
  readonly responseStatus: number | undefined;
  readonly durationMs: number;
  readonly error: string | undefined;
  readonly response: string | undefined;
}

/** Stores the results of attempts of one webhook. Resolves to since when nothing has succeeded. */
export async function saveResults(
  { data, clock }: { readonly data: Data; readonly clock: Clock },
  webhookId: string,
  results: readonly DeliveryResult[],
): Promise<Date | undefined> {
  const now = new Date(clock.now());
  const succeeded = results.some(({ status }) => status === 'delivered');
  const row = await data.one(sql<{ since: Date | null }>`
    with own as (
      update webhook set last_status = ${results.at(-1)!.status}, last_delivery_at = ${now},
        failing_since = case when ${succeeded}::boolean then null else coalesce(failing_since, ${now}::timestamptz) end
      where id = ${webhookId} returning failing_since as since
    ), done as (
      update webhook_delivery d set status = o.status, due_at = now() + make_interval(secs => o.delay), next_attempt_at = o.next,
        response_status = o."responseStatus", duration_ms = o."durationMs", error = o.error, response = o.response
      from own cross join json_to_recordset(${JSON.stringify(results)}::json) as o(id uuid, status text, delay float8, next timestamptz,
        "responseStatus" integer, "durationMs" integer, error text, response text)
      where d.id = o.id and d.status in ('pending', 'disabled')
    ) select since from own`);
  return row?.since ?? undefined;
}
