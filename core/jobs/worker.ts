import { AsyncResource } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Cron } from 'croner';
import { PLANNED_ANEW, sql, type Database, type RawBuilder } from '../data/database.ts';
import { messageOf } from '../errors.ts';
import type { Cluster } from '../cluster.ts';
import type { Delivery, Durability } from '../hooks.ts';
import { ZERO_ID } from '../ids.ts';
import type { Logger } from '../logger.ts';
import type { Supervisor, Task } from '../plugins/supervisor.ts';

/** How many of one listener run at a time in one process, where it does not say. */
const DEFAULT_LIMIT = 4;
/** How many run at a time in one process, all listeners together but those that wait for other servers. */
const CAPACITY = 16;
/**
 * How many a listener may hold that do not run yet, and for how many milliseconds they may keep it busy: what is quick
 * is not fetched one by one.
 */
const AHEAD = { works: 64, time: 50 };
/**
 * A look begins at the first work that was due at the look before, so that none is passed over that can be seen: what
 * lies before has run, and reading past its remains would take longer and longer. But it begins so many milliseconds
 * before that look at the latest, for between lies what is stored in transactions that take a moment longer.
 */
const MARGIN = 2_000;
const MARGIN_AGO = sql`now() - make_interval(secs => ${sql.lit(MARGIN / 1_000)})`;
/** What part of its time a process may spend on looking at everything, in case something came late all the same. */
const WHOLE_LOOKS = 0.02;
/**
 * How many waiting works with a key one look reads. While all of them wait under keys that are full, each next look reads
 * `by` times as many, so that these are soon passed.
 */
const WINDOW = { least: 250, most: 16_000, by: 4 };
/** Before all work. */
const BEGINNING: Place = { at: '-infinity', id: ZERO_ID };
/** Seconds before each further attempt, where a listener does not say. */
const RETRY = [5, 300, 1_800, 7_200];
/** Seconds until a row whose process has died is taken by another; renewed every third of it. */
const LEASE = 10;
/** Renewals between two clean-ups: one in an hour. */
const CLEAN_EVERY = 1_080;
/** Rows that one statement of a clean-up deletes. */
const CLEAN_BATCH = 1_000;
/** Failed work is kept for 30 days; what no process has a listener for, 90 days after it was due. */
const TOO_OLD = [
  sql`failed_at < now() - interval '30 days' order by failed_at`,
  sql`failed_at is null and owner is null and run_at < now() - interval '90 days' order by listener, run_at, id`,
];
/** Milliseconds that aborted work has to end by itself before it is put back. */
const GRACE = 2_000;
/**
 * Milliseconds until the database is looked at again although nobody said so: it may not have answered, or a process
 * died before it told.
 */
const LOOK_AGAIN = 5_000;
/** Milliseconds in which commits gather before they are published to the other processes. */
const PUBLISH_INTERVAL = 50;

export interface WorkerDeps {
  readonly data: Database;
  readonly supervisor: Supervisor;
  readonly log: Logger;
  /** Carries word of new work to the other processes; what it loses is found by their next look. */
  readonly cluster: Pick<Cluster, 'publish' | 'subscribe'>;
}

/** One run of what was taken. */
interface Attempt extends Delivery {
  /**
   * Puts what is left to do, as JSON, in the place of the payload, due after so many seconds. Throws where another
   * process has taken the work.
   */
  continueWith(rest: string, after: number): Promise<void>;
}

/** Somebody whose work is kept in the database under `name`. */
export interface Listener {
  readonly name: string;
  readonly plugin: string;
  /** Whose raising is heard; a job hears none. */
  readonly action?: string;
  // `never` because the queue carries payloads of unrelated types; hooks and jobs give each its type back.
  readonly run: (payload: never, attempt: Attempt) => unknown;
  readonly durability: Durability<never>;
  readonly cron?: Cron | undefined;
  /** The key under which its schedule runs. */
  readonly cronKey?: string | undefined;
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
  readonly run_at: Date;
}

/** Taken by this process: it runs, or does as soon as its listener has room. */
interface Held {
  readonly job: Claimed;
  readonly listener: Listener;
  readonly controller: AbortController;
  /** Of its end, which never rejects; undefined while it does not run. */
  end: Promise<void> | undefined;
  /** There is something left to do: it is put back instead of taken out when it has ended well. */
  continues: boolean;
}

