import { sql, type Clock, type Data, type Job } from '#core';
import { createId } from '#plugins/api';
import type { Status } from '#plugins/webhooks';

/** Seconds for which a process that sends keeps others away; renewed before each round, which takes 15 at most. */
const HOLD = 20;
/** Minutes after which what is due and was not taken is looked after. */
const OVERDUE = 10;

export interface QueueParts {
  readonly data: Data;
  readonly clock: Clock;
  /** How many attempts a delivery has. */
  readonly attempts: () => number;
  readonly job: Job<{ readonly webhook: string }>;
}
export interface NewDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
}
/** A webhook as sending needs it; secrets are sealed. */
export interface Held {
  readonly url: string;
  readonly secret: string;
  readonly oldSecret: string | null;
  readonly oldSecretUntil: Date | null;
  readonly until: Date;
}
/** One attempt that is to be made. */
export interface Attempt {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly body: string;
  readonly attempt: number;
  readonly attempts: number;
}
/** How an attempt ended, as it is written down. */
export interface Outcome {
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
type Due = Attempt & { readonly status: string };
interface Line {
  readonly next: Date | null;
  readonly due: boolean;
  /** When the job is due that is stored already and early enough. */
  readonly stored: Date | null;
}

/**
 * Deliveries that wait, a line for each webhook. Whoever adds to a line that nobody holds stores a job that will empty it; whoever
 * empties it lets go of it only when nothing is due, under the webhook's row lock, so nothing is left behind. Times are the database's.
 */
export class Queue {
  readonly #parts: QueueParts;
  /** Marks the lines that this process holds. */
  readonly #holder = crypto.randomUUID();

  constructor(parts: QueueParts) {
    this.#parts = parts;
  }

  /** Joins the transaction under way. What is for a webhook that is gone or switched off is left out. Resolves to how many were added. */
  async add(deliveries: readonly NewDelivery[]): Promise<number> {
    const { data, clock, attempts } = this.#parts;
    if (deliveries.length === 0) return 0;
    const rows = deliveries.map((delivery) => ({ ...delivery, id: createId(clock.now()) }));
    const added = await data.transaction(async () => {
      const open = await this.lock([...new Set(deliveries.map(({ webhookId }) => webhookId))]);
      const kept = await data.all(sql<{ webhook_id: string }>`
        insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts, due_at, created_at)
        select d.id, d."webhookId", d."eventId", d.event, 'pending', 1, ${attempts()}::integer, now(), ${new Date(clock.now())}
        from json_to_recordset(${JSON.stringify(rows)}::json) as d(id uuid, "webhookId" uuid, "eventId" uuid, event text)
        where d."webhookId" = any(${open}::uuid[]) order by d.id returning webhook_id`);
      await this.wake(open);
      return kept.length;
    });
    return added;
  }

  /** Has the lines of these webhooks emptied soon. Joins the transaction under way. */
  wake(webhookIds: readonly string[]): Promise<void> {
    const { data, job } = this.#parts;
    return data.transaction(async () => {
      const idle = await data.all(sql<{ id: string }>`update webhook set held_until = now() where id = any(${webhookIds}::uuid[]) and held_until is null returning id`);
      for (const { id } of idle) await job.add({ webhook: id });
    });
  }

