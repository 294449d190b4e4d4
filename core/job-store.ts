import { randomBytes, randomUUID } from 'node:crypto';
import { sql, type Database } from './data.ts';

/** A row to be: `payload` is JSON already, so that what is changed after the raising does not change it. */
export interface NewJob {
  readonly id: string;
  readonly listener: string;
  readonly key: string | undefined;
  readonly payload: string;
  readonly at: Date | undefined;
}

/** A row this process has taken; `attempt` counts from 1. */
export interface ClaimedJob {
  readonly id: string;
  readonly listener: string;
  readonly key: string | null;
  readonly payload: unknown;
  readonly attempt: number;
}

/** How an attempt ended. `back`: it did not count. `delay` in seconds. */
export interface Outcome {
  readonly job: ClaimedJob;
  readonly end: 'done' | 'again' | 'failed' | 'back';
  readonly delay?: number;
  readonly error?: string;
}

/** What a listener may still take now; `perKey` is its limit over all processes. */
export interface Opening {
  readonly listener: string;
  readonly free: number;
  readonly perKey: number | undefined;
}

export interface JobReport {
  readonly listener: string;
  readonly waiting: number;
  readonly running: number;
  readonly failed: number;
  /** When the oldest waiting one was or is due. */
  readonly oldest: Date | null;
  readonly error: string | null;
}

/** Seconds until a row whose process has died is taken by another; renewed every third of it. */
export const LEASE = 30;
/** The advisory lock under which limits per key are counted; the number has no meaning. */
const CLAIMING = 7_216_003;

const refs = (jobs: readonly ClaimedJob[]): string => JSON.stringify(jobs.map(({ id, listener, attempt }) => ({ id, listener, attempt })));

/** The statements behind the job queue. */
export class JobStore {
  /** Marks the rows of this process. */
  readonly owner: string = randomUUID();
  readonly #data: Database;

  constructor(data: Database) {
    this.#data = data;
  }

