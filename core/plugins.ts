import { sql, type Database } from './data.ts';
import { chainOf, HttpError, PluginError } from './errors.ts';
import type { Fleet } from './fleet.ts';
import type { JobQueue } from './jobs.ts';
import type { Kernel, State } from './kernel.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';
import type { Supervisor, TaskReport } from './supervise.ts';

export interface PluginInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Whether it should run; `state` says whether it does. */
  readonly wanted: boolean;
  readonly state: State;
  /** Why it failed, or what it waits for. */
  readonly problem: string | undefined;
  /** May not be switched off from the panel. */
  readonly required: boolean;
  readonly needs: readonly string[];
  readonly dependents: readonly string[];
  readonly folder: string | undefined;
  readonly tasks: readonly TaskReport[];
}

/** Which plugins run, in this process and, through the database, in all of them. */
export interface Plugins {
  list(): readonly PluginInfo[];
  /** Switches it and what it needs on, for all processes. Throws why it could not start; then it stays off. */
  enable(id: string): Promise<void>;
  /** Switches it off for all processes; resolves to the ids that stopped, dependents first. */
  disable(id: string): Promise<readonly string[]>;
  /** Takes back its tables, settings and waiting jobs. Only while it is off. */
  uninstall(id: string): Promise<void>;
  /** Lets what was quarantined run again. */
  release(id: string): void;
}
export const Plugins = defineToken<Plugins>('Plugins');

export interface PluginControlOptions {
  readonly kernel: Kernel;
  readonly data: Database;
  readonly jobs: JobQueue;
  readonly fleet: Fleet;
  readonly supervisor: Supervisor;
  readonly log: Logger;
  /** Ids that stay on, with whatever they need. */
  readonly required: readonly string[];
  /** Only these (and what they need) run; undefined: all that are wanted. */
  readonly only?: readonly string[] | undefined;
}

/** Keeps what runs equal to what should run; the database holds the exceptions to "everything installed is on". */
export class PluginControl implements Plugins {
  readonly #options: PluginControlOptions;
  readonly #required: ReadonlySet<string>;
  #off = new Set<string>();
  /** Why those failed that are not tried again until something asks for them anew. */
  readonly #given = new Map<string, unknown>();

  constructor(options: PluginControlOptions) {
    this.#options = options;
    this.#required = this.#withNeeds(options.required);
    options.fleet.listen('plugins', () => this.reconcile());
  }

  list(): readonly PluginInfo[] {
    const { kernel, supervisor } = this.#options;
    const tasks = Map.groupBy(supervisor.report(), (task) => task.plugin);
    return kernel.graph.all().map((plugin) => ({
      id: plugin.id, name: plugin.name ?? plugin.id, version: plugin.version ?? '', description: plugin.description ?? '', folder: plugin.folder,
      wanted: !this.#off.has(plugin.id), state: kernel.state(plugin.id), problem: this.#problem(plugin.id), required: this.#required.has(plugin.id),
      needs: this.#needs(plugin.id), dependents: kernel.graph.stopOrder(plugin.id).slice(0, -1), tasks: tasks.get(plugin.id) ?? [],
    }));
  }

  async enable(id: string): Promise<void> {
    const { kernel, fleet } = this.#options;
    const order = kernel.graph.startOrder(id);
    for (const step of order) this.#given.delete(step);
    const before = order.filter((step) => this.#off.has(step));
    await this.#keep(order, true);
    await this.reconcile();
    if (kernel.state(id) === 'active') return fleet.announce('plugins');
    const failure = kernel.failure(id) ?? this.#given.get(id) ?? new PluginError(id, 'did not start');
    await this.#keep(before, false);
    await this.reconcile();
    throw new HttpError(409, `"${id}" could not be switched on and stays off: ${chainOf(failure)}`, { cause: failure });
  }

  async disable(id: string): Promise<readonly string[]> {
    const { kernel, fleet } = this.#options;
    kernel.graph.get(id);
    if (this.#required.has(id)) throw new HttpError(409, `"${id}" cannot be switched off: the admin panel needs it`);
    const running = kernel.active();
    await this.#keep([id], false);
    await this.reconcile();
    await fleet.announce('plugins');
    return running.filter((step) => !kernel.active().includes(step)).toReversed();
  }

  async uninstall(id: string): Promise<void> {
    const { kernel, data, jobs } = this.#options;
    const plugin = kernel.graph.get(id);
    if (kernel.state(id) === 'active') throw new HttpError(409, `"${id}" is on; switch it off before uninstalling it`);
    await jobs.forget(id);
    if (plugin.migrations?.length) await data.migrateDown(id, plugin.migrations);
    const keys = Object.keys((plugin.settings?.properties as object | undefined) ?? {});
    await data.transaction(() => data.all(sql`delete from setting where key = any(${keys}::text[])`));
    await this.#keep([id], false);
  }

  release(id: string): void {
    this.#options.supervisor.release(id);
  }

  /** Makes what runs what should run. */
  async reconcile(): Promise<void> {
    const { kernel, data, log } = this.#options;
    const rows = await data.all(sql<{ id: string; enabled: boolean }>`select id, enabled from plugin_state order by id`);
    this.#off = new Set(rows.filter((row) => !row.enabled && !this.#required.has(row.id)).map((row) => row.id));
    const desired = this.#desired();
    for (const id of kernel.active()) if (!desired.has(id)) await kernel.disable(id);
    for (const id of desired) {
      if (kernel.state(id) === 'active' || this.#given.has(id)) continue;
      await kernel.enable(id).catch((error: unknown) => {
        this.#given.set(id, error);
        log.error({ plugin: id, error }, 'stays off; the rest goes on');
      });
    }
  }

  /** In install order: those that are wanted and whose needs are wanted too. */
  #desired(): ReadonlySet<string> {
    const { kernel, only } = this.#options;
    const limited = only && this.#withNeeds(only);
    const wanted = kernel.graph.all().map((plugin) => plugin.id).filter((id) => !limited || limited.has(id));
    return new Set(wanted.filter((id) => [id, ...this.#needs(id)].every((step) => !this.#off.has(step))));
  }

  #withNeeds(ids: readonly string[]): ReadonlySet<string> {
    const { graph } = this.#options.kernel;
    return new Set(graph.all().flatMap(({ id }) => (ids.includes(id) ? graph.startOrder(id) : [])));
  }

  /** All it needs, directly or not; empty where the graph itself is broken: starting it then says why. */
  #needs(id: string): readonly string[] {
    try {
      return this.#options.kernel.graph.startOrder(id).slice(0, -1);
    } catch {
      return [];
    }
  }

  #problem(id: string): string | undefined {
    const off = this.#off.has(id);
    const failure = this.#options.kernel.failure(id) ?? (off ? undefined : this.#given.get(id));
    if (failure !== undefined) return chainOf(failure);
    const waiting = off ? [] : this.#needs(id).filter((need) => this.#off.has(need));
    return waiting.length > 0 ? `waits for ${waiting.join(', ')}` : undefined;
  }

  async #keep(ids: readonly string[], enabled: boolean): Promise<void> {
    const { data } = this.#options;
    await data.transaction(() => data.all(sql`
      insert into plugin_state (id, enabled, updated_at) select id, ${enabled}::boolean, now() from unnest(${ids}::text[]) as id
      on conflict (id) do update set enabled = excluded.enabled, updated_at = excluded.updated_at`));
  }
}
