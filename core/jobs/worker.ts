import { AsyncResource } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cron } from 'croner';
import { PLANNED_EACH_TIME, sql, type Database, type RawBuilder } from '../data/database.ts';
import { messageOf } from '../errors.ts';
import type { Cluster } from '../cluster.ts';
import type { Delivery, Durability } from '../hooks.ts';
import { ZERO_ID } from '../ids.ts';
import type { Logger } from '../logger.ts';
import type { Supervisor, Task } from '../plugins/supervisor.ts';

/** Default for how many jobs of one listener run at a time in one process. */
const DEFAULT_LIMIT = 4;
/** How many jobs run at a time in one process, for all listeners except those that wait for other servers. */
const CAPACITY = 16;
/**
 * How many jobs a listener may hold that have not started, and for how many milliseconds they may keep it busy: short
 * jobs are not fetched one by one.
 */
const AHEAD = { works: 64, time: 50 };
/**
 * Each poll starts at the first job that was due at the previous poll, so that no visible job is skipped: earlier rows
 * have run, and reading past their dead tuples would take longer and longer. But it starts at least this many
 * milliseconds before the previous poll, to include jobs stored by transactions that committed a moment later.
 */
const MARGIN = 2_000;
const MARGIN_AGO = sql`now() - make_interval(secs => ${sql.lit(MARGIN / 1_000)})`;
/**
 * The share of its time that a process may spend on polling from the beginning, in case a job was committed late all
 * the same.
 */
const WHOLE_LOOKS = 0.02;
/**
 * How many waiting jobs with a key one poll reads. While all of them wait under keys that are full, each next poll
 * reads `by` times as many, so that these are soon passed.
 */
const WINDOW = { least: 250, most: 16_000, by: 4 };
/** Sorts before all jobs. */
const BEGINNING: Place = { at: '-infinity', id: ZERO_ID };
/** Default seconds before each further attempt. */
const RETRY = [5, 300, 1_800, 7_200];
/** Seconds until another process takes over a row whose process has died; leases are renewed every third of this. */
const LEASE = 10;
/** Lease renewals between two clean-ups: about one clean-up an hour. */
const CLEAN_EVERY = 1_080;
/** Rows that one statement of a clean-up deletes. */
const CLEAN_BATCH = 1_000;
/** Failed jobs are kept for 30 days; jobs for which no process has a listener, for 90 days after they were due. */
const TOO_OLD = [
  sql`failed_at < now() - interval '30 days' order by failed_at`,
  sql`failed_at is null and owner is null and run_at < now() - interval '90 days' order by listener, run_at, id`,
];
/** Milliseconds that an aborted job has to end by itself before it is put back. */
const GRACE = 2_000;
/**
 * Milliseconds until the database is polled again without a notification: a query may have failed, or a process may
 * have died before it published.
 */
const LOOK_AGAIN = 5_000;
/** Milliseconds during which commits are collected before they are published to the other processes. */
const PUBLISH_INTERVAL = 50;

export interface WorkerDeps {
  readonly data: Database;
  readonly supervisor: Supervisor;
  readonly log: Logger;
  /** Announces new jobs to the other processes; a lost message is made up for by their next poll. */
  readonly cluster: Pick<Cluster, 'publish' | 'subscribe'>;
}

/** One run of a claimed job. */
interface Attempt extends Delivery {
  /**
   * Replaces the payload by the work that is left, as JSON, due after so many seconds. Throws if another process has
   * taken the job.
   */
  continueWith(rest: string, after: number): Promise<void>;
}

/** A listener or job definition whose jobs are stored in the database under `name`. */
export interface Listener {
  readonly name: string;
  readonly plugin: string;
  /** The action that this listens to; undefined for a job. */
  readonly action?: string;
  // `never` because the queue carries payloads of unrelated types; hooks and jobs give each its type back.
  readonly run: (payload: never, attempt: Attempt) => unknown;
  readonly durability: Durability<never>;
  readonly cron?: Cron | undefined;
  /** The key under which its scheduled job runs. */
  readonly cronKey?: string | undefined;
  readonly task: Task;
}

/** A row that this process has claimed; `attempt` counts from 1. */
interface Claimed {
  readonly id: string;
  readonly listener: string;
  readonly key: string | null;
  readonly payload: unknown;
  readonly attempt: number;
  /**
   * The cron expression, if this is the single row of a schedule: after the run it is put back for the next scheduled
   * time.
   */
  readonly cron: string | null;
  /** When it was due. */
  readonly run_at: Date;
}

/** A job claimed by this process: it is running, or starts as soon as its listener has room. */
interface Held {
  readonly job: Claimed;
  readonly listener: Listener;
  readonly controller: AbortController;
  /** Resolves when the run ends, and never rejects; undefined while the job is not running. */
  end: Promise<void> | undefined;
  /** Whether work is left: the job is then put back instead of deleted when it ends successfully. */
  continues: boolean;
}