  /** One statement, in the transaction under way. */
  async insert(jobs: readonly NewJob[]): Promise<void> {
    const rows = jobs.map(({ payload, ...row }) => `${JSON.stringify(row).slice(0, -1)},"payload":${payload}}`);
    await this.#data.all(sql`insert into job (id, listener, key, payload, run_at) select r.id, r.listener, r.key, r.payload, coalesce(r.at, now())
      from json_to_recordset(${`[${rows.join(',')}]`}::json) as r(id uuid, listener text, key text, payload jsonb, at timestamptz)`);
  }

  /** Takes due rows, oldest first, and says in how many milliseconds the next becomes due. One statement, so nothing falls between. */
  async claim(openings: readonly Opening[], max: number): Promise<{ readonly jobs: readonly ClaimedJob[]; readonly wait: number | null }> {
    const claim = () => this.#data.one(sql<{ jobs: ClaimedJob[]; wait: number | null }>`
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
        where d.key is null or d."perKey" is null or d.nth + coalesce(b.n, 0) <= d."perKey" order by d.run_at, d.id limit ${max}
      ), claimed as (
        update job j set owner = ${this.owner}, attempt = j.attempt + 1, run_at = now() + make_interval(secs => ${LEASE})
        from chosen c where j.id = c.id and j.listener = c.listener returning j.id, j.listener, j.key, j.payload, j.attempt, c.run_at
      )
      select coalesce((select json_agg(c order by c.run_at, c.id) from claimed c), '[]') as jobs, (
        select extract(epoch from min(n.run_at) - now())::float8 * 1000 from opening o cross join lateral (
          select run_at from job where listener = o.listener and failed_at is null and run_at > now() order by run_at limit 1
        ) n
      ) as wait`);
    // Two processes that count one key at the same moment would both find room for one more.
    const counted = !this.#data.embedded && openings.some((opening) => opening.perKey !== undefined);
    const claimed = counted ? await this.#data.transaction(async () => {
      await this.#data.all(sql`select pg_advisory_xact_lock(${CLAIMING})`);
      return claim();
    }) : await claim();
    return claimed ?? { jobs: [], wait: null };
  }

  /** Rows that another process has taken meanwhile are left alone. */
  async settle(outcomes: readonly Outcome[]): Promise<void> {
    const done = outcomes.filter(({ end }) => end === 'done').map(({ job }) => job);
    const kept = outcomes.filter(({ end }) => end !== 'done').map(({ job: { id, listener, attempt }, end, delay, error }) => ({ id, listener, attempt, end, delay, error }));
    if (done.length > 0) {
      await this.#data.all(sql`delete from job j using json_to_recordset(${refs(done)}::json) as d(id uuid, listener text, attempt integer)
        where j.id = d.id and j.listener = d.listener and j.attempt = d.attempt and j.owner = ${this.owner}`);
    }
    if (kept.length === 0) return;
    await this.#data.all(sql`update job j set owner = null, attempt = j.attempt - (d.end = 'back')::integer, run_at = now() + make_interval(secs => coalesce(d.delay, 0)),
        failed_at = case when d.end = 'failed' then now() end, error = coalesce(d.error, j.error)
      from json_to_recordset(${JSON.stringify(kept)}::json) as d(id uuid, listener text, attempt integer, "end" text, delay float8, error text)
      where j.id = d.id and j.listener = d.listener and j.attempt = d.attempt and j.owner = ${this.owner}`);
  }

  /** Those of `jobs` that still belong to this process, their lease begun anew. */
  renew(jobs: readonly ClaimedJob[]): Promise<readonly { readonly id: string; readonly listener: string; readonly attempt: number }[]> {
    return this.#data.all(sql<ClaimedJob>`update job j set run_at = now() + make_interval(secs => ${LEASE})
      from json_to_recordset(${refs(jobs)}::json) as d(id uuid, listener text, attempt integer)
      where j.id = d.id and j.listener = d.listener and j.attempt = d.attempt and j.owner = ${this.owner} returning j.id, j.listener, j.attempt`);
  }

  /** The embedded database has one process: whatever was running when it opened belongs to a dead one. */
  async recover(): Promise<void> {
    if (this.#data.embedded) await this.#data.all(sql`update job set owner = null, run_at = now() where owner is not null`);
  }

  async cancel(id: string, listener: string): Promise<boolean> {
    const rows = await this.#data.all(sql`delete from job where id = ${id} and listener = ${listener} and owner is null and failed_at is null returning id`);
    return rows.length > 0;
  }

  async forget(plugin: string): Promise<void> {
    await this.#data.all(sql`delete from job where starts_with(listener, ${`${plugin}/`})`);
    await this.#data.all(sql`delete from job_schedule where starts_with(listener, ${`${plugin}/`})`);
  }

  /** Failed work is kept for 30 days; what no process has a listener for, 90 days after it was due. */
  async clean(): Promise<void> {
    await this.#data.all(sql`delete from job where failed_at < now() - interval '30 days' or (failed_at is null and run_at < now() - interval '90 days')`);
    await this.#data.all(sql`delete from job_schedule where next_at < now() - interval '90 days'`);
  }

  async retry(listener: string): Promise<number> {
    const rows = await this.#data.all(sql`update job set failed_at = null, attempt = 0, run_at = now() where listener = ${listener} and failed_at is not null returning id`);
    return rows.length;
  }

  report(): Promise<readonly JobReport[]> {
    return this.#data.all(sql<JobReport>`select listener, count(*) filter (where failed_at is null and (owner is null or run_at <= now()))::integer as waiting,
        count(*) filter (where owner is not null and run_at > now())::integer as running, count(*) filter (where failed_at is not null)::integer as failed,
        min(run_at) filter (where failed_at is null and owner is null) as oldest, (array_agg(error order by failed_at desc nulls last, id) filter (where error is not null))[1] as error
      from job group by listener order by listener`);
  }
}

let lastMoment = 0;
let sequence = 0;

/** A UUID of version 7 that sorts by when it was made, within this process also inside one millisecond. */
export function orderedId(): string {
  const now = Date.now();
  sequence = now > lastMoment ? 0 : sequence + 1;
  // Twelve bits count within a millisecond; beyond them the next one is borrowed.
  lastMoment = Math.max(now, lastMoment) + (sequence >> 12);
  sequence &= 0xfff;
  const bytes = randomBytes(16);
  bytes.writeUIntBE(lastMoment, 0, 6);
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
