import { Cron } from 'croner';
import { sql, type Database } from './data.ts';
import { messageOf, PluginError } from './errors.ts';
import { orderedId } from './job-store.ts';

interface Row {
  readonly listener: string;
  readonly next: Date;
  /** Milliseconds by the database's clock, so that processes need not agree on the time. */
  readonly wait: number;
}

/** Cron expressions. What is due is noted in the database, so that one process fires it; what was missed while none ran is fired once. */
export class Schedule {
  readonly #data: Database;
  readonly #crons = new Map<string, Cron>();
  readonly #fresh = new Set<string>();
  #due = 0;

  constructor(data: Database) {
    this.#data = data;
  }

  /** Throws `PluginError` for an expression that cannot be read. */
  add(plugin: string, listener: string, expression: string): void {
    try {
      this.#crons.set(listener, new Cron(expression, { timezone: 'UTC', paused: true }));
    } catch (error) {
      throw new PluginError(plugin, `has a job whose cron expression "${expression}" cannot be read: ${messageOf(error)}; write for example "0 3 * * *"`);
    }
    this.#fresh.add(listener);
    this.#due = 0;
  }

  remove(listener: string): void {
    this.#crons.delete(listener);
    this.#fresh.delete(listener);
  }

  /** Stores a job for each expression that is due. Resolves to the milliseconds until the next one. */
  async fire(): Promise<number> {
    if (this.#crons.size === 0) return Infinity;
    if (this.#due > performance.now()) return this.#due - performance.now();
    await this.#register();
    let wait = Infinity;
    for (const row of await this.#read()) {
      if (row.wait <= 0) await this.#store(row);
      // After a firing the new moment is read once more, by the database's clock.
      wait = Math.min(wait, Math.max(row.wait, 0));
    }
    this.#due = performance.now() + wait;
    return wait;
  }

  async #register(): Promise<void> {
    for (const listener of this.#fresh) {
      const cron = this.#crons.get(listener)!;
      const next = cron.nextRun();
      this.#fresh.delete(listener);
      if (!next) continue;
      await this.#data.all(sql`insert into job_schedule as s (listener, cron, next_at) values (${listener}, ${cron.getPattern() ?? ''}, ${next})
        on conflict (listener) do update set cron = excluded.cron, next_at = excluded.next_at where s.cron <> excluded.cron`);
    }
  }

  #read(): Promise<Row[]> {
    return this.#data.all(sql<Row>`select listener, next_at as next, extract(epoch from next_at - now())::float8 * 1000 as wait
      from job_schedule where listener = any(${[...this.#crons.keys()]}::text[]) order by listener`);
  }

  /** Only the process that moves the moment on stores the job; one that has not begun yet stands for the next too. */
  async #store({ listener, next }: Row): Promise<void> {
    const after = this.#crons.get(listener)?.nextRun(new Date(Math.max(Date.now(), next.getTime())));
    if (!after) return;
    await this.#data.all(sql`with fired as (update job_schedule set next_at = ${after} where listener = ${listener} and date_trunc('milliseconds', next_at) = ${next} returning listener)
      insert into job (id, listener, payload) select ${orderedId()}::uuid, f.listener, '{}'::jsonb from fired f
      where not exists (select 1 from job j where j.listener = f.listener and j.failed_at is null and j.owner is null and j.attempt = 0)`);
  }
}
