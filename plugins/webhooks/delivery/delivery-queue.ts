import { createId, sql, type Clock, type Data, type Job } from 'parley-forum';

/** Seconds for which a process leases a queue; renewed before each batch, which takes 15 at most. */
const LEASE = 20;
/** Seconds within which a stored job should start sending; after them another one may be stored. */
const START_TIMEOUT = 5;
/** Minutes after which due deliveries that no worker took are restarted. */
const OVERDUE = 10;

export interface DeliveryQueueDeps {
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
/** Where and with which secrets a webhook is sent; secrets are sealed. */
export interface Endpoint {
  readonly url: string;
  readonly secret: string;
  readonly oldSecret: string | null;
  readonly oldSecretUntil: Date | null;
}
/** A queue leased by this process, and its due attempts. */
export interface Lease extends Endpoint {
  readonly leasedUntil: Date;
  /** Counts all that was ever added to the queue. */
  readonly added: number;
  readonly due: readonly Attempt[];
}
/** One attempt to be made. */
export interface Attempt {
  readonly id: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly event: string;
  readonly body: string;
  readonly attempt: number;
  readonly attempts: number;
}
type DueAttempt = Attempt & { readonly status: string };
interface QueueState {
  readonly next: Date | null;
  readonly due: boolean;
  /** When an already stored job that is early enough is due. */
  readonly scheduled: Date | null;
}

/**
 * Pending deliveries, one queue per webhook. Adding to a queue without a worker also stores a job that starts one; a
 * worker releases its lease only when nothing was added meanwhile, so nothing is left behind. Times are the database's.
 */
export class DeliveryQueue {
  readonly #deps: DeliveryQueueDeps;
  /** Identifies the leases of this process. */
  readonly #holder = crypto.randomUUID();

  constructor(deps: DeliveryQueueDeps) {
    this.#deps = deps;
  }

  /**
   * Joins the current transaction. Deliveries to deleted or disabled webhooks are left out. Resolves to how many were
   * added.
   */
  async add(deliveries: readonly NewDelivery[]): Promise<number> {
    const { data, clock, attempts } = this.#deps;
    if (deliveries.length === 0) return 0;
    const rows = deliveries.map((delivery) => ({ ...delivery, id: createId(clock.now()) }));
    return data.transaction(async () => {
      const open = await this.wake([...new Set(deliveries.map(({ webhookId }) => webhookId))]);
      const kept = await data.all(sql`
        insert into webhook_delivery (id, webhook_id, event_id, event, status, attempt, attempts, due_at, created_at)
        select d.id, d."webhookId", d."eventId", d.event, 'pending', 1, ${attempts()}::integer, now(), ${new Date(clock.now())}
        from json_to_recordset(${JSON.stringify(rows)}::json) as d(id uuid, "webhookId" uuid, "eventId" uuid, event text)
        where d."webhookId" = any(${open}::uuid[]) order by d.id returning 1`);
      return kept.length;
    });
  }

  /**
   * Starts workers for the queues of these webhooks. Joins the current transaction, and locks their rows until its end:
   * always before those of their deliveries, and in order, which avoids deadlocks. Resolves to those that are active.
   */
  wake(webhookIds: readonly string[]): Promise<readonly string[]> {
    const { data, job } = this.#deps;
    return data.transaction(async () => {
      const open = await data.all(sql<{ id: string; idle: boolean }>`
        with own as materialized (select id, coalesce(held_until, '-infinity') <= now() as idle from webhook where id = any(${webhookIds}::uuid[]) and active
          order by id for no key update)
        update webhook w set added = w.added + 1, holder = case when own.idle then null else w.holder end,
          held_until = case when own.idle then now() + make_interval(secs => ${START_TIMEOUT}) else w.held_until end
        from own where w.id = own.id returning w.id, own.idle`);
      for (const { id, idle } of open) if (idle) await job.add({ webhook: id });
      return open.map(({ id }) => id);
    });
  }