  /** For one round: the webhook's line is this process's. Undefined when it is not to be had: another one's, or not active. */
  hold(webhookId: string): Promise<Held | undefined> {
    return this.#parts.data.one(sql<Held>`update webhook set holder = ${this.#holder}, held_until = now() + make_interval(secs => ${HOLD})
      where id = ${webhookId} and active and (holder = ${this.#holder} or held_until is null or held_until <= now())
      returning url, secret, old_secret as "oldSecret", old_secret_until as "oldSecretUntil", held_until as until`);
  }

  /** What is due, the longest due first. A further attempt becomes a row of its own here. */
  async take(webhookId: string, limit: number): Promise<readonly Attempt[]> {
    const due = await this.#parts.data.all(sql<Due>`
      select d.id, d.webhook_id as "webhookId", d.event_id as "eventId", d.event, e.body, d.attempt, d.attempts, d.status
      from webhook_delivery d join webhook_event e on e.id = d.event_id
      where d.webhook_id = ${webhookId} and d.due_at <= now() order by d.due_at, d.id limit ${limit}`);
    const again = due.filter(({ status }) => status === 'retrying');
    return again.length === 0 ? due : this.#again(due, again);
  }

  /** Lets go of a line in which nothing is due, and stores a job for what becomes due next. False: something is due. */
  release(webhookId: string): Promise<boolean> {
    const { data, job } = this.#parts;
    return data.transaction(async () => {
      const [open] = await this.lock([webhookId]);
      if (!open) return this.cancel(webhookId).then(() => true);
      // A statement of its own, so that it sees what was added while this waited for the lock.
      const line = await data.one(sql<Line>`select min(d.due_at) as next, coalesce(min(d.due_at) <= now(), false) as due,
          case when w.retry_at > now() and w.retry_at <= min(d.due_at) then w.retry_at end as stored
        from webhook w left join webhook_delivery d on d.webhook_id = w.id and d.due_at is not null where w.id = ${webhookId} group by w.id`);
      if (!line || line.due) return !line;
      await data.all(sql`update webhook set holder = null, held_until = null, retry_at = ${line.stored ?? line.next}::timestamptz where id = ${webhookId}`);
      if (line.next && !line.stored) await job.add({ webhook: webhookId }, { at: line.next });
      return true;
    });
  }

  /** Nothing that waits is sent any more. Joins the transaction under way. */
  async cancel(webhookId: string): Promise<void> {
    const { data } = this.#parts;
    await data.all(sql`update webhook_delivery set due_at = null, next_attempt_at = null, status = case status when 'pending' then 'disabled' else 'failed' end
      where webhook_id = ${webhookId} and due_at is not null`);
    await data.all(sql`update webhook set holder = null, held_until = null, retry_at = null where id = ${webhookId}`);
  }

  /** When the line may be free again, while another process holds it. */
  async heldElsewhere(webhookId: string): Promise<Date | undefined> {
    const row = await this.#parts.data.one(sql<{ until: Date }>`select held_until as until from webhook
      where id = ${webhookId} and active and held_until > now() and holder is distinct from ${this.#holder}`);
    return row?.until;
  }

  /** On the embedded database there is one process: who still holds lines at its start has died. */
  async begin(): Promise<void> {
    const { data, job } = this.#parts;
    if (!data.embedded) return;
    await data.transaction(async () => {
      const left = await data.all(sql<{ id: string }>`update webhook set holder = null, held_until = now() where holder is not null returning id`);
      for (const { id } of left) await job.add({ webhook: id });
    });
  }

  /** Lets others have this process's lines at once: it stops. */
  async leave(): Promise<void> {
    await this.#parts.data.all(sql`update webhook set holder = null, held_until = now() where holder = ${this.#holder}`);
  }

  /** Takes care of lines whose job was lost, such as with a backup. */
  async revive(): Promise<void> {
    const { data, job } = this.#parts;
    await data.transaction(async () => {
      const late = sql`now() - make_interval(mins => ${OVERDUE})`;
      const left = await data.all(sql<{ id: string }>`update webhook w set holder = null, held_until = now() where active and coalesce(held_until, '-infinity') < ${late}
        and exists (select 1 from webhook_delivery d where d.webhook_id = w.id and d.due_at < ${late}) returning id`);
      for (const { id } of left) await job.add({ webhook: id });
    });
  }

  /** Writes down how attempts of one webhook ended. Resolves to since when nothing has succeeded. */
  async record(webhookId: string, outcomes: readonly Outcome[]): Promise<Date | undefined> {
    const now = new Date(this.#parts.clock.now());
    const succeeded = outcomes.some(({ status }) => status === 'delivered');
    const row = await this.#parts.data.one(sql<{ since: Date | null }>`
      with own as (
        update webhook set last_status = ${outcomes.at(-1)!.status}, last_delivery_at = ${now},
          failing_since = case when ${succeeded}::boolean then null else coalesce(failing_since, ${now}::timestamptz) end
        where id = ${webhookId} returning failing_since as since
      ), done as (
        update webhook_delivery d set status = o.status, due_at = now() + make_interval(secs => o.delay), next_attempt_at = o.next,
          response_status = o."responseStatus", duration_ms = o."durationMs", error = o.error, response = o.response
        from own cross join json_to_recordset(${JSON.stringify(outcomes)}::json) as o(id uuid, status text, delay float8, next timestamptz,
          "responseStatus" integer, "durationMs" integer, error text, response text)
        where d.id = o.id and d.status in ('pending', 'disabled')
      ) select since from own`);
    return row?.since ?? undefined;
  }

  /** Those of the webhooks that are active, locked in order; always before their deliveries, so that nobody waits for each other. */
  async lock(webhookIds: readonly string[]): Promise<readonly string[]> {
    const rows = await this.#parts.data.all(sql<{ id: string; active: boolean }>`
      select id, active from webhook where id = any(${webhookIds}::uuid[]) order by id for no key update`);
    return rows.filter(({ active }) => active).map(({ id }) => id);
  }

  async #again(due: readonly Due[], again: readonly Due[]): Promise<readonly Attempt[]> {
    const { data, clock } = this.#parts;
    const rows = new Map(again.map(({ id, attempt, ...rest }) => [id, { ...rest, before: id, id: createId(clock.now()), attempt: attempt + 1 }]));
    const made = await data.all(sql<{ id: string }>`
      with own as materialized (select id from webhook where id = ${again[0]!.webhookId} for key share), before as (
        update webhook_delivery d set due_at = null from own cross join json_to_recordset(${JSON.stringify([...rows.values()])}::json) as r(id uuid, before uuid)
        where d.id = r.before and d.due_at is not null returning r.id as fresh, d.*
      ) insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts, due_at, created_at)
        select fresh, webhook_id, event_id, event, 'pending', attempt + 1, attempts, now(), ${new Date(clock.now())} from before order by fresh returning id`);
    const taken = new Set(made.map(({ id }) => id));
    return due.flatMap((attempt) => {
      const next = rows.get(attempt.id);
      return next === undefined ? [attempt] : taken.has(next.id) ? [next] : [];
    });
  }
}