/** How a job ended. */
interface Ended {
  /** `back`: the attempt does not count. `rest`: the job runs once more. */
  readonly end: 'done' | 'rest' | 'failed' | 'back';
  readonly error?: string | undefined;
  /** Seconds until the job is retried. */
  readonly delay?: number | undefined;
  /** The next time in its schedule. */
  readonly next?: Date | null | undefined;
}

/** A job's position among those of its listener: when it is due, as the database writes it, and its id. */
interface Place {
  readonly at: string;
  readonly id: string;
}

/** What this process has learned about a listener's jobs by claiming and running them. */
interface Pace {
  /**
   * Where the next poll starts. For listeners with keys, jobs before this place wait under keys that were full when
   * they were passed; `keys` has those of these keys that may have room again, the database those whose pause is over.
   */
  place: Place;
  readonly keys: Set<string>;
  /** How many waiting jobs the next poll reads. */
  window: number;
  /** Whether polling has restarted from the beginning and has not reached the end yet. */
  restarted: boolean;
  /** When the earliest pause of a key ends, on the clock of `performance.now`. */
  pausedUntil: number;
  /** Moving average of the milliseconds that a job takes; infinite until one has run. */
  takes: number;
  /**
   * If every key has as many jobs running as it may: when that may change by itself, on the clock of `performance.now`.
   * Until then this listener is not polled, unless a job is added or ends.
   */
  fullUntil: number;
  /**
   * For listeners without keys: whether the last poll claimed all that was due, so that the end of a job is no reason
   * to poll again.
   */
  drained: boolean;
}

/** The next job of one listener that is due, at or after the place where its next poll starts. */
interface Next {
  readonly listener: string;
  /** Where the poll after this one starts; null if nothing is due. */
  readonly at: string | null;
  readonly id: string;
  /** Milliseconds until it is due; null if there is no job. */
  readonly wait: number | null;
  /** Milliseconds until the next job that is not due yet. */
  readonly later: number | null;
  /** Milliseconds until the next pause of a key ends. */
  readonly pause: number | null;
}
const inOrder = (a: Claimed, b: Claimed): number => a.run_at.getTime() - b.run_at.getTime() || (a.id < b.id ? -1 : 1);
/** A claimed job, or none, and where the poll ended. */
type LookRow = (Claimed | { readonly id: null }) & {
  readonly at: string;
  readonly place: string;
  readonly complete: boolean;
  /** Those of the keys to be polled again that have room and more jobs waiting. */
  readonly left: readonly string[];
};
/** The result of polling the jobs of a listener. */
interface Look {
  readonly jobs: readonly Claimed[];
  /** Whether all due jobs were looked at and all that have room were claimed. */
  readonly complete: boolean;
}

/** How many jobs of a listener without keys are claimed when there is room for so many. */
const boundOf = (room: number): number => 2 ** Math.floor(Math.log2(room));
const isKeyed = ({ durability }: Listener): boolean => durability.perKey !== undefined;
const keyOf = ({ job: { listener, key, id } }: Held): string => `${listener} ${key ?? id}`;
/**
 * A job with a key keeps its place among the others; without a key, `run_at` moves to now, because polls no longer look
 * at what was due long ago.
 */
const DUE_AGAIN = sql`case when key is null then greatest(run_at, now()) else run_at end`;

/** Claims due jobs that have a listener in this process, runs them, and records how they ended. */
export class Worker {
  readonly #parts: WorkerDeps;
  readonly #listeners: ReadonlyMap<string, Listener>;
  /** Jobs must not inherit the transaction or request context of the call that happens to wake the worker. */
  readonly #context = new AsyncResource('Worker');
  /** Marks the rows of this process. */
  readonly #owner = randomUUID();
  /** Matches rows `j` with `d`, unless another process has claimed them in the meantime. */
  readonly #mine = sql`j.id = d.id and j.listener = d.listener and j.attempt = d.attempt and j.owner = ${this.#owner}`;
  /** Keys that were paused while rows were being claimed: rows of these keys that were claimed then are put back. */
  readonly #pausedMeanwhile = new Set<string>();
  /** Ids of jobs that were cancelled while rows were being claimed. */
  readonly #cancelledMeanwhile = new Set<string>();
  /** In the order in which the jobs were claimed. */
  readonly #held = new Set<Held>();
  readonly #paces = new WeakMap<Listener, Pace>();
  /** When to poll from the beginning again, on the clock of `performance.now`. */
  #wholeAgain = 0;
  /** Jobs that have ended, whose results are not in the database yet. */
  readonly #ended: Pick<Claimed, 'id' | 'listener' | 'key' | 'attempt'>[] = [];
  readonly #unscheduled = new Set<Listener>();
  #state: 'idle' | 'started' | 'stopped' = 'idle';
  #pumping: Promise<void> | undefined;
  #again = false;
  /** Whether to poll for jobs, besides writing the results of those that have ended. */
  #looks = false;
  /** When to poll again even if nothing wakes the worker, on the clock of `performance.now`. */
  #lookAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #renewals = 0;
  #publishing = false;

