import { sql, type Database } from './data.ts';
import { messageOf, PluginError } from './errors.ts';
import type { Batch, Outbox } from './hooks.ts';
import { JobStore, LEASE, orderedId, type JobReport, type NewJob } from './job-store.ts';
import type { Logger } from './logger.ts';
import type { Job, JobDefinition } from './plugin.ts';
import { defineToken } from './ref.ts';
import { Schedule } from './schedule.ts';
import { check } from './schema.ts';
import type { Supervisor } from './supervise.ts';
import { Worker, type Listener } from './worker.ts';

/** What administrators see of durable work. */
export interface Jobs {
  /** By listener, `<plugin>/<action>` or `<plugin>/job:<name>`: counts, when the oldest was due, the last error. */
  report(): Promise<readonly JobReport[]>;
  /** Lets a listener's failed work run again from its first attempt. Resolves to how many. */
  retry(listener: string): Promise<number>;
}
export const Jobs = defineToken<Jobs>('Jobs');

/** Milliseconds until the database is looked at again although nobody said so: a message may be lost with its process. */
const LOOK_AGAIN = 5_000;
/** Milliseconds until the database is tried again when it did not answer. */
const WAIT_FOR_DATABASE = 1_000;
/** Milliseconds between two messages to the other processes. */
const TELL_EVERY = 50;
/** Milliseconds between two clean-ups. */
const CLEAN_EVERY = 3_600_000;

/** Keeps durable work in one table: stored with the transaction that caused it, run at least once, in whichever process has room. */
export class JobQueue implements Outbox, Jobs {
  readonly #data: Database;
  readonly #supervisor: Supervisor;
  readonly #log: Logger;
  readonly #store: JobStore;
  readonly #schedule: Schedule;
  readonly #worker: Worker;
  readonly #listeners = new Map<string, Listener>();
  readonly #byAction = new Map<string, readonly Listener[]>();
  readonly #collected = new WeakMap<Batch, NewJob[]>();
  #state: 'idle' | 'started' | 'stopped' = 'idle';
  #pumping: Promise<void> | undefined;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #telling: NodeJS.Timeout | undefined;
  #tellAgain = false;
  #cleaned = -CLEAN_EVERY;
  #unlisten: (() => Promise<void>) | undefined;

