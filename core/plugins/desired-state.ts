import { sql, type Database } from '../data/database.ts';
import { chainOf, HttpError, PluginError } from '../errors.ts';
import type { Cluster } from '../cluster.ts';
import type { KernelDeps } from './handle.ts';
import type { Kernel } from './kernel.ts';
import type { PluginState } from './actions.ts';
import { defineToken } from '../ref.ts';
import type { BlockReport, TaskReport } from './supervisor.ts';

/** A plugin as listed in the admin panel, whether it runs or not. */
export interface PluginInfo {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Whether the plugin should run; `state` says whether it does. */
  readonly wanted: boolean;
  readonly state: PluginState;
  /** Why it failed, or what it is waiting for. */
  readonly problem: string | undefined;
  /** Cannot be switched off from the panel. */
  readonly required: boolean;
  /** Protects accounts or their data. */
  readonly defends: boolean;
  readonly needs: readonly string[];
  readonly dependents: readonly string[];
  readonly folder: string | undefined;
  readonly tasks: readonly TaskReport[];
  /** How often it blocked the event loop; undefined if never. */
  readonly blocks: BlockReport | undefined;
}

/** Controls which plugins run, in this process and, through the database, in all others. */
export interface Plugins {
  list(): readonly PluginInfo[];
  /**
   * Switches a plugin on in all processes, with everything it needs. If it cannot start, throws the reason and leaves
   * it off.
   */
  enable(id: string): Promise<void>;
  /** Switches a plugin off in all processes; resolves to the ids that stopped, dependents first. */
  disable(id: string): Promise<readonly string[]>;
  /** Removes the plugin's tables, settings and waiting jobs. Only allowed while the plugin is off. */
  uninstall(id: string): Promise<void>;
  /** Lifts the quarantine of the plugin's tasks. */
  release(id: string): void;
}
export const Plugins = defineToken<Plugins>('Plugins');

export interface PluginControlDeps extends Pick<KernelDeps, 'jobs' | 'settings' | 'supervisor' | 'log'> {
  readonly kernel: Kernel;
  readonly data: Database;
  readonly cluster: Cluster;
  /** Ids of plugins that stay on, with everything they need. */
  readonly required: readonly string[];
  /** Run only the required plugins. */
  readonly safeMode: boolean;
}

/**
 * Makes the running plugins match the desired state. By default every installed plugin is on; the database stores the
 * exceptions.
 */
export class PluginControl implements Plugins {
  readonly #options: PluginControlDeps;
  readonly #required: ReadonlySet<string>;
  #off = new Set<string>();
  #reconciled: Promise<void> = Promise.resolve();

  constructor(options: PluginControlDeps) {
    const {
      cluster,
      required,
      kernel: { graph },
    } = options;
    this.#options = options;
    this.#required = new Set(graph.all().flatMap(({ id }) => (required.includes(id) ? [...this.#needs(id), id] : [])));
    cluster.subscribe('plugins', () => this.reconcile());
  }

  list(): readonly PluginInfo[] {
    const {
      kernel,
      kernel: { graph },
      supervisor,
    } = this.#options;
    const tasks = Map.groupBy(supervisor.report(), (task) => task.plugin);
    return graph.all().map(({ id, name = id, version = '', description = '', folder, defends = false }) => ({
      id,
      name,
      version,
      description,
      folder,
      wanted: !this.#off.has(id),
      state: kernel.state(id),
      problem: this.#problem(id),
      required: this.#required.has(id),
      defends,
      needs: this.#needs(id),
      dependents: graph.stopOrder(id).slice(0, -1),
      tasks: tasks.get(id) ?? [],
      blocks: supervisor.blocks(id),
    }));
  }

