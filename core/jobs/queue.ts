import { Cron } from 'croner';
import { sql, type Batch, type RawBuilder } from '../data/database.ts';
import { messageOf, PluginError } from '../errors.ts';
import { createId } from '../ids.ts';
import type { Backfill, Job, JobDefinition } from '../plugins/definition.ts';
import { defineToken } from '../ref.ts';
import { check } from '../schema.ts';
import { PluginBackfill } from './backfill.ts';
import { Worker, type Listener, type WorkerDeps } from './worker.ts';

export interface JobReport {
  /** `<plugin>/<action>` or `<plugin>/job:<name>`. */
  readonly listener: string;
  readonly waiting: number;
  readonly running: number;
  readonly failed: number;
  /** When the oldest waiting job was or is due. */
  readonly oldest: Date | null;
  /** The most recent error. */
  readonly error: string | null;
}

/** Durable work as administrators see it. */
export interface Jobs {
  /** Sorted by listener name. */
  report(): Promise<readonly JobReport[]>;
  /** Requeues a listener's failed jobs, starting with their first attempt. Resolves to their number. */
  retry(listener: string): Promise<number>;
}
export const Jobs = defineToken<Jobs>('Jobs');

/** A job about to be inserted. `payload` is JSON, so that later changes of the raised object do not affect it. */
interface Work {
  readonly id: string;
  readonly listener: string;
  readonly key: string | undefined;
  readonly payload: string;
  readonly at: Date | undefined;
  /** A job with this id may already be stored. */
  readonly upsert: boolean;
}

/** Number of jobs per statement: five parameters each, of which the embedded database accepts 32,767. */
const TOGETHER = 5_000;
/**
 * How a job that is already stored is updated: it is due no later than the new one, and starts over if it had failed
 * for good. If it is running and will continue later, the continuation is due no later either.
 */
const STORED_BEFORE = sql`on conflict (id, listener) do update set run_at = excluded.run_at, payload = excluded.payload,
  failed_at = null,
  attempt = case when j.failed_at is null then j.attempt else 0 end
  where j.failed_at is not null or j.run_at > excluded.run_at`;

/**
 * Keeps jobs in one table: stored with the transaction that caused them, run at least once, in any process that has
 * capacity.
 */
export class JobQueue implements Jobs {
  readonly #parts: WorkerDeps;
  readonly #worker: Worker;
  readonly #listeners = new Map<string, Listener>();
  /** The jobs added by open transactions. */
  readonly #collected = new WeakMap<Batch, Work[]>();

  constructor(parts: WorkerDeps) {
    this.#parts = parts;
    this.#worker = new Worker(parts, this.#listeners);
  }

  /** Starts running stored jobs; jobs can be stored before. */
  start(): Promise<void> {
    return this.#worker.start();
  }

  /** Aborts running jobs, gives them 2 s to finish, and requeues the rest for another process or the next start. */
  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /**
   * Registers `run` as a durable listener of `action`. The returned function unregisters it, aborting and requeueing
   * its running jobs; waiting jobs stay until the listener is registered again.
   */
  listen(
    plugin: string,
    action: string,
    run: Listener['run'],
    durability: Listener['durability'] = {},
  ): () => Promise<void> {
    const name = `${plugin}/${action}${durability.id === undefined ? '' : `#${durability.id}`}`;
    return this.#add(name, plugin, `durable ${action}`, { action, run, durability });
  }

