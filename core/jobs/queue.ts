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
  /** When the oldest waiting one was or is due. */
  readonly oldest: Date | null;
  /** The last one. */
  readonly error: string | null;
}

/** What administrators see of durable work. */
export interface Jobs {
  /** In the order of the listeners' names. */
  report(): Promise<readonly JobReport[]>;
  /** Lets a listener's failed work run again from its first attempt. Resolves to how many. */
  retry(listener: string): Promise<number>;
}
export const Jobs = defineToken<Jobs>('Jobs');

/** Work on its way into the table; `payload` is JSON, so that what is changed after the raising does not change it. */
interface Work {
  readonly id: string;
  readonly listener: string;
  readonly key: string | undefined;
  readonly payload: string;
  readonly at: Date | undefined;
  /** One of its id may be stored already. */
  readonly upsert: boolean;
}

/** Works in one statement: five parameters each, of which the embedded database takes 32,767. */
const TOGETHER = 5_000;
/**
 * What happens to a work that is stored already: it is due no later, and begins anew where it failed for good. Where it
 * runs and is to go on later, that is due no later.
 */
const STORED_BEFORE = sql`on conflict (id, listener) do update set run_at = excluded.run_at, payload = excluded.payload,
  failed_at = null,
  attempt = case when j.failed_at is null then j.attempt else 0 end
  where j.failed_at is not null or j.run_at > excluded.run_at`;

/**
 * Keeps durable work in one table: stored with the transaction that caused it, run at least once, in whichever process
 * has room.
 */
export class JobQueue implements Jobs {
  readonly #parts: WorkerDeps;
  readonly #worker: Worker;
  readonly #listeners = new Map<string, Listener>();
  /** The work of transactions under way. */
  readonly #collected = new WeakMap<Batch, Work[]>();

  constructor(parts: WorkerDeps) {
    this.#parts = parts;
    this.#worker = new Worker(parts, this.#listeners);
  }

  /** Begins to run what is stored; storing works before. */
  start(): Promise<void> {
    return this.#worker.start();
  }

  /** Aborts what runs, gives it 2 s to end, puts the rest back for another process or the next start. */
  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /**
   * Makes `run` hear of `action` durably. What it returns undoes that, with what runs aborted and put back; waiting
   * work stays for the listener's return.
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
      throw new PluginError(plugin, `adds a job "${id}" whose payload does not fit its schema: ${problems}`);
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
   * Keeps the work of the action's durable listeners, in the batch's transaction or at once; undefined when nothing is
   * to be waited for.
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

  /** What a plugin that starts now has missed; see `PluginHandle.backfill`. */
  backfill(plugin: string, backfill: Backfill, initial: boolean | undefined): PluginBackfill {
    return new PluginBackfill({ data: this.#parts.data, jobs: this, plugin, backfill, initial });
  }

  /** Removes all work of a plugin that is being uninstalled. */
  async forget(plugin: string): Promise<void> {
    const own = sql`starts_with(listener, ${`${plugin}/`})`;
    await this.#parts.data.all(sql`with paused as (delete from job_pause where ${own}),
        copied as (delete from backfill where plugin = ${plugin})
      delete from job where ${own}`);
  }

  /** A schedule that only waits for its next moment is no work. */
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
   * The id of a job with this key that has not ended, or that the transaction under way adds; a schedule that only waits
   * for its next moment is none.
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
        'a durable listener could not name the key of its work; it is kept without one',
      );
      return undefined;
    }
  }

  async #insert(works: readonly Work[]): Promise<void> {
    for (const statement of insertions(works)) await this.#parts.data.all(statement);
  }
}

/**
 * Plain values: a list made from JSON costs the server twice as much. Never before this very moment, not even that of
 * the transaction's begin: who takes work need not look at what was due long ago.
 */
function insertions(works: readonly Work[]): readonly RawBuilder<unknown>[] {
  const added = works.filter(({ upsert }) => !upsert);
  // One statement cannot change a row twice: the one that is due first stays, as among those that are stored.
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

/** Its moments are in UTC. Throws `PluginError` for an expression that cannot be read. */
function readCron(plugin: string, expression: string): Cron {
  try {
    return new Cron(expression, { timezone: 'UTC', paused: true });
  } catch (error) {
    throw new PluginError(
      plugin,
      `has a job whose cron expression "${expression}" cannot be read: ${messageOf(error)}; write for example "0 3 * * *"`,
    );
  }
}