  async enable(id: string): Promise<void> {
    const { kernel, cluster, safeMode } = this.#options;
    const order = kernel.graph.startOrder(id);
    const before = order.filter((step) => this.#off.has(step));
    await this.#keep(order, true);
    const error: unknown = await kernel.enable(id).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await this.reconcile();
    if (kernel.state(id) === 'active') return cluster.publish('plugins');
    // A plugin may also fail after it has started.
    const reason = safeMode ? 'does not run in safe mode' : 'has been switched off again in the meantime';
    const failure = kernel.failure(id) ?? error ?? new PluginError(id, reason);
    await this.#keep(before, false);
    await this.reconcile();
    throw new HttpError(409, `"${id}" could not be switched on and stays off: ${chainOf(failure, id)}`, {
      cause: failure,
    });
  }

  async disable(id: string): Promise<readonly string[]> {
    const { kernel, cluster } = this.#options;
    kernel.graph.get(id);
    if (this.#required.has(id)) throw new HttpError(409, `"${id}" cannot be switched off: the admin panel needs it`);
    const running = kernel.active();
    await this.#keep([id], false);
    await this.reconcile();
    await cluster.publish('plugins');
    return running.filter((step) => !kernel.active().includes(step)).toReversed();
  }

  async uninstall(id: string): Promise<void> {
    const { kernel, data, jobs, settings, cluster } = this.#options;
    const plugin = kernel.graph.get(id);
    if (kernel.state(id) === 'active') throw new HttpError(409, `"${id}" is on; switch it off before uninstalling it`);
    // First the step that may be refused.
    const { migrations = [] } = plugin;
    await data.assertUndoable(id, migrations);
    // Switch it off in every process and for every start: a process that still ran it, or started it now, would miss
    // its tables or recreate them.
    await this.#keep([id], false);
    await this.reconcile();
    await cluster.publish('plugins');
    await data.migrateDown(id, migrations);
    await jobs.forget(id);
    await settings.reset(Object.keys((plugin.settings?.properties as object | undefined) ?? {}));
  }

  release(id: string): void {
    this.#options.supervisor.release(id);
  }

  /** Ids that the configuration requires, but no installed plugin has. */
  get missing(): readonly string[] {
    const { required, kernel } = this.#options;
    const installed = new Set(kernel.graph.all().map(({ id }) => id));
    return required.filter((id) => !installed.has(id));
  }

  /** Whether the plugin has to stay on. */
  required(id: string): boolean {
    return this.#required.has(id);
  }

  /**
   * Switches off, in this process, a plugin that harms it and everything that needs it, until someone switches it on
   * again.
   */
  async fail(id: string, reason: unknown): Promise<void> {
    await this.#options.kernel.fail(id, reason);
  }

  /**
   * Makes the running plugins match the desired state. Failed plugins are not retried until someone switches them on
   * again. Calls run one after the other: while one starts a plugin, another may be switched off, and must not be
   * started based on an earlier read.
   */
  reconcile(): Promise<void> {
    const mine = this.#reconciled.then(() => this.#reconcile());
    this.#reconciled = mine.catch(() => undefined);
    return mine;
  }

  async #reconcile(): Promise<void> {
    const { kernel, data, log, safeMode } = this.#options;
    const rows = await data.all(sql<{ id: string }>`select id from plugin_state where not enabled order by id`);
    this.#off = new Set(rows.map(({ id }) => id).filter((id) => !this.#required.has(id)));
    const wanted = kernel.graph.bootOrder().filter((id) => !safeMode || this.#required.has(id));
    const desired = wanted.filter((id) => [id, ...this.#needs(id)].every((step) => !this.#off.has(step)));
    for (const id of kernel.active()) if (!desired.includes(id)) await kernel.disable(id);
    for (const id of desired) {
      if (kernel.state(id) === 'active' || [id, ...this.#needs(id)].some((step) => kernel.failure(step) !== undefined))
        continue;
      await kernel.enable(id).catch((error: unknown) => {
        // If it is unusable, the reason was logged when it was loaded.
        if (kernel.graph.get(id).fault === undefined)
          log.error({ plugin: id, error }, 'stays off; everything else continues');
      });
    }
  }

  /**
   * Everything the plugin needs, directly or indirectly; empty if the graph is broken, which starting the plugin will
   * report.
   */
  #needs(id: string): readonly string[] {
    try {
      return this.#options.kernel.graph.startOrder(id).slice(0, -1);
    } catch {
      return [];
    }
  }

  #problem(id: string): string | undefined {
    const { kernel } = this.#options;
    // Report unusable plugins even if nothing tried to start them.
    const failure = kernel.failure(id) ?? kernel.graph.get(id).fault;
    if (failure !== undefined) return chainOf(failure, id);
    if (this.#off.has(id)) return undefined;
    try {
      const waiting = kernel.graph
        .startOrder(id)
        .filter((need) => this.#off.has(need) || kernel.failure(need) !== undefined);
      return waiting.length > 0 ? `waits for ${waiting.join(', ')}` : undefined;
    } catch (error) {
      return chainOf(error, id);
    }
  }

  async #keep(ids: readonly string[], enabled: boolean): Promise<void> {
    await this.#options.data.all(sql`
      insert into plugin_state (id, enabled, updated_at) select id, ${enabled}::boolean, now()
      from unnest(${ids}::text[]) as id
      on conflict (id) do update set enabled = excluded.enabled, updated_at = excluded.updated_at`);
  }
}