  define<P>(
    plugin: string,
    id: string,
    definition: JobDefinition<P>,
  ): { readonly job: Job<P>; readonly stop: () => Promise<void> } {
    const name = `${plugin}/job:${id}`;
    const cron = definition.cron === undefined ? undefined : readCron(plugin, definition.cron);
    const textOf = (payload: P): string => {
      const checked = check(definition.schema, payload);
      if (checked.ok) return JSON.stringify(checked.value);
      const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
      throw new PluginError(plugin, `adds a job "${id}" whose payload does not match its schema: ${problems}`);
    };
    const run: Listener['run'] = (payload, attempt) =>
      definition.run(payload, {
        ...attempt,
        continueWith: async (rest, { after = 0 } = {}) => attempt.continueWith(textOf(rest), after),
      });
    const how = { run, durability: definition, cron };
    const cronKey = cron && this.#key({ name, plugin, ...how }, {});
    const stop = this.#add(name, plugin, `job ${id}`, { ...how, cronKey });
    const job: Job<P> = {
      add: async (payload, { at, once = false, id } = {}) => {
        const text = textOf(payload);
        const listener = this.#listeners.get(name)!;
        const stored = once ? await this.#stored(listener, this.#key(listener, payload)) : undefined;
        if (stored !== undefined) return stored;
        const work = { id: id ?? createId(Date.now()), payload, text, at, upsert: id !== undefined };
        await this.#keep(this.#parts.data.batch(), [listener], work);
        return work.id;
      },
      cancel: async (jobId) => {
        const works = this.#collected.get(this.#parts.data.batch()!) ?? [];
        const kept = works.findIndex((work) => work.id === jobId && work.listener === name);
        if (kept >= 0) return works.splice(kept, 1).length > 0;
        const rows = await this.#parts.data.all(
          sql`delete from job where id = ${jobId} and listener = ${name} and owner is null and failed_at is null
            returning id`,
        );
        return rows.length > 0;
      },
      cancelKey: async (key) => {
        const works = this.#collected.get(this.#parts.data.batch()!) ?? [];
        works.splice(0, works.length, ...works.filter((work) => work.listener !== name || work.key !== key));
        const taken = await this.#parts.data.all(sql<{
          id: string;
        }>`with paused as (delete from job_pause where listener = ${name} and key = ${key}),
          gone as (delete from job where listener = ${name} and key = ${key} and cron is null and failed_at is null
          and (owner is null or ${this.#worker.notBegun(name, key)}) returning id, owner)
          select id from gone where owner is not null`);
        await this.#parts.data.afterCommit(async () => this.#worker.forget(taken.map(({ id }) => id)));
      },
      pause: async (key, seconds) => {
        if (definition.perKey === undefined)
          throw new PluginError(
            plugin,
            `pauses a key of the job "${id}", which has no limit per key; give it \`perKey\``,
          );
        await this.#parts.data.all(sql`insert into job_pause (listener, key, until)
            values (${name}, ${key}, now() + make_interval(secs => ${seconds}))
          on conflict (listener, key) do update set until = excluded.until`);
        await this.#parts.data.afterCommit(async () => this.#worker.releaseKey(name, key));
      },
      resume: async (key) => {
        await this.#parts.data.all(sql`delete from job_pause where listener = ${name} and key = ${key}`);
        await this.#parts.data.afterCommit(async () => this.#worker.resumeKey(name, key));
      },
    };
    return { job, stop };
  }

  /**
   * Stores jobs for the action's durable listeners, in the batch's transaction or at once; undefined if there is
   * nothing to wait for.
   */
  store(action: string, payload: unknown, batch: Batch | undefined): Promise<void> | undefined {
    const listeners = [...this.#listeners.values()].filter((listener) => listener.action === action);
    return listeners.length > 0
      ? this.#keep(batch, listeners, {
          id: createId(Date.now()),
          payload,
          text: JSON.stringify(payload) ?? 'null',
          at: undefined,
          upsert: false,
        })
      : undefined;
  }

  /** The backfill of a plugin that is starting; see `PluginHandle.backfill`. */
  backfill(plugin: string, backfill: Backfill, initial: boolean | undefined): PluginBackfill {
    return new PluginBackfill({ data: this.#parts.data, jobs: this, plugin, backfill, initial });
  }

  /** Removes all jobs of a plugin that is being uninstalled. */
  async forget(plugin: string): Promise<void> {
    const own = sql`starts_with(listener, ${`${plugin}/`})`;
    await this.#parts.data.all(sql`with paused as (delete from job_pause where ${own}),
        copied as (delete from backfill where plugin = ${plugin})
      delete from job where ${own}`);
  }

  /** Does not count schedules that merely wait for their next run. */
  report(): Promise<readonly JobReport[]> {
    return this.#parts.data.all(sql<JobReport>`select listener,
        count(*) filter (where failed_at is null and (owner is null or leased_until <= now()))::integer as waiting,
        count(*) filter (where owner is not null and leased_until > now())::integer as running,
        count(*) filter (where failed_at is not null)::integer as failed,
        min(run_at) filter (where failed_at is null and owner is null) as oldest,
        (array_agg(error order by failed_at desc nulls last, id) filter (where error is not null))[1] as error
      from job where cron is null or owner is not null or run_at <= now() or error is not null group by listener
      order by listener`);
  }

  async retry(listener: string): Promise<number> {
    const rows = await this.#parts.data.all(
      sql`update job set failed_at = null, attempt = 0, run_at = now()
        where listener = ${listener} and failed_at is not null returning id`,
    );
    this.#worker.wake([{ listener }]);
    return rows.length;
  }

  #add(
    name: string,
    plugin: string,
    task: string,
    how: Omit<Listener, 'name' | 'plugin' | 'task'>,
  ): () => Promise<void> {
    if (this.#listeners.has(name))
      throw new PluginError(plugin, `registers "${name}" twice; give one of them an \`id\` or another name`);
    const { supervisor } = this.#parts;
    const listener: Listener = { name, plugin, ...how, task: supervisor.task(plugin, task, 'retry') };
    this.#listeners.set(name, listener);
    this.#worker.expect(listener);
    return () => {
      this.#listeners.delete(name);
      supervisor.forget(plugin, listener.task);
      return this.#worker.release(listener);
    };
  }

  #keep(
    batch: Batch | undefined,
    listeners: readonly Listener[],
    { payload, text, ...work }: Omit<Work, 'listener' | 'key' | 'payload'> & { payload: unknown; text: string },
  ): Promise<void> | undefined {
    const works = listeners.map((listener) => ({
      ...work,
      listener: listener.name,
      key: this.#key(listener, payload),
      payload: text,
    }));
    if (!batch) return this.#insert(works).then(() => this.#worker.wake(works));
    const collected = this.#collected.get(batch);
    if (collected) collected.push(...works);
    else {
      this.#collected.set(batch, works);
      batch.lastStatements.push(() => insertions(works));
      batch.committed.push(() => this.#worker.wake(works));
    }
    return undefined;
  }

  /**
   * The id of a pending or running job with this key, or of one that the current transaction adds; schedules that
   * merely wait for their next run do not count.
   */
  async #stored({ name }: Listener, key: string | undefined): Promise<string | undefined> {
    const collected = this.#collected.get(this.#parts.data.batch()!) ?? [];
    const added = collected.find((work) => work.listener === name && work.key === key);
    if (added) return added.id;
    const row = await this.#parts.data.one(sql<{ id: string }>`select id from job
      where listener = ${name} and key is not distinct from ${key}::text and failed_at is null
        and (cron is null or owner is not null) order by run_at, id limit 1`);
    return row?.id;
  }

  #key(
    { plugin, name, durability }: Pick<Listener, 'plugin' | 'name' | 'durability'>,
    payload: unknown,
  ): string | undefined {
    try {
      return durability.key?.(payload as never);
    } catch (error) {
      this.#parts.log.error(
        { plugin, task: name, error },
        'a durable listener could not return the key of its job; the job is stored without one',
      );
      return undefined;
    }
  }

  async #insert(works: readonly Work[]): Promise<void> {
    for (const statement of insertions(works)) await this.#parts.data.all(statement);
  }
}

/**
 * Uses plain parameters, since expanding a JSON list costs the server twice as much. Jobs are never due before the
 * current moment, not even as early as the start of the transaction, so that workers need not look at times long past.
 */
function insertions(works: readonly Work[]): readonly RawBuilder<unknown>[] {
  const added = works.filter(({ upsert }) => !upsert);
  // One statement cannot update a row twice: the entry that is due first is kept, as for stored jobs.
  const upserted = new Map<string, Work>();
  for (const work of works.filter(({ upsert }) => upsert)) {
    const same = `${work.id} ${work.listener}`;
    if (dueAt(work) < dueAt(upserted.get(same))) upserted.set(same, work);
  }
  return [...insertion(added, sql``), ...insertion([...upserted.values()], STORED_BEFORE)];
}

const dueAt = (work: Work | undefined): number => (work ? (work.at?.getTime() ?? -Infinity) : Infinity);

function* insertion(works: readonly Work[], conflict: RawBuilder<unknown>): Generator<RawBuilder<unknown>> {
  for (let at = 0; at < works.length; at += TOGETHER) {
    const part = works.slice(at, at + TOGETHER);
    const runAt = part.some((work) => work.at)
      ? (work: Work) => sql`greatest(${work.at}::timestamptz, clock_timestamp())`
      : () => sql`clock_timestamp()`;
    const rows = part.map((work) => sql`(${work.id}, ${work.listener}, ${work.key}, ${work.payload}, ${runAt(work)})`);
    yield sql`insert into job as j (id, listener, key, payload, run_at) values ${sql.join(rows)} ${conflict}`;
  }
}

/** Run times are in UTC. Throws `PluginError` for an invalid expression. */
function readCron(plugin: string, expression: string): Cron {
  try {
    return new Cron(expression, { timezone: 'UTC', paused: true });
  } catch (error) {
    throw new PluginError(
      plugin,
      `has a job whose cron expression "${expression}" cannot be parsed: ${messageOf(error)}; for example, write "0 3 * * *"`,
    );
  }
}