/** How a work ended. */
interface Ended {
  /** `back`: the attempt does not count. `rest`: it runs once more. */
  readonly end: 'done' | 'rest' | 'failed' | 'back';
  readonly error?: string | undefined;
  /** Seconds until it is tried again. */
  readonly delay?: number | undefined;
  /** The moment its schedule names next. */
  readonly next?: Date | null | undefined;
}

/** Of a work among those of its listener: the moment it is due, as the database writes it, and its id. */
interface Place {
  readonly at: string;
  readonly id: string;
}

/** What is known of a listener's work from taking and running it. */
interface Pace {
  /**
   * Where the next look begins. With a key: what waits before it waits under a key that was full when it was passed;
   * `keys` has those of them that may have room again, the database those whose pause is over.
   */
  place: Place;
  readonly keys: Set<string>;
  /** How many waiting works the next look reads. */
  window: number;
  /** Whether looks began at the beginning again and have not come to the end yet. */
  anew: boolean;
  /** When the first pause of a key ends, in milliseconds of `performance.now`. */
  pausedUntil: number;
  /** Milliseconds that one takes, on the average of the latest; unknown at first. */
  takes: number;
  /**
   * Where every key has as much under way as it may, when that is over by itself, in milliseconds of `performance.now`:
   * until then nothing is looked for, unless work comes or ends.
   */
  fullUntil: number;
  /** Without a key: whether the last look took all that was due, so that its end leaves nothing to look for. */
  drained: boolean;
}

/** The work of one listener that is due next, at or after the place where its next look begins. */
interface Next {
  readonly listener: string;
  /** Where the look after this one begins; null where nothing is due. */
  readonly at: string | null;
  readonly id: string;
  /** Milliseconds until it is due; null where there is none. */
  readonly wait: number | null;
  /** Until work will be due that is not yet. */
  readonly later: number | null;
  /** Until the next pause of a key ends. */
  readonly pause: number | null;
}
const inOrder = (a: Claimed, b: Claimed): number => a.run_at.getTime() - b.run_at.getTime() || (a.id < b.id ? -1 : 1);
/** A work that was taken, or none, and where the look ended. */
type LookRow = (Claimed | { readonly id: null }) & {
  readonly at: string;
  readonly place: string;
  readonly complete: boolean;
  /** Those of the keys that were to be looked at again under which more waits that has room. */
  readonly left: readonly string[];
};
/** What a look at the works of a listener came to. */
interface Look {
  readonly jobs: readonly Claimed[];
  /** Whether all that is due was looked at and what has room is taken. */
  readonly complete: boolean;
}

/** How many are taken of a listener without keys where there is room for so many. */
const boundOf = (room: number): number => 2 ** Math.floor(Math.log2(room));
const isKeyed = ({ durability }: Listener): boolean => durability.perKey !== undefined;
const keyOf = ({ job: { listener, key, id } }: Held): string => `${listener} ${key ?? id}`;
/** Where it has a key it has its place among the others; else nobody looks at what was due long ago. */
const DUE_AGAIN = sql`case when key is null then greatest(run_at, now()) else run_at end`;

/** Takes what is due and has a listener here, runs it, and writes down how it ended. */
export class Worker {
  readonly #parts: WorkerDeps;
  readonly #listeners: ReadonlyMap<string, Listener>;
  /** Jobs belong to no transaction, and to no request, that happens to wake the worker. */
  readonly #context = new AsyncResource('Worker');
  /** Marks the rows of this process. */
  readonly #owner = randomUUID();
  /** Rows `j` that are among `d` and have not been taken by another process meanwhile. */
  readonly #mine = sql`j.id = d.id and j.listener = d.listener and j.attempt = d.attempt and j.owner = ${this.#owner}`;
  /** Keys that were paused while rows were being taken: what was taken of them then is put back. */
  readonly #pausedMeanwhile = new Set<string>();
  /** Ids of what was cancelled while rows were being taken. */
  readonly #cancelledMeanwhile = new Set<string>();
  /** In the order in which it was taken. */
  readonly #held = new Set<Held>();
  readonly #paces = new WeakMap<Listener, Pace>();
  /** When everything is looked at again, in milliseconds of `performance.now`. */
  #wholeAgain = 0;
  /** What has ended and is not written down yet. */
  readonly #ended: Pick<Claimed, 'id' | 'listener' | 'key' | 'attempt'>[] = [];
  readonly #unscheduled = new Set<Listener>();
  #state: 'idle' | 'started' | 'stopped' = 'idle';
  #pumping: Promise<void> | undefined;
  #again = false;
  /** Whether there may be something to take, besides what has ended and is to be written down. */
  #looks = false;
  /** When there may be more to take by itself, in milliseconds of `performance.now`. */
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

