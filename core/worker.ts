import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cron } from 'croner';
import { sql, type Database } from './data.ts';
import { messageOf } from './errors.ts';
import type { Fleet } from './fleet.ts';
import type { Delivery, Durability } from './hooks.ts';
import type { Logger } from './logger.ts';
import type { Supervisor, Task } from './supervise.ts';

/** How many run at a time in one process, all listeners together. */
const CAPACITY = 16;
/** Seconds before each further attempt, where a listener does not say. */
const RETRY = [5, 300, 1_800, 7_200];
/** Seconds until a row whose process has died is taken by another; renewed every third of it. */
const LEASE = 10;
/** Renewals between two clean-ups: one in an hour. */
const CLEAN_EVERY = 1_080;
/** Milliseconds that aborted work has to end by itself before it is put back. */
const GRACE = 2_000;
/** Milliseconds until the database is looked at again although nobody said so: it may not have answered, or a process died before it told. */
const LOOK_AGAIN = 5_000;
/** Milliseconds in which commits gather before the other processes are told of them. */
const TELL_EVERY = 50;
/** The advisory lock under which limits per key are counted; the number has no meaning. */
const CLAIMING = 7_216_003;

export interface WorkerParts {
  readonly data: Database;
  readonly supervisor: Supervisor;
  readonly log: Logger;
  /** Carries word of new work to the other processes; what it loses is found by their next look. */
  readonly fleet: Pick<Fleet, 'announce' | 'listen'>;
}

/** Somebody whose work is kept in the database under `name`. */
export interface Listener {
  readonly name: string;
  readonly plugin: string;
  /** Whose raising is heard; a job hears none. */
  readonly action?: string;
  // `never` because the queue carries payloads of unrelated types; hooks and jobs give each its type back.
  readonly run: (payload: never, delivery: Delivery) => unknown;
  readonly durability: Durability<never>;
  readonly cron?: Cron | undefined;
  readonly task: Task;
}

/** A row this process has taken; `attempt` counts from 1. */
interface Claimed {
  readonly id: string;
  readonly listener: string;
  readonly key: string | null;
  readonly payload: unknown;
  readonly attempt: number;
  /** Where it is the one row of a schedule: it is put back for the next moment when it has run. */
  readonly cron: string | null;
  /** When it was due. */
  readonly run_at: string;
}

interface Running {
  readonly job: Claimed;
  readonly listener: Listener;
  readonly controller: AbortController;
}

/** Takes what is due and has a listener here, runs it, and writes down how it ended. */
export class Worker {
  readonly #parts: WorkerParts;
  readonly #listeners: ReadonlyMap<string, Listener>;
  /** Marks the rows of this process. */
  readonly #owner = randomUUID();
  /** Rows `j` that are among `d` and have not been taken by another process meanwhile. */
  readonly #mine = sql`j.id = d.id and j.listener = d.listener and j.attempt = d.attempt and j.owner = ${this.#owner}`;
  /** What runs, each with the promise of its end, which never rejects. */
  readonly #running = new Map<Running, Promise<void>>();
  /** What has ended and is not written down yet. */
  readonly #ended: object[] = [];
  readonly #unscheduled = new Set<Listener>();
  #state: 'idle' | 'started' | 'stopped' = 'idle';
  #pumping: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #renewals = 0;
  #telling = false;

  constructor(parts: WorkerParts, listeners: ReadonlyMap<string, Listener>) {
    this.#parts = parts;
    this.#listeners = listeners;
  }

