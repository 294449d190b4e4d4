import { randomUUID } from 'node:crypto';
import { sql, type Database } from './data.ts';
import { PluginError } from './errors.ts';
import type { Batch } from './hooks.ts';
import type { Job, JobDefinition } from './plugin.ts';
import { defineToken } from './ref.ts';
import { readCron } from './schedule.ts';
import { check } from './schema.ts';
import { Worker, type Listener, type Surroundings } from './worker.ts';

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

/** Keeps durable work in one table: stored with the transaction that caused it, run at least once, in whichever process has room. */
export class JobQueue implements Jobs {
  readonly #around: Surroundings;
  readonly #data: Database;
  readonly #worker: Worker;
  readonly #listeners = new Map<string, Listener>();
  /** The rows of transactions under way as JSON, so that what is changed after the raising does not change them. By id and listener. */
  readonly #collected = new WeakMap<Batch, Map<string, string>>();

  constructor(around: Surroundings) {
    this.#around = around;
    this.#data = around.data;
    this.#worker = new Worker(around, this.#listeners);
    this.#data.onCommit = async (batch) => {
      const rows = this.#collected.get(batch);
      if (!rows?.size) return undefined;
      await this.#insert(rows);
      return () => this.#worker.wake();
    };
  }

  /** Begins to run what is stored; storing works before. */
  start(): Promise<void> {
    return this.#worker.start();
  }

  /** Aborts what runs, gives it 2 s to end, puts the rest back for another process or the next start. */
  stop(): Promise<void> {
    return this.#worker.stop();
  }

  /** Makes `run` hear of `action` durably. What it returns undoes that, with what runs aborted and put back; waiting work stays for the listener's return. */
  listen(plugin: string, action: string, run: Listener['run'], durability: Listener['durability'] = {}): () => Promise<void> {
    const name = `${plugin}/${action}${durability.id === undefined ? '' : `#${durability.id}`}`;
    return this.#add(name, plugin, `durable ${action}`, { action, run, durability });
  }

  define<P>(plugin: string, id: string, definition: JobDefinition<P>): { readonly job: Job<P>; readonly stop: () => Promise<void> } {
    const name = `${plugin}/job:${id}`;
    const cron = definition.cron === undefined ? undefined : readCron(plugin, definition.cron);
    const stop = this.#add(name, plugin, `job ${id}`, { run: definition.run, durability: definition, cron });
    const job: Job<P> = {
      add: async (payload, { at } = {}) => {
        const checked = check(definition.schema, payload);
        if (!checked.ok) {
          const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
          throw new PluginError(plugin, `adds a job "${id}" whose payload does not fit its schema: ${problems}`);
        }
        const jobId = orderedId();
        await this.#keep(this.#data.batch(), [this.#listeners.get(name)!], jobId, payload, JSON.stringify(checked.value), at);
        return jobId;
      },
      cancel: async (jobId) => {
        if (this.#collected.get(this.#data.batch()!)?.delete(`${jobId} ${name}`)) return true;
        const rows = await this.#data.all(sql`delete from job where id = ${jobId} and listener = ${name} and owner is null and failed_at is null returning id`);
        return rows.length > 0;
      },
    };
    return { job, stop };
  }

  /** Keeps the work of the action's durable listeners, in the batch's transaction or at once; undefined when there is none. */
  store(action: string, payload: unknown, batch: Batch | undefined): Promise<void> | undefined {
    const listeners = [...this.#listeners.values()].filter((listener) => listener.action === action);
    return listeners.length > 0 ? this.#keep(batch, listeners, orderedId(), payload, JSON.stringify(payload) ?? 'null') : undefined;
  }

  /** Removes all work and schedules of a plugin that is being uninstalled. */
  async forget(plugin: string): Promise<void> {
    await this.#data.all(sql`with gone as (delete from job_schedule where starts_with(listener, ${`${plugin}/`}))
      delete from job where starts_with(listener, ${`${plugin}/`})`);
  }

  report(): Promise<readonly JobReport[]> {
    return this.#data.all(sql<JobReport>`select listener, count(*) filter (where failed_at is null and (owner is null or run_at <= now()))::integer as waiting,
        count(*) filter (where owner is not null and run_at > now())::integer as running, count(*) filter (where failed_at is not null)::integer as failed,
        min(run_at) filter (where failed_at is null and owner is null) as oldest,
        (array_agg(error order by failed_at desc nulls last, id) filter (where error is not null))[1] as error
      from job group by listener order by listener`);
  }

  async retry(listener: string): Promise<number> {
    const rows = await this.#data.all(sql`update job set failed_at = null, attempt = 0, run_at = now()
      where listener = ${listener} and failed_at is not null returning id`);
    this.#worker.wake();
    return rows.length;
  }

  #add(name: string, plugin: string, task: string, how: Omit<Listener, 'name' | 'plugin' | 'task'>): () => Promise<void> {
    if (this.#listeners.has(name)) throw new PluginError(plugin, `registers "${name}" twice; give one of them an \`id\` or another name`);
    const { supervisor } = this.#around;
    // As a guard it is never set aside: setting aside is what the retries are for, and skipping would lose work.
    const listener: Listener = { name, plugin, ...how, task: supervisor.task(plugin, task, true) };
    this.#listeners.set(name, listener);
    void this.#worker.pump(0);
    return () => {
      this.#listeners.delete(name);
      supervisor.forget(plugin, listener.task);
      return this.#worker.release(listener);
    };
  }

  #keep(batch: Batch | undefined, listeners: readonly Listener[], id: string, payload: unknown, text: string, at?: Date): Promise<void> | undefined {
    const rows = (batch && this.#collected.get(batch)) ?? new Map<string, string>();
    for (const listener of listeners) {
      const row = JSON.stringify({ id, listener: listener.name, key: this.#key(listener, payload), at });
      rows.set(`${id} ${listener.name}`, `${row.slice(0, -1)},"payload":${text}}`);
    }
    if (!batch) return this.#insert(rows).then(() => this.#worker.wake());
    this.#collected.set(batch, rows);
    return undefined;
  }

  #key({ plugin, name, durability }: Listener, payload: unknown): string | undefined {
    try {
      return durability.key?.(payload as never);
    } catch (error) {
      this.#around.log.error({ plugin, task: name, error }, 'a durable listener could not name the key of its work; it is kept without one');
      return undefined;
    }
  }

  /** One statement, in the transaction under way. */
  async #insert(rows: ReadonlyMap<string, string>): Promise<void> {
    await this.#data.all(sql`insert into job (id, listener, key, payload, run_at)
      select r.id, r.listener, r.key, coalesce(r.payload, 'null'), coalesce(r.at, now())
      from json_to_recordset(${`[${[...rows.values()].join(',')}]`}::json) as r(id uuid, listener text, key text, payload jsonb, at timestamptz)`);
  }
}

let latest = 0n;

/** A UUID of version 7 that sorts by when it was made, within this process also inside one millisecond. */
function orderedId(): string {
  // Twelve bits count within a millisecond; beyond them the next one is borrowed.
  const now = BigInt(Date.now()) << 12n;
  latest = now > latest ? now : latest + 1n;
  const moment = latest.toString(16).padStart(15, '0');
  return `${moment.slice(0, 8)}-${moment.slice(8, 12)}-7${moment.slice(12)}-${randomUUID().slice(19)}`;
}