  constructor(parts: WorkerDeps, listeners: ReadonlyMap<string, Listener>) {
    this.#parts = parts;
    this.#listeners = listeners;
  }

  async start(): Promise<void> {
    // The embedded database has one process: whatever was running when it opened belongs to a dead one.
    if (this.#parts.data.embedded)
      await this.#parts.data.all(
        sql`update job set owner = null, leased_until = null, run_at = ${DUE_AGAIN} where owner is not null`,
      );
    this.#state = 'started';
    this.#parts.cluster.subscribe('jobs', () => {
      for (const listener of this.#listeners.values()) this.#paceOf(listener).fullUntil = 0;
      void this.#pump();
    });
    this.#renewal = setInterval(() => void this.#renew(), (LEASE * 1_000) / 3).unref();
    void this.#pump();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    clearTimeout(this.#timer);
    clearInterval(this.#renewal);
    await this.release();
  }

  /** Starts claiming the jobs of a listener and keeping its schedule. */
  expect(listener: Listener): void {
    if (listener.cron) this.#unscheduled.add(listener);
    void this.#pump();
  }

  /**
   * Announces new jobs of these listeners. They are published to the other processes soon after the commit, which does
   * not wait for that.
   */
  wake(works: readonly { readonly listener: string }[]): void {
    this.#lookFor(works);
    void this.#pump();
    if (this.#publishing) return;
    this.#publishing = true;
    void delay(PUBLISH_INTERVAL, undefined, { ref: false }).then(() => {
      this.#publishing = false;
      return this.#parts.cluster.publish('jobs');
    });
  }

  /**
   * Aborts running jobs (of one listener, or all), gives them 2 s to end by themselves, and resolves when the rest is
   * put back.
   */
  async release(listener?: Listener): Promise<void> {
    // Its plugin may start again before the schedules are written, and each name has only one schedule row.
    if (listener) this.#unscheduled.delete(listener);
    const ending = [...this.#held].filter((held) => !listener || held.listener === listener);
    for (const held of ending) if (held.end === undefined) this.#end(held, 'back');
    for (const { controller } of ending) controller.abort(new Error('its plugin is stopping'));
    const running = ending.flatMap(({ end }) => end ?? []);
    if (running.length > 0) {
      const limit = new AbortController();
      const over = delay(GRACE, undefined, { signal: limit.signal }).catch(() => undefined);
      await Promise.race([Promise.all(running), over]);
      limit.abort();
    }
    for (const held of ending) this.#end(held, 'back');
    await this.#pump();
  }

  /** Polls a key again whose pause was ended early. */
  resumeKey(name: string, key: string): void {
    const listener = this.#listeners.get(name);
    if (listener) this.#paceOf(listener).keys.add(key);
    this.wake([{ listener: name }]);
  }

  /** SQL condition on a row of `job`: this process has claimed it, or is claiming it, and has not started it. */
  notBegun(name: string, key: string): RawBuilder<unknown> {
    const running = [...this.#held]
      .filter(({ end, job }) => end !== undefined && job.listener === name && job.key === key)
      .map(({ job: { id } }) => id);
    return sql`(owner = ${this.#owner} and id <> all(${running}::uuid[]))`;
  }

  /** Drops claimed jobs that were cancelled before they started; their rows are deleted already. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#cancelledMeanwhile.add(id);
    for (const held of this.#held)
      if (held.end === undefined && this.#cancelledMeanwhile.has(held.job.id)) this.#held.delete(held);
    this.#fill();
    void this.#pump();
  }

  /** Starts no more jobs of a key: those already claimed are put back. */
  releaseKey(name: string, key: string): void {
    this.#pausedMeanwhile.add(`${name} ${key}`);
    for (const held of this.#held)
      if (held.end === undefined && held.job.listener === name && held.job.key === key) this.#end(held, 'back');
  }

  /**
   * Runs the worker loop, if it does not run already. Resolves when no more work has come up in the meantime; never
   * rejects.
   */
  #pump({ looks = true } = {}): Promise<void> | undefined {
    this.#again = true;
    this.#looks ||= looks;
    if (this.#state !== 'idle') this.#pumping ??= this.#context.runInAsyncScope(() => this.#turn());
    return this.#pumping;
  }

  async #turn(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        if (this.#ended.length > 0) await this.#settle();
        if (this.#unscheduled.size > 0) await this.#schedule();
        if (this.#state !== 'started' || !this.#looks) continue;
        this.#looks = false;
        this.#lookAt = performance.now() + LOOK_AGAIN;
        const wait = await this.#take();
        this.#lookAt = performance.now() + wait;
      } catch (error) {
        this.#lookAt = performance.now() + LOOK_AGAIN;
        this.#parts.log.warn({ error: messageOf(error) }, 'jobs are waiting: the database did not respond');
      }
    }
    this.#pumping = undefined;
    clearTimeout(this.#timer);
    if (this.#state === 'started')
      this.#timer = setTimeout(
        () => void this.#pump(),
        Math.max(0, Math.ceil(this.#lookAt - performance.now())),
      ).unref();
  }

  /** Polls these listeners again: a job was added or ended, so that a key that was full may have room for more. */
  #lookFor(works: readonly { readonly listener: string }[]): void {
    for (const name of new Set(works.map(({ listener }) => listener))) {
      const listener = this.#listeners.get(name);
      if (listener) this.#paceOf(listener).fullUntil = 0;
    }
  }

  async #settle(): Promise<void> {
    const count = this.#ended.length;
    await this.#parts.data.all(sql`
      with d as (
        select * from json_to_recordset(${JSON.stringify(this.#ended)}::json)
          as d(id uuid, listener text, attempt integer, "end" text, delay float8, error text, next timestamptz)
      ), done as (delete from job j using d where d.end = 'done' and d.next is null and ${this.#mine})
      update job j set owner = null, leased_until = null,
        id = case when d.next is null then j.id else gen_random_uuid() end,
        attempt = case when d.next is null and d.end <> 'rest' then j.attempt - (d.end = 'back')::integer else 0 end,
        run_at = coalesce(d.next, case when d.end in ('back', 'rest') then ${DUE_AGAIN} else now() + make_interval(secs => coalesce(d.delay, 0)) end),
        failed_at = case when d.end = 'failed' and d.next is null and d.delay is null then now() end,
        error = case when d.end = 'back' then j.error else d.error end
      from d where (d.end <> 'done' or d.next is not null) and ${this.#mine}`);
    const ended = this.#ended.splice(0, count);
    for (const { listener: name, key } of ended) {
      const listener = this.#listeners.get(name);
      if (listener && key !== null) this.#paceOf(listener).keys.add(key);
    }
    this.#lookFor(ended);
  }

  /**
   * Each cron expression has one row, which stands for its next scheduled time. Runs that were missed while no process
   * was running are thus made up for by a single one.
   */
  async #schedule(): Promise<void> {
    const listeners = [...this.#unscheduled];
    const rows = listeners.map(({ name, cron, cronKey }) => ({
      listener: name,
      key: cronKey,
      cron: cron?.getPattern(),
      next: cron?.nextRun(),
    }));
    await this.#parts.data.all(sql`insert into job as j (id, listener, key, payload, cron, run_at)
      select gen_random_uuid(), r.listener, r.key, '{}', r.cron, coalesce(r.next, 'infinity')
      from json_to_recordset(${JSON.stringify(rows)}::json) as r(listener text, key text, cron text, next timestamptz)
      order by r.listener
      on conflict (listener) where cron is not null do update
        set cron = excluded.cron, key = excluded.key, run_at = excluded.run_at
      where (j.cron, j.key) is distinct from (excluded.cron, excluded.key) and j.owner is null`);
    for (const listener of listeners) this.#unscheduled.delete(listener);
  }

  /** Claims due jobs that have room; resolves to the milliseconds until there may be more. */
  async #take(): Promise<number> {
    const begun = performance.now();
    this.#pausedMeanwhile.clear();
    this.#cancelledMeanwhile.clear();
    const whole = begun >= this.#wholeAgain;
    const listeners = [...this.#listeners.values()];
    const open = listeners.filter((listener) => whole || this.#paceOf(listener).fullUntil <= begun);
    if (whole) for (const listener of listeners) this.#restart(listener);
    const next = await this.#next(open, whole);
    for (const look of next) {
      const listener = this.#listeners.get(look.listener);
      if (!listener) continue;
      const due = this.#isDue(listener, look, begun);
      const pace = this.#paceOf(listener);
      if (!isKeyed(listener) && look.at !== null) pace.place = { at: look.at, id: look.id };
      pace.drained = !isKeyed(listener) && !due;
      if (due) await this.#takeOf(listener, look, whole);
    }
    if (whole) this.#wholeAgain = performance.now() + Math.max(LOOK_AGAIN, (performance.now() - begun) / WHOLE_LOOKS);
    const waits = next
      .flatMap(({ wait, later, pause }) => [wait ?? 0, later ?? 0, pause ?? 0])
      .filter((wait) => wait > 0);
    // Listeners that were full when this poll started are not part of it, though they may have room by now.
    const full = listeners
      .map((listener) => this.#paceOf(listener).fullUntil)
      .filter((until) => until > begun)
      .map((until) => Math.max(0, until - performance.now()));
    return Math.ceil(Math.min(LOOK_AGAIN, ...waits, ...full)) + 1;
  }

  #restart(listener: Listener): void {
    const pace = this.#paceOf(listener);
    pace.restarted = true;
    // Without keys, the place moves back only if an earlier job is found.
    if (isKeyed(listener)) pace.place = BEGINNING;
  }

  /** Whether jobs of a listener may be ready to claim, at `now` on the clock of `performance.now`. */
  #isDue(listener: Listener, { wait, pause }: Next, now: number): boolean {
    const pace = this.#paceOf(listener);
    if ((wait !== null && wait <= 0) || pace.keys.size > 0 || pace.pausedUntil <= now) return true;
    pace.pausedUntil = Math.min(pace.pausedUntil, now + (pause ?? Infinity));
    return false;
  }

  /** Claims as many jobs of a listener as it has room for. */
  async #takeOf(listener: Listener, { later, pause }: Next, whole: boolean): Promise<void> {
    const room = this.#roomOf(listener);
    if (room <= 0) return;
    const pace = this.#paceOf(listener);
    const begun = performance.now();
    pace.pausedUntil = begun + (pause ?? Infinity);
    // Set before the claim, which may miss jobs that are added or end while it runs.
    if (isKeyed(listener)) pace.fullUntil = begun + Math.min(later ?? LOOK_AGAIN, pause ?? LOOK_AGAIN);
    const { jobs, complete } = await this.#claim(listener, room, whole);
    for (const job of jobs) this.#hold(job);
    this.#fill();
    // For listeners with keys, a complete poll claims everything that may run.
    if (isKeyed(listener) && complete) return;
    pace.fullUntil = 0;
    pace.drained = complete;
    if (!complete) this.#again = this.#looks = true;
    // Rows that cannot be claimed are read once more after each poll from the beginning; allow for that time.
    if (pace.restarted && jobs.length === 0) this.#wholeAgain += (performance.now() - begun) / WHOLE_LOOKS;
  }

  /** The first job of each listener, found by index: the cost does not grow with the number of waiting jobs. */
  #next(listeners: readonly Listener[], whole: boolean): Promise<readonly Next[]> {
    const looks = listeners.map((listener) => ({
      listener: listener.name,
      ...(whole ? BEGINNING : this.#paceOf(listener).place),
      keyed: isKeyed(listener),
    }));
    const waiting = sql`listener = o.listener and failed_at is null and owner is null and run_at < 'infinity'`;
    const milliseconds = (at: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`extract(epoch from ${at} - now())::float8 * 1000`;
    return this.#parts.data.all(sql<Next>`${sql.raw(PLANNED_EACH_TIME)}
      select o.listener, ${milliseconds(sql`n.run_at`)} as wait,
        case when n.run_at <= now() then least(n.run_at, ${MARGIN_AGO})::text end as at,
        case when n.run_at <= ${MARGIN_AGO} then n.id else ${BEGINNING.id} end as id,
        ${milliseconds(sql`case when n.run_at <= now() then (select run_at from job where ${waiting} and run_at > now() order by run_at limit 1) else n.run_at end`)} as later,
        case when o.keyed then ${milliseconds(sql`(select min(until) from job_pause where listener = o.listener and until > now())`)} end as pause
      from json_to_recordset(${JSON.stringify(looks)}::json) as o(listener text, at timestamptz, id uuid, keyed boolean)
      left join lateral
        (select run_at, id from job where ${waiting} and (run_at, id) >= (o.at, o.id) order by run_at, id limit 1) n on true`);
  }

  /**
   * How many more jobs of a listener this process may claim. Jobs that wait behind others with their key do not keep
   * those of another key from running.
   */
  #roomOf(listener: Listener): number {
    const { limit = DEFAULT_LIMIT, perKey = Infinity, external } = listener.durability;
    let [held, active] = [0, 0];
    const ofKey = new Map<string, number>();
    for (const one of this.#held) {
      if (one.listener !== listener) continue;
      held++;
      const before = ofKey.get(keyOf(one)) ?? 0;
      ofKey.set(keyOf(one), before + 1);
      if (before < perKey) active++;
    }
    const ahead = this.#aheadOf(listener, limit);
    const room = Math.max(limit + ahead - held, limit - active);
    return Math.min(room, external || ahead > 0 ? Infinity : CAPACITY - this.#running());
  }

  /** How many jobs that count towards the capacity of this process are running. */
  #running(): number {
    return [...this.#held].filter(({ end, listener }) => end !== undefined && !listener.durability.external).length;
  }

  /**
   * How many jobs to claim in advance when `most` may run: for those that wait for other servers as many again, so that
   * the next starts at once, and for short ones as many as end within a moment.
   */
  #aheadOf(listener: Listener, most: number): number {
    if (listener.durability.external) return most;
    return Math.min(AHEAD.works, Math.floor((most * AHEAD.time) / this.#paceOf(listener).takes));
  }

  #paceOf(listener: Listener): Pace {
    const known = this.#paces.get(listener);
    if (known) return known;
    const pace: Pace = {
      place: BEGINNING,
      keys: new Set(),
      window: WINDOW.least,
      restarted: true,
      pausedUntil: Infinity,
      takes: Infinity,
      fullUntil: 0,
      drained: false,
    };
    this.#paces.set(listener, pace);
    return pace;
  }

  /** Claims due rows of one listener, oldest first. */
  async #claim(listener: Listener, room: number, whole: boolean): Promise<Look> {
    const { data } = this.#parts;
    const { perKey } = listener.durability;
    if (perKey === undefined) {
      const { at, id } = this.#paceOf(listener).place;
      const onwards = sql`(j.run_at, j.id) >= (${at}::timestamptz, ${id}::uuid)`;
      const jobs = await this.#claimed(listener, this.#due(listener, room, onwards));
      return { jobs, complete: jobs.length < boundOf(room) };
    }
    const claim = async (): Promise<Look> => {
      const look = await this.#claimByKey(listener, room, perKey);
      // These were stored when the definition had no key.
      if (!whole || look.jobs.length >= room) return look;
      const without = await this.#claimed(listener, this.#due(listener, room - look.jobs.length, sql`j.key is null`));
      return { ...look, jobs: [...look.jobs, ...without] };
    };
    // Two processes that count the running jobs of a key at the same moment would both find room for one more.
    return data.transaction(async () => {
      await data.lock('jobs:claim by key');
      return claim();
    });
  }

  /**
   * The limit is a literal, in a few sizes only: with a parameter the query planner would assume a tenth of the table.
   */
  #due({ name }: Listener, room: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
    const bound = sql.lit(boundOf(room));
    return sql`select j.id from job j where j.listener = ${name} and j.failed_at is null and j.owner is null
      and j.run_at <= now()
      and ${condition} order by j.run_at, j.id limit ${bound} for update of j skip locked`;
  }

  /**
   * Claims the first jobs of keys that have room. Candidates are the keys of a window of waiting jobs, keys that have
   * room again since the window passed their jobs, and keys whose pause is over. The window moves on past claimed jobs
   * and those under full keys, so that the cost depends neither on how many jobs wait, nor under how many keys, nor on
   * how many have run. If more keys have room again than one poll asks for, they take turns. No jobs of a paused key
   * are claimed. While another process runs jobs of a key, no more of that key are claimed than may run. The condition
   * on waiting jobs of a key is written so that only the index that starts with the key fits: whatever the table
   * statistics say, any other index would read the waiting jobs of all keys.
   */
  async #claimByKey(listener: Listener, room: number, perKey: number): Promise<Look> {
    const { name } = listener;
    const pace = this.#paceOf(listener);
    const depth = perKey + this.#aheadOf(listener, perKey);
    const again = pace.keys
      .values()
      .take(room + pace.window / WINDOW.by)
      .toArray();
    const order = sql`order by j.key, j.listener, j.run_at, j.id`;
    const waiting = sql`j.failed_at is null and j.owner is null and j.key is not null`;
    const rows = await this.#parts.data.all(sql<LookRow>`
      with seen as materialized (
        select key, run_at, id, row_number() over (order by run_at, id) as nth from (
          select j.key, j.run_at, j.id from job j where j.listener = ${name} and ${waiting} and j.run_at <= now()
            and (j.run_at, j.id) >= (${pace.place.at}::timestamptz, ${pace.place.id}::uuid)
            order by j.run_at, j.id limit ${sql.lit(pace.window)}) w
      ), keys as materialized (
        select key, min(nth) as nth from (
          select key, nth from seen union all select unnest(${again}::text[]), 0
          union all select key, 0 from job_pause where listener = ${name} and until <= now()) k group by key
      ), busy as materialized (
        select key, count(*)::integer as n, bool_or(owner <> ${this.#owner}) as elsewhere from job
        where listener = ${name} and owner is not null and key = any(array(select key from keys))
          and leased_until > now() group by key
      ), free as materialized (
        select * from (
          select k.*, case when p.key is not null then 1 when b.elsewhere then ${perKey}::integer else ${depth}::integer end - coalesce(b.n, 0) as room
          from keys k left join busy b on b.key = k.key left join job_pause p on p.listener = ${name} and p.key = k.key
          where p.until is null or p.until <= now()) f where room > 0
      ), nearest as materialized (
        select * from free order by nth limit ${room + again.length}
      ), share as materialized (
        select greatest(1, ${room}::integer / greatest(1, count(*)::integer)) as n from nearest
      ), ready as materialized (
        select w.* from nearest s cross join lateral (
          select j.id, j.key, j.run_at, row_number() over (${order}) as nth from job j
          where ${waiting} and (j.key, j.listener, j.run_at) >= (s.key, ${name}, '-infinity')
            and (j.key, j.listener, j.run_at) <= (s.key, ${name}, now())
          ${order} limit (select n + 1 from share)
        ) w where w.nth <= s.room
      ), first as materialized (
        select r.id from ready r, share s where r.nth <= s.n order by r.run_at, r.id limit ${room}
      ), due as materialized (
        select j.id from first f join job j on j.id = f.id and j.listener = ${name} for update of j skip locked
      ), taken as (
        ${this.#taking(listener)}
      ), beyond as materialized (
        select key, nth from free
        where (key not in (select key from nearest)
          or key in (select key from ready where id not in (select id from first))) is true
      ), next as materialized (
        select coalesce((select min(nth) from beyond where nth > 0),
          (select max(nth) from seen having count(*) = ${sql.lit(pace.window)})) as nth
      )
      select t.*, coalesce(s.run_at, ${MARGIN_AGO})::text as at,
        coalesce(s.id, ${BEGINNING.id}) as place,
        n.nth is null and not exists (select from beyond) as complete,
        array(select key from beyond where nth = 0) as "left"
      from next n left join seen s on s.nth = n.nth left join taken t on true`);
    const { at, place, left, complete: seen } = rows[0]!;
    const jobs = rows.filter((row) => row.id !== null);
    const others = pace.keys.size > again.length;
    const complete = seen && !others;
    const goesOn = others || at !== pace.place.at || place !== pace.place.id || left.length < again.length;
    pace.place = { at, id: place };
    // Keys with more waiting jobs move behind all others.
    for (const key of again) {
      pace.keys.delete(key);
      if (left.includes(key)) pace.keys.add(key);
    }
    if (complete) pace.restarted = false;
    pace.window = !complete && jobs.length === 0 ? Math.min(WINDOW.most, pace.window * WINDOW.by) : WINDOW.least;
    // Rows locked by other processes are looked for later, rather than in a busy loop.
    return { jobs: jobs.toSorted(inOrder), complete: complete || (jobs.length === 0 && !goesOn) };
  }

  async #claimed(listener: Listener, due: RawBuilder<unknown>): Promise<readonly Claimed[]> {
    const jobs = await this.#parts.data.all(
      sql<Claimed>`${sql.raw(PLANNED_EACH_TIME)} with due as materialized (${due}) ${this.#taking(listener)}`,
    );
    return jobs.toSorted(inOrder);
  }

  /** Claims the rows whose ids are in `due` for this process. */
  #taking({ name }: Listener): RawBuilder<unknown> {
    return sql`update job j
      set owner = ${this.#owner}, attempt = j.attempt + 1, leased_until = now() + make_interval(secs => ${LEASE})
      from due d where j.id = d.id and j.listener = ${name}
      returning j.id, j.listener, j.key, j.payload, j.attempt, j.cron, j.run_at`;
  }

  #hold(job: Claimed): void {
    if (this.#cancelledMeanwhile.has(job.id)) return;
    const listener = this.#listeners.get(job.listener);
    // Its plugin was stopped, or its key paused, while the row was being claimed.
    const paused = job.key !== null && this.#pausedMeanwhile.has(`${job.listener} ${job.key}`);
    if (!listener || paused || this.#state === 'stopped') return this.#note(job, { end: 'back' });
    this.#held.add({ job, listener, controller: new AbortController(), end: undefined, continues: false });
  }

  /** Starts claimed jobs that have room to run. */
  #fill(): void {
    let running = 0;
    /** Number of running jobs of each listener, and of each of its keys. */
    const busy = new Map<Listener | string, number>();
    const count = (held: Held): void => {
      if (!held.listener.durability.external) running++;
      for (const whose of [held.listener, keyOf(held)]) busy.set(whose, (busy.get(whose) ?? 0) + 1);
    };
    for (const held of this.#held) if (held.end !== undefined) count(held);
    for (const held of this.#held) {
      const { external = false, limit = DEFAULT_LIMIT, perKey = Infinity } = held.listener.durability;
      if (held.end !== undefined || (!external && running >= CAPACITY)) continue;
      if ((busy.get(held.listener) ?? 0) >= limit || (busy.get(keyOf(held)) ?? 0) >= perKey) continue;
      count(held);
      this.#begin(held);
    }
  }

  #begin(held: Held): void {
    const {
      job,
      listener,
      controller: { signal },
    } = held;
    const begun = performance.now();
    // A job that stops because it was aborted has not failed: the supervisor does not count it.
    const continueWith = async (rest: string, after: number): Promise<void> => {
      const { id, attempt } = job;
      const [row] = await this.#parts.data
        .all(sql`update job set payload = ${rest}::jsonb, run_at = now() + make_interval(secs => ${after})
        where id = ${id} and listener = ${listener.name} and attempt = ${attempt} and owner = ${this.#owner} returning id`);
      if (!row) throw new Error('another process has taken this job');
      held.continues = true;
    };
    const work = async (): Promise<unknown> =>
      listener.run(job.payload as never, { id: job.id, attempt: job.attempt, signal, continueWith });
    const brokenOff = (thrown: unknown): unknown =>
      signal.aborted ? this.#end(held, 'back') : Promise.reject(thrown as Error);
    const attempt = Promise.try(() =>
      this.#parts.supervisor.run(listener.task, () => work().catch(brokenOff), Infinity),
    );
    held.end = attempt
      .then(
        () => this.#end(held, held.continues ? 'rest' : 'done'),
        (error: unknown) => this.#end(held, 'failed', messageOf(error)),
      )
      .finally(() => {
        const pace = this.#paceOf(listener);
        const took = performance.now() - begun;
        pace.takes = pace.takes === Infinity ? took : 0.9 * pace.takes + 0.1 * took;
        this.#fill();
      });
  }

  #end(held: Held, end: Ended['end'], error?: string): void {
    // Otherwise it was given up before: its row was put back, or belongs to another process.
    if (!this.#held.delete(held)) return;
    const {
      job,
      listener: {
        cron,
        durability: { retry = RETRY },
      },
    } = held;
    const delay = end === 'failed' ? retry[job.attempt - 1] : undefined;
    // On a clock that is behind the database's, the scheduled time of this run may still seem to be ahead.
    const next =
      job.cron === null || end === 'back' || end === 'rest'
        ? undefined
        : cron?.nextRun(new Date(Math.max(Date.now(), job.run_at.getTime())));
    const retried = delay !== undefined && next && Date.now() + delay * 1_000 < next.getTime();
    this.#note(job, { end, error, delay, next: retried ? undefined : next });
  }

  #note({ id, listener: name, key, attempt }: Claimed, how: Ended): void {
    this.#ended.push({ id, listener: name, key, attempt, ...how });
    const listener = this.#listeners.get(name);
    // If the process was at capacity until now, due jobs of other listeners may be waiting.
    const leavesNothing =
      how.end === 'done' && !how.next && listener && this.#paceOf(listener).drained && this.#running() < CAPACITY - 1;
    void this.#pump({ looks: !leavesNothing });
  }

  /**
   * Renews the leases of held jobs, aborts those that another process has taken in the meantime, and releases the rows
   * of dead processes.
   */
  async #renew(): Promise<void> {
    const { data, log } = this.#parts;
    const held = [...this.#held];
    const rows = JSON.stringify(held.map(({ job: { id, listener, attempt } }) => ({ id, listener, attempt })));
    try {
      const kept = await data.all(sql<{
        id: string;
        listener: string;
      }>`update job j set leased_until = now() + make_interval(secs => ${LEASE})
        from json_to_recordset(${rows}::json) as d(id uuid, listener text, attempt integer)
        where ${this.#mine} returning j.id, j.listener`);
      const lost = held.filter(
        ({ job }) => !kept.some(({ id, listener }) => id === job.id && listener === job.listener),
      );
      for (const one of lost)
        if (this.#held.delete(one)) one.controller.abort(new Error('another process has taken this job'));
      const freed = await data.all(
        sql`update job set owner = null, leased_until = null, run_at = ${DUE_AGAIN} where owner is not null
          and leased_until <= now() returning id`,
      );
      if (freed.length > 0) void this.#pump();
      if (this.#renewals++ % CLEAN_EVERY === 0) await this.#clean();
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the leases of running jobs could not be renewed');
    }
  }

  async #clean(): Promise<void> {
    const batch = (old: RawBuilder<unknown>): Promise<readonly unknown[]> =>
      this.#parts.data.all(sql`delete from job where (id, listener) in (
        select id, listener from job where ${old} limit ${CLEAN_BATCH} for update skip locked) returning 1`);
    for (const old of TOO_OLD) while (this.#state === 'started' && (await batch(old)).length === CLEAN_BATCH);
  }
}
