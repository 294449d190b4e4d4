import { sql, type Database } from '../data/database.ts';
import type { Backfill, Job, JobDefinition } from '../plugins/definition.ts';
import { Type } from '../schema.ts';

/** The remaining part of a backfill; without `since`: everything. */
interface Rest {
  readonly since?: string;
  readonly after?: string;
}
const REST = Type.Object({ since: Type.Optional(Type.String()), after: Type.Optional(Type.String()) });

/** Milliseconds between two checkpoints: after a crash, everything written since the last one is passed on again. */
const REFRESH = 3_600_000;

interface DefinedJob {
  readonly job: Job<Rest>;
  readonly stop: () => Promise<void>;
}
interface PluginBackfillDeps {
  readonly data: Database;
  readonly jobs: { define(plugin: string, id: string, definition: JobDefinition<Rest>): DefinedJob };
  readonly plugin: string;
  readonly backfill: Backfill;
  readonly initial?: boolean | undefined;
}

/** Passes to a plugin, in a job named `catch-up`, the data written while it was off or its process was down. */
export class PluginBackfill {
  readonly #data: Database;
  readonly #plugin: string;
  readonly #backfill: Backfill;
  readonly #initial: boolean;
  readonly #job: DefinedJob;
  /** Set while the plugin runs. */
  #refresh: NodeJS.Timeout | undefined;

  constructor({ data, jobs, plugin, backfill, initial = false }: PluginBackfillDeps) {
    this.#data = data;
    this.#plugin = plugin;
    this.#backfill = backfill;
    this.#initial = initial;
    this.#job = jobs.define(plugin, 'catch-up', {
      schema: REST,
      key: () => 'catch-up',
      perKey: 1,
      // Each attempt handles one batch and schedules the rest in the same transaction, so that stopping loses no
      // finished work.
      run: (rest, { continueWith }) =>
        data.transaction(async () => {
          const after = await backfill.run(rest.since, rest.after);
          if (after !== undefined) await continueWith({ ...rest, after });
        }),
    });
  }

  /** The job reads only once the plugin has started, so that nothing written in between is missed. */
  async start(): Promise<void> {
    await this.#data.transaction(async () => {
      const before = await this.#data.one(
        sql<{ since: string }>`select checkpoint as since from backfill where plugin = ${this.#plugin} for update`,
      );
      if (before || this.#initial) await this.#job.job.add(before ?? {});
      await this.#store();
    });
    // If storing fails now, it is tried again in an hour.
    this.#refresh = setInterval(() => void this.#store().catch(() => undefined), REFRESH).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#refresh);
    await this.#job.stop();
    if (this.#refresh) await this.#store();
  }

  async #store(): Promise<void> {
    const checkpoint = await this.#backfill.checkpoint();
    await this.#data.all(sql`insert into backfill (plugin, checkpoint) values (${this.#plugin}, ${checkpoint})
      on conflict (plugin) do update set checkpoint = excluded.checkpoint`);
  }
}