  constructor({ data, supervisor, log }: { readonly data: Database; readonly supervisor: Supervisor; readonly log: Logger }) {
    this.#data = data;
    this.#supervisor = supervisor;
    this.#log = log;
    this.#store = new JobStore(data);
    this.#schedule = new Schedule(data);
    this.#worker = new Worker(this.#store, supervisor, log, () => this.#pump());
    data.useCommitHook({
      before: async (batch) => {
        const jobs = this.#collected.get(batch);
        if (jobs?.length) await this.#store.insert(jobs);
      },
      after: (batch) => {
        if (this.#collected.has(batch)) this.#wake();
      },
    });
  }

  /** Begins to run what is stored; storing works before. */
  async start(): Promise<void> {
    if (this.#state !== 'idle') return;
    await this.#store.recover();
    this.#unlisten = await this.#data.listen('job', (from) => {
      if (from !== this.#store.owner) this.#pump();
    });
    this.#state = 'started';
    this.#renewal = setInterval(() => void this.#worker.renew(), (LEASE * 1_000) / 3).unref();
    this.#pump();
  }

  /** Aborts what runs, gives it 2 s to end, puts the rest back for another process or the next start. */
  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#state = 'stopped';
    for (const timer of [this.#timer, this.#renewal, this.#telling]) clearTimeout(timer);
    await this.#unlisten?.();
    await this.#pumping;
    await this.#end();
  }

  /** Makes `run` hear of `action` durably. What it returns undoes that, with what runs aborted and put back; waiting work stays for the listener's return. */
  listen(plugin: string, action: string, run: Listener['run'], durability: Listener['durability'] = {}): () => Promise<void> {
    const name = `${plugin}/${action}${durability.id === undefined ? '' : `#${durability.id}`}`;
    const listener = this.#add(plugin, name, `durable ${action}`, run, durability);
    const others = (): readonly Listener[] => (this.#byAction.get(action) ?? []).filter((other) => other !== listener);
    this.#byAction.set(action, [...others(), listener]);
    return () => {
      if (others().length > 0) this.#byAction.set(action, others());
      else this.#byAction.delete(action);
      return this.#remove(listener);
    };
  }

  define<P>(plugin: string, name: string, definition: JobDefinition<P>): { readonly job: Job<P>; readonly stop: () => Promise<void> } {
    const listener = this.#add(plugin, `${plugin}/job:${name}`, `job ${name}`, definition.run, definition);
    if (definition.cron !== undefined) this.#schedule.add(plugin, listener.name, definition.cron);
    const job: Job<P> = {
      add: async (payload, { at } = {}) => {
        const checked = check(definition.schema, payload);
        if (!checked.ok) {
          const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
          throw new PluginError(plugin, `adds a job "${name}" whose payload does not fit its schema: ${problems}`);
        }
        const id = orderedId();
        await this.#keep([this.#row(listener, id, payload, JSON.stringify(checked.value), at)], this.#data.batch());
        return id;
      },
      cancel: async (id) => {
        const collected = this.#collected.get(this.#data.batch()!) ?? [];
        const at = collected.findIndex((row) => row.id === id && row.listener === listener.name);
        return at === -1 ? this.#store.cancel(id, listener.name) : collected.splice(at, 1).length > 0;
      },
    };
    return { job, stop: () => this.#remove(listener) };
  }

  batch(): Batch | undefined {
    return this.#data.batch();
  }

  store(action: string, payload: unknown, batch: Batch | undefined): Promise<void> | undefined {
    const listeners = this.#byAction.get(action);
    if (!listeners) return undefined;
    const id = orderedId();
    const text = JSON.stringify(payload) ?? 'null';
    return this.#keep(listeners.map((listener) => this.#row(listener, id, payload, text, undefined)), batch);
  }

  /** Removes all work and schedules of a plugin that is being uninstalled. */
  forget(plugin: string): Promise<void> {
    return this.#store.forget(plugin);
  }

  report(): Promise<readonly JobReport[]> {
    return this.#store.report();
  }

  async retry(listener: string): Promise<number> {
    const count = await this.#store.retry(listener);
    this.#wake();
    return count;
  }

  #add(plugin: string, name: string, task: string, run: Listener['run'], durability: Listener['durability']): Listener {
    if (this.#listeners.has(name)) throw new PluginError(plugin, `registers "${name}" twice; give one of them an \`id\` or another name`);
    // As a guard it is never set aside: setting aside is what the retries are for, and skipping would lose work.
    const listener: Listener = { name, plugin, run, durability, task: this.#supervisor.task(plugin, task, true) };
    this.#listeners.set(name, listener);
    this.#pump();
    return listener;
  }

  #remove(listener: Listener): Promise<void> {
    this.#listeners.delete(listener.name);
    this.#schedule.remove(listener.name);
    this.#supervisor.forget(listener.plugin, listener.task);
    return this.#end(listener);
  }

  #row(listener: Listener, id: string, payload: unknown, text: string, at: Date | undefined): NewJob {
    let key: string | undefined;
    try {
      key = listener.durability.key?.(payload);
    } catch (error) {
      this.#log.error({ plugin: listener.plugin, task: listener.name, error }, 'a durable listener could not name the key of its work; it is kept without one');
    }
    return { id, listener: listener.name, key, payload: text, at };
  }

  #keep(jobs: readonly NewJob[], batch: Batch | undefined): Promise<void> | undefined {
    if (!batch) return this.#store.insert(jobs).then(() => this.#wake());
    const collected = this.#collected.get(batch);
    if (collected) collected.push(...jobs);
    else this.#collected.set(batch, [...jobs]);
    return undefined;
  }

  #wake(): void {
    this.#pump();
    if (!this.#data.embedded) this.#tell();
  }

  /** The other processes are told after the commit and not by it: NOTIFY inside makes all commits wait for one another. */
  #tell(): void {
    if (this.#telling || this.#state === 'stopped') {
      this.#tellAgain = true;
      return;
    }
    this.#tellAgain = false;
    this.#data.outside(() => this.#data.all(sql`select pg_notify('job', ${this.#store.owner})`)).catch(() => undefined);
    this.#telling = setTimeout(() => {
      this.#telling = undefined;
      if (this.#tellAgain) this.#tell();
    }, TELL_EVERY).unref();
  }

  #pump(): void {
    this.#again = true;
    if (this.#state === 'started') this.#pumping ??= this.#data.outside(() => this.#turn());
  }

  async #turn(): Promise<void> {
    let wait = 0;
    while (this.#again && this.#state === 'started') {
      this.#again = false;
      wait = await this.#step().catch((error: unknown) => {
        this.#log.warn({ error: messageOf(error) }, 'durable work waits: the database did not answer');
        return WAIT_FOR_DATABASE;
      });
    }
    this.#pumping = undefined;
    clearTimeout(this.#timer);
    if (this.#state === 'started') this.#timer = setTimeout(() => this.#pump(), Math.min(wait, LOOK_AGAIN)).unref();
  }

  /** Writes down what ended, fires schedules, takes what is due. Resolves to the milliseconds until there is more. */
  async #step(): Promise<number> {
    await this.#worker.settle();
    const scheduled = await this.#schedule.fire();
    if (performance.now() - this.#cleaned > CLEAN_EVERY) {
      this.#cleaned = performance.now();
      await this.#store.clean();
    }
    if (this.#worker.room <= 0 || this.#listeners.size === 0) return scheduled;
    const openings = [...this.#listeners.values()].map((listener) => this.#worker.opening(listener));
    const { jobs, wait } = await this.#store.claim(openings, this.#worker.room);
    for (const job of jobs) this.#worker.begin(job, this.#listeners.get(job.listener));
    // Behind works of a key that is full now there may be works of other keys.
    if (jobs.some((job) => job.key !== null)) this.#again = true;
    return Math.min(scheduled, Math.ceil(wait ?? Infinity) + 1);
  }

  async #end(listener?: Listener): Promise<void> {
    await this.#worker.stop(listener);
    await this.#data.outside(() => this.#worker.settle()).catch((error: unknown) => {
      this.#log.warn({ error: messageOf(error) }, 'ended work could not be written down; it will run again');
    });
  }
}