  async start(): Promise<void> {
    // The embedded database has one process: whatever was running when it opened belongs to a dead one.
    if (this.#parts.data.embedded) await this.#parts.data.all(sql`update job set owner = null, run_at = now() where owner is not null`);
    this.#state = 'started';
    this.#parts.fleet.listen('jobs', () => void this.#pump());
    this.#renewal = setInterval(() => void this.#renew(), (LEASE * 1_000) / 3).unref();
    void this.#pump();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    clearInterval(this.#renewal);
    await this.release();
  }

  /** From here on its work is taken, and its schedule kept. */
  expect(listener: Listener): void {
    if (listener.cron) this.#unscheduled.add(listener);
    void this.#pump();
  }

  /** There is new work. The other processes are told soon after the commit, which does not wait for that. */
  wake(): void {
    void this.#pump();
    if (this.#telling) return;
    this.#telling = true;
    void delay(TELL_EVERY, undefined, { ref: false }).then(() => {
      this.#telling = false;
      return this.#parts.fleet.announce('jobs');
    });
  }

  /** Aborts what runs (of one listener, or all), gives it 2 s to end by itself, and resolves when what did not is put back. */
  async release(listener?: Listener): Promise<void> {
    const ending = [...this.#running].filter(([running]) => !listener || running.listener === listener);
    for (const [{ controller }] of ending) controller.abort(new Error('its plugin stops'));
    const limit = new AbortController();
    const over = delay(GRACE, undefined, { signal: limit.signal }).catch(() => undefined);
    await Promise.race([Promise.all(ending.map(([, end]) => end)), over]);
    limit.abort();
    for (const [running] of ending) this.#end(running, 'back');
    await this.#pump();
  }

  /** There may be something to do. Resolves when nothing more has happened meanwhile; never rejects. */
  #pump(): Promise<void> | undefined {
    this.#again = true;
    if (this.#state !== 'idle') this.#pumping ??= this.#parts.data.outside(() => this.#turn());
    return this.#pumping;
  }

  async #turn(): Promise<void> {
    let wait = LOOK_AGAIN;
    while (this.#again) {
      this.#again = false;
      try {
        if (this.#ended.length > 0) await this.#settle();
        if (this.#unscheduled.size > 0) await this.#schedule();
        if (this.#state === 'started') wait = await this.#take();
      } catch (error) {
        this.#parts.log.warn({ error: messageOf(error) }, 'durable work waits: the database did not answer');
      }
    }
    this.#pumping = undefined;
    clearTimeout(this.#timer);
    if (this.#state === 'started') this.#timer = setTimeout(() => void this.#pump(), Math.min(wait, LOOK_AGAIN)).unref();
  }

  async #settle(): Promise<void> {
    const count = this.#ended.length;
    await this.#parts.data.all(sql`
      with d as (
        select * from json_to_recordset(${JSON.stringify(this.#ended)}::json)
          as d(id uuid, listener text, attempt integer, "end" text, delay float8, error text, next timestamptz)
      ), done as (delete from job j using d where d.end = 'done' and d.next is null and ${this.#mine})
      update job j set owner = null, id = case when d.next is null then j.id else gen_random_uuid() end,
        attempt = case when d.next is null then j.attempt - (d.end = 'back')::integer else 0 end,
        run_at = coalesce(d.next, now() + make_interval(secs => coalesce(d.delay, 0))),
        failed_at = case when d.end = 'failed' and d.next is null and d.delay is null then now() end,
        error = case when d.end = 'back' then j.error else d.error end
      from d where (d.end <> 'done' or d.next is not null) and ${this.#mine}`);
    this.#ended.splice(0, count);
  }

  /** Each expression has one row, which stands for its next moment. What was missed while nobody ran is so run once. */
  async #schedule(): Promise<void> {
    const listeners = [...this.#unscheduled];
    const rows = listeners.map(({ name, cron }) => ({ listener: name, cron: cron?.getPattern(), next: cron?.nextRun() }));
    await this.#parts.data.all(sql`insert into job as j (id, listener, payload, cron, run_at)
      select gen_random_uuid(), r.listener, '{}', r.cron, coalesce(r.next, 'infinity')
      from json_to_recordset(${JSON.stringify(rows)}::json) as r(listener text, cron text, next timestamptz) order by r.listener
      on conflict (listener) where cron is not null do update set cron = excluded.cron, run_at = excluded.run_at
      where j.cron <> excluded.cron and j.owner is null`);
    for (const listener of listeners) this.#unscheduled.delete(listener);
  }

  /** Begins what is due and has room; resolves to the milliseconds until there may be more. */
  async #take(): Promise<number> {
    const busy = Map.groupBy(this.#running.keys(), ({ listener }) => listener);
    const openings = [...this.#listeners.values()].map((listener) => {
      const { limit = 4, perKey } = listener.durability;
      return { listener: listener.name, free: Math.max(0, limit - (busy.get(listener)?.length ?? 0)), perKey };
    });
    if (this.#running.size >= CAPACITY) return LOOK_AGAIN;
    const { jobs, wait } = await this.#claim(openings);
    for (const job of jobs) this.#begin(job);
    // Behind works of a key that is full now there may be works of other keys.
    if (jobs.some(({ key }) => key !== null)) this.#again = true;
    return Math.ceil(wait ?? LOOK_AGAIN) + 1;
  }

  /** Takes due rows, oldest first, and says in how many milliseconds the next becomes due. One statement, so nothing falls between. */
  async #claim(openings: readonly { readonly perKey: number | undefined }[]): Promise<{ jobs: Claimed[]; wait: number | null }> {
    const claim = sql<{ jobs: Claimed[]; wait: number | null }>`
      with opening as (
        select * from json_to_recordset(${JSON.stringify(openings)}::json) as o(listener text, free integer, "perKey" integer)
      ), busy as (
        select listener, key, count(*)::integer as n from job where owner is not null and key is not null and run_at > now() group by listener, key
      ), due as (
        select d.*, o."perKey", row_number() over (partition by d.listener, d.key order by d.run_at, d.id) as nth
        from opening o cross join lateral (
          select j.id, j.listener, j.key, j.run_at from job j
          where j.listener = o.listener and j.failed_at is null and j.run_at <= now() and (o."perKey" is null or j.key is null
            or not exists (select 1 from busy b where b.listener = j.listener and b.key = j.key and b.n >= o."perKey"))
          order by j.run_at, j.id limit o.free for update of j skip locked
        ) d
      ), chosen as (
        select d.id, d.listener, d.run_at from due d left join busy b on b.listener = d.listener and b.key = d.key
        where d.key is null or d."perKey" is null or d.nth + coalesce(b.n, 0) <= d."perKey" order by d.run_at, d.id limit ${CAPACITY - this.#running.size}
      ), claimed as (
        update job j set owner = ${this.#owner}, attempt = j.attempt + 1, run_at = now() + make_interval(secs => ${LEASE})
        from chosen c where j.id = c.id and j.listener = c.listener returning j.id, j.listener, j.key, j.payload, j.attempt, j.cron, c.run_at
      )
      select coalesce((select json_agg(c order by c.run_at, c.id) from claimed c), '[]') as jobs,
        (select extract(epoch from min(n.run_at) - now())::float8 * 1000 from opening o cross join lateral
          (select run_at from job where listener = o.listener and failed_at is null and run_at > now() order by run_at limit 1) n) as wait`;
    if (this.#parts.data.embedded || openings.every(({ perKey }) => perKey === undefined)) return (await this.#parts.data.one(claim))!;
    // Two processes that count one key at the same moment would both find room for one more.
    return this.#parts.data.transaction(async () => {
      await this.#parts.data.all(sql`select pg_advisory_xact_lock(${CLAIMING})`);
      return (await this.#parts.data.one(claim))!;
    });
  }

  #begin(job: Claimed): void {
    const listener = this.#listeners.get(job.listener);
    // It was stopped while the row was being taken.
    if (!listener || this.#state === 'stopped') return this.#note(job, { end: 'back' });
    const running: Running = { job, listener, controller: new AbortController() };
    const { signal } = running.controller;
    // What breaks off because it was told to has not failed: the supervisor does not hear of it.
    const work = async (): Promise<unknown> => listener.run(job.payload as never, { id: job.id, attempt: job.attempt, signal });
    const brokenOff = (thrown: unknown): unknown => (signal.aborted ? this.#end(running, 'back') : Promise.reject(thrown as Error));
    const attempt = Promise.try(() => this.#parts.supervisor.run(listener.task, () => work().catch(brokenOff), Infinity));
    this.#running.set(running, attempt.then(() => this.#end(running, 'done'), (error: unknown) => this.#end(running, 'failed', messageOf(error))));
  }

  /** `back`: the attempt does not count. */
  #end(running: Running, end: 'done' | 'failed' | 'back', error?: string): void {
    // Otherwise it was given up before: its row was put back, or is another process's.
    if (!this.#running.delete(running)) return;
    const { job, listener: { cron, durability: { retry = RETRY } } } = running;
    const delay = end === 'failed' ? retry[job.attempt - 1] : undefined;
    // By a clock that is behind the database's, the moment it ran for may seem to be still ahead.
    const next = job.cron === null || end === 'back' ? undefined : cron?.nextRun(new Date(Math.max(Date.now(), Date.parse(job.run_at))));
    const retried = delay !== undefined && next && Date.now() + delay * 1_000 < next.getTime();
    this.#note(job, { end, error, delay, next: retried ? undefined : next });
  }

  #note({ id, listener, attempt }: Claimed, how: object): void {
    this.#ended.push({ id, listener, attempt, ...how });
    void this.#pump();
  }

  /** Begins the leases of running work anew, and aborts what another process has taken meanwhile. */
  async #renew(): Promise<void> {
    const held = [...this.#running.keys()];
    const rows = JSON.stringify(held.map(({ job: { id, listener, attempt } }) => ({ id, listener, attempt })));
    try {
      const kept = await this.#parts.data.all(sql<{ id: string; listener: string }>`update job j set run_at = now() + make_interval(secs => ${LEASE})
        from json_to_recordset(${rows}::json) as d(id uuid, listener text, attempt integer) where ${this.#mine} returning j.id, j.listener`);
      const lost = held.filter(({ job }) => !kept.some(({ id, listener }) => id === job.id && listener === job.listener));
      for (const running of lost) if (this.#running.delete(running)) running.controller.abort(new Error('another process has taken this work'));
      if (this.#renewals++ % CLEAN_EVERY > 0) return;
      // Failed work is kept for 30 days; what no process has a listener for, 90 days after it was due.
      await this.#parts.data.all(sql`delete from job
        where failed_at < now() - interval '30 days' or (failed_at is null and run_at < now() - interval '90 days')`);
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, 'the leases of running work could not be renewed');
    }
  }
}