  /**
   * Leases the webhook's queue for one batch. Undefined when another process holds it, or the webhook is not active.
   */
  async acquireLease(webhookId: string, limit: number): Promise<Lease | undefined> {
    // `added` is that of the statement's own view, as is what is due: what came while it waited for the row is in
    // neither.
    const lease = await this.#deps.data.one(sql<Omit<Lease, 'due'> & { readonly due: readonly DueAttempt[] }>`
      with own as (
        update webhook set holder = ${this.#holder}, held_until = now() + make_interval(secs => ${LEASE})
        where id = ${webhookId} and active and (holder is null or holder = ${this.#holder} or held_until <= now()) returning id, held_until
      ) select w.url, w.secret, w.old_secret as "oldSecret", w.old_secret_until as "oldSecretUntil", o.held_until as "leasedUntil", w.added, coalesce((
        select json_agg(a order by a.due_at, a.id) from (
          select d.id, d.webhook_id as "webhookId", d.event_id as "eventId", d.event, e.body, d.attempt, d.attempts, d.status, d.due_at
          from webhook_delivery d join webhook_event e on e.id = d.event_id
          where d.webhook_id = w.id and d.due_at <= now() order by d.due_at, d.id limit ${limit}
        ) a), '[]') as due
      from own o join webhook w on w.id = o.id`);
    return lease && { ...lease, due: await this.#repeatInterrupted(lease.due) };
  }

  /** Releases the lease unless something was added since it was taken. False: there is more to do. */
  async releaseLease(webhookId: string, added?: number): Promise<boolean> {
    const { data, job } = this.#deps;
    const empty =
      await data.all(sql`update webhook w set holder = null, held_until = null where id = ${webhookId} and active and added = ${added ?? -1}
      and not exists (select 1 from webhook_delivery d where d.webhook_id = w.id and d.due_at is not null) returning 1`);
    if (empty.length > 0) return true;
    return data.transaction(async () => {
      const row = await data.one(
        sql<{ active: boolean }>`select active from webhook where id = ${webhookId} for no key update`,
      );
      if (!row?.active) return this.cancel(webhookId).then(() => true);
      // A statement of its own, so that it sees what was added while this waited for the lock.
      const state =
        (await data.one(sql<QueueState>`select min(d.due_at) as next, coalesce(min(d.due_at) <= now(), false) as due,
          case when w.retry_at > now() and w.retry_at <= min(d.due_at) then w.retry_at end as scheduled
        from webhook w left join webhook_delivery d on d.webhook_id = w.id and d.due_at is not null where w.id = ${webhookId} group by w.id`))!;
      if (state.due) return false;
      await data.all(
        sql`update webhook set holder = null, held_until = null, retry_at = ${state.scheduled ?? state.next}::timestamptz where id = ${webhookId}`,
      );
      if (state.next && !state.scheduled) await job.add({ webhook: webhookId }, { at: state.next });
      return true;
    });
  }

  /** Cancels all pending deliveries. Joins the current transaction. */
  async cancel(webhookId: string): Promise<void> {
    const { data } = this.#deps;
    await data.all(sql`update webhook_delivery set due_at = null, next_attempt_at = null, status = case status when 'pending' then 'disabled' else 'failed' end
      where webhook_id = ${webhookId} and due_at is not null`);
    await data.all(sql`update webhook set holder = null, held_until = null, retry_at = null where id = ${webhookId}`);
  }

  /** When another process's lease ends, if there is one. */
  async leasedElsewhereUntil(webhookId: string): Promise<Date | undefined> {
    const row = await this.#deps.data.one(sql<{ until: Date }>`select held_until as until from webhook
      where id = ${webhookId} and active and held_until > now() and holder <> ${this.#holder}`);
    return row?.until;
  }

  /** On the embedded database there is one process: leases that exist at its start belong to a dead one. */
  async recoverLeases(): Promise<void> {
    const { data, job } = this.#deps;
    if (!data.embedded) return;
    await data.transaction(async () => {
      const left = await data.all(
        sql<{ id: string }>`update webhook set holder = null, held_until = now() where holder is not null returning id`,
      );
      for (const { id } of left) await job.add({ webhook: id });
    });
  }

  /** Releases all leases of this process when it stops. */
  async releaseAllLeases(): Promise<void> {
    await this.#deps.data.all(sql`update webhook set holder = null, held_until = now() where holder = ${this.#holder}`);
  }

  /** Takes care of lines whose job was lost, such as with a backup. */
  async restartOverdue(): Promise<void> {
    const { data, job } = this.#deps;
    await data.transaction(async () => {
      const late = sql`now() - make_interval(mins => ${OVERDUE})`;
      const left = await data.all(sql<{
        id: string;
      }>`update webhook w set holder = null, held_until = now() where active and coalesce(held_until, '-infinity') < ${late}
        and exists (select 1 from webhook_delivery d where d.webhook_id = w.id and d.due_at < ${late}) returning id`);
      for (const { id } of left) await job.add({ webhook: id });
    });
  }

  /** A further attempt becomes a row of its own when it begins. */
  async #repeatInterrupted(due: readonly DueAttempt[]): Promise<readonly Attempt[]> {
    const { data, clock } = this.#deps;
    const again = due.filter(({ status }) => status === 'retrying');
    if (again.length === 0) return due;
    const rows = new Map(
      again.map(({ id, attempt, ...rest }) => [
        id,
        { ...rest, before: id, id: createId(clock.now()), attempt: attempt + 1 },
      ]),
    );
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