  /** From here on its work is taken, and its schedule kept. */
  expect(listener: Listener): void {
    if (listener.cron) this.#unscheduled.add(listener);
    void this.#pump();
  }

  /**
   * There is new work of these listeners. It is published to the other processes soon after the commit, which does not
   * wait for that.
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
   * Aborts what runs (of one listener, or all), gives it 2 s to end by itself, and resolves when what did not is put
   * back.
   */
  async release(listener?: Listener): Promise<void> {
    // Its plugin may be back before the schedules are written, which have one row for each name.
    if (listener) this.#unscheduled.delete(listener);
    const ending = [...this.#held].filter((held) => !listener || held.listener === listener);
    for (const held of ending) if (held.end === undefined) this.#end(held, 'back');
    for (const { controller } of ending) controller.abort(new Error('its plugin stops'));
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

  /** A key has room again before its pause is over. */
  resumeKey(name: string, key: string): void {
    const listener = this.#listeners.get(name);
    if (listener) this.#paceOf(listener).keys.add(key);
    this.wake([{ listener: name }]);
  }

  /** Of a row of `job`: that this process has taken it, or is taking it, and has not begun it. */
  notBegun(name: string, key: string): RawBuilder<unknown> {
    const running = [...this.#held]
      .filter(({ end, job }) => end !== undefined && job.listener === name && job.key === key)
      .map(({ job: { id } }) => id);
    return sql`(owner = ${this.#owner} and id <> all(${running}::uuid[]))`;
  }

  /** Does not begin what was cancelled after it was taken; its rows are gone. */
  forget(ids: readonly string[]): void {
    for (const id of ids) this.#cancelledMeanwhile.add(id);
    for (const held of this.#held)
      if (held.end === undefined && this.#cancelledMeanwhile.has(held.job.id)) this.#held.delete(held);
    this.#fill();
    void this.#pump();
  }

  /** No more of a key begins: what was taken of it beforehand is put back. */
  releaseKey(name: string, key: string): void {
    this.#pausedMeanwhile.add(`${name} ${key}`);
    for (const held of this.#held)
      if (held.end === undefined && held.job.listener === name && held.job.key === key) this.#end(held, 'back');
  }

  /** There may be something to do. Resolves when nothing more has happened meanwhile; never rejects. */
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
        this.#parts.log.warn({ error: messageOf(error) }, 'durable work waits: the database did not answer');
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

  /** Something came or ended, so that there may be room for more under a key that was full. */
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

  /** Each expression has one row, which stands for its next moment. What was missed while nobody ran is so run once. */
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

  /** Takes what is due and has room; resolves to the milliseconds until there may be more. */
  async #take(): Promise<number> {
    const begun = performance.now();
    this.#pausedMeanwhile.clear();
    this.#cancelledMeanwhile.clear();
    const whole = begun >= this.#wholeAgain;
    const listeners = [...this.#listeners.values()];
    const open = listeners.filter((listener) => whole || this.#paceOf(listener).fullUntil <= begun);
    if (whole) for (const listener of listeners) this.#beginAnew(listener);
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
    // Those that were full when this look began are not in it, though they may not be full any more.
    const full = listeners
      .map((listener) => this.#paceOf(listener).fullUntil)
      .filter((until) => until > begun)
      .map((until) => Math.max(0, until - performance.now()));
    return Math.ceil(Math.min(LOOK_AGAIN, ...waits, ...full)) + 1;
  }

  #beginAnew(listener: Listener): void {
    const pace = this.#paceOf(listener);
    pace.anew = true;
    // Without a key it goes back only where something is found.
    if (isKeyed(listener)) pace.place = BEGINNING;
  }

  /** Whether something of a listener's may be taken, at `now` of `performance.now`. */
  #isDue(listener: Listener, { wait, pause }: Next, now: number): boolean {
    const pace = this.#paceOf(listener);
    if ((wait !== null && wait <= 0) || pace.keys.size > 0 || pace.pausedUntil <= now) return true;
    pace.pausedUntil = Math.min(pace.pausedUntil, now + (pause ?? Infinity));
    return false;
  }

  /** Takes as much of a listener's as it has room for. */
  async #takeOf(listener: Listener, { later, pause }: Next, whole: boolean): Promise<void> {
    const room = this.#roomOf(listener);
    if (room <= 0) return;
    const pace = this.#paceOf(listener);
    const begun = performance.now();
    pace.pausedUntil = begun + (pause ?? Infinity);
    // Before the claim: what comes or ends while it is made may not be in it.
    if (isKeyed(listener)) pace.fullUntil = begun + Math.min(later ?? LOOK_AGAIN, pause ?? LOOK_AGAIN);
    const { jobs, complete } = await this.#claim(listener, room, whole);
    for (const job of jobs) this.#hold(job);
    this.#fill();
    // Of keys a look that is complete takes all that may run.
    if (isKeyed(listener) && complete) return;
    pace.fullUntil = 0;
    pace.drained = complete;
    if (!complete) this.#again = this.#looks = true;
    // What cannot be taken is passed once more after each look at everything.
    if (pace.anew && jobs.length === 0) this.#wholeAgain += (performance.now() - begun) / WHOLE_LOOKS;
  }

  /** The first work of each listener, by its index: nothing grows with how much waits. */
  #next(listeners: readonly Listener[], whole: boolean): Promise<readonly Next[]> {
    const looks = listeners.map((listener) => ({
      listener: listener.name,
      ...(whole ? BEGINNING : this.#paceOf(listener).place),
      keyed: isKeyed(listener),
    }));
    const waiting = sql`listener = o.listener and failed_at is null and owner is null and run_at < 'infinity'`;
    const milliseconds = (at: RawBuilder<unknown>): RawBuilder<unknown> =>
      sql`extract(epoch from ${at} - now())::float8 * 1000`;
    return this.#parts.data.all(sql<Next>`${sql.raw(PLANNED_ANEW)}
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
   * How many more of a listener's works this process may take. Those that wait behind others of their key keep none of
   * another key from running.
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

  /** How many run in this process of those that have a part of its capacity. */
  #running(): number {
    return [...this.#held].filter(({ end, listener }) => end !== undefined && !listener.durability.external).length;
  }

  /**
   * How many more are taken where so many may run: of what waits for other servers as many again, so that the next begins
   * at once, and of what is quick as many as end in a moment.
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
      anew: true,
      pausedUntil: Infinity,
      takes: Infinity,
      fullUntil: 0,
      drained: false,
    };
    this.#paces.set(listener, pace);
    return pace;
  }

  /** Takes due rows of one listener, oldest first. */
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
      // Its definition had no key when it was stored.
      if (!whole || look.jobs.length >= room) return look;
      const without = await this.#claimed(listener, this.#due(listener, room - look.jobs.length, sql`j.key is null`));
      return { ...look, jobs: [...look.jobs, ...without] };
    };
    // Two processes that count one key at the same moment would both find room for one more.
    return data.transaction(async () => {
      await data.lock('jobs:claim by key');
      return claim();
    });
  }

  /**
   * The bound is a part of the text, in a few sizes only: with a value in its place the server would plan for a tenth
   * of the table.
   */
  #due({ name }: Listener, room: number, condition: RawBuilder<unknown>): RawBuilder<unknown> {
    const bound = sql.lit(boundOf(room));
    return sql`select j.id from job j where j.listener = ${name} and j.failed_at is null and j.owner is null
      and j.run_at <= now()
      and ${condition} order by j.run_at, j.id limit ${bound} for update of j skip locked`;
  }

  /**
   * The first works of keys that have room: of those of a window of what waits, of those that have got room since what
   * waits under them was passed, and of those whose pause is over. The window moves on past what it took and what waits
   * under full keys, so that neither how much waits, nor under how many keys, nor what has run counts. Where more keys
   * have got room than a look asks for, they take turns. Of a paused key nothing is taken. While another process is at a
   * key, no more is taken of it than may run. What waits under a key is named so that no index will do but the one that
   * begins with keys: whatever the statistics of the table say, an other one would read what waits under all of them.
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
    // Those under which more waits come after all others.
    for (const key of again) {
      pace.keys.delete(key);
      if (left.includes(key)) pace.keys.add(key);
    }
    if (complete) pace.anew = false;
    pace.window = !complete && jobs.length === 0 ? Math.min(WINDOW.most, pace.window * WINDOW.by) : WINDOW.least;
    // What others have locked is looked for later, and not again and again.
    return { jobs: jobs.toSorted(inOrder), complete: complete || (jobs.length === 0 && !goesOn) };
  }

  async #claimed(listener: Listener, due: RawBuilder<unknown>): Promise<readonly Claimed[]> {
    const jobs = await this.#parts.data.all(
      sql<Claimed>`${sql.raw(PLANNED_ANEW)} with due as materialized (${due}) ${this.#taking(listener)}`,
    );
    return jobs.toSorted(inOrder);
  }

  /** Marks the rows whose ids are in `due` as those of this process. */
  #taking({ name }: Listener): RawBuilder<unknown> {
    return sql`update job j
      set owner = ${this.#owner}, attempt = j.attempt + 1, leased_until = now() + make_interval(secs => ${LEASE})
      from due d where j.id = d.id and j.listener = ${name}
      returning j.id, j.listener, j.key, j.payload, j.attempt, j.cron, j.run_at`;
  }

  #hold(job: Claimed): void {
    if (this.#cancelledMeanwhile.has(job.id)) return;
    const listener = this.#listeners.get(job.listener);
    // It was stopped, or its key paused, while the row was being taken.
    const paused = job.key !== null && this.#pausedMeanwhile.has(`${job.listener} ${job.key}`);
    if (!listener || paused || this.#state === 'stopped') return this.#note(job, { end: 'back' });
    this.#held.add({ job, listener, controller: new AbortController(), end: undefined, continues: false });
  }

  /** Begins what is held and has room to run. */
  #fill(): void {
    let running = 0;
    /** How many run of each listener, and of each of its keys. */
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
    // What breaks off because it was told to has not failed: the supervisor does not hear of it.
    const continueWith = async (rest: string, after: number): Promise<void> => {
      const { id, attempt } = job;
      const [row] = await this.#parts.data
        .all(sql`update job set payload = ${rest}::jsonb, run_at = now() + make_interval(secs => ${after})
        where id = ${id} and listener = ${listener.name} and attempt = ${attempt} and owner = ${this.#owner} returning id`);
      if (!row) throw new Error('another process has taken this work');
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
    // Otherwise it was given up before: its row was put back, or is another process's.
    if (!this.#held.delete(held)) return;
    const {
      job,
      listener: {
        cron,
        durability: { retry = RETRY },
      },
    } = held;
    const delay = end === 'failed' ? retry[job.attempt - 1] : undefined;
    // By a clock that is behind the database's, the moment it ran for may seem to be still ahead.
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
    // Where the process was full until now, others may have been left.
    const leavesNothing =
      how.end === 'done' && !how.next && listener && this.#paceOf(listener).drained && this.#running() < CAPACITY - 1;
    void this.#pump({ looks: !leavesNothing });
  }

  /**
   * Begins the leases of what is held anew, aborts what another process has taken meanwhile, and sets free what a dead
   * one held.
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
        if (this.#held.delete(one)) one.controller.abort(new Error('another process has taken this work'));
      const freed = await data.all(
        sql`update job set owner = null, leased_until = null, run_at = ${DUE_AGAIN} where owner is not null
          and leased_until <= now() returning id`,
      );
      if (freed.length > 0) void this.#pump();
      if (this.#renewals++ % CLEAN_EVERY === 0) await this.#clean();
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the leases of running work could not be renewed');
    }
  }

  async #clean(): Promise<void> {
    const batch = (old: RawBuilder<unknown>): Promise<readonly unknown[]> =>
      this.#parts.data.all(sql`delete from job where (id, listener) in (
        select id, listener from job where ${old} limit ${CLEAN_BATCH} for update skip locked) returning 1`);
    for (const old of TOO_OLD) while (this.#state === 'started' && (await batch(old)).length === CLEAN_BATCH);
  }
}
