import { existsSync } from 'node:fs';
import type { Cluster } from '../cluster.ts';
import { PluginError } from '../errors.ts';
import type { Extensions } from '../extensions.ts';
import type { Logger } from '../logger.ts';
import type { Plugin } from '../plugins/definition.ts';
import type { PluginControl } from '../plugins/desired-state.ts';
import { fileChecks } from '../plugins/file-checks.ts';
import type { Kernel } from '../plugins/kernel.ts';
import { loadPlugin } from './loader.ts';

export interface PluginInstallerDeps {
  readonly site: string;
  readonly kernel: Kernel;
  readonly plugins: PluginControl;
  readonly cluster: Cluster;
  readonly extensions: Extensions;
  readonly log: Logger;
}

/** The message sent to the site's other processes. */
interface Change {
  readonly name: string;
  readonly removed: boolean;
}

/** Where a plugin comes from; undefined if only its id is left, in the configuration or in this process. */
const placeOf = ({ package: from, folder }: Plugin): string | undefined =>
  from ?? (folder !== undefined && existsSync(folder) ? `the folder ${folder}` : undefined);

/** Installs, updates and removes plugins while the program runs, in all processes that serve the site. */
export class PluginInstaller {
  readonly #deps: PluginInstallerDeps;
  /** Number of loads so far: an imported module stays in memory under its URL, so each load needs a new one. */
  #generation = 1;

  constructor(deps: PluginInstallerDeps) {
    this.#deps = deps;
    deps.cluster.subscribe('plugin packages', async (change) => {
      // If messages may have been missed, there is no telling which plugins arrived; the next start reads the
      // configuration.
      if (change === undefined) return;
      const { name, removed } = change as Change;
      await (removed ? this.#remove(name) : this.#install(name, () => this.#deps.plugins.reconcile()));
    });
  }

  /**
   * Loads a plugin that was added to the site or replaced, and switches it on, because it was installed on request.
   * Requests that arrive meanwhile wait. Resolves to the plugin; if it cannot be used, throws the reason and keeps the
   * previous version running.
   */
  async install(name: string): Promise<Plugin> {
    const plugin = await this.#install(name, ({ id }) => this.#enable(id));
    await this.#deps.cluster.publish('plugin packages', { name, removed: false } satisfies Change);
    return plugin;
  }

  /** Stops a plugin that was removed from the site, and forgets it. */
  async remove(name: string): Promise<void> {
    await this.#remove(name);
    await this.#deps.cluster.publish('plugin packages', { name, removed: true } satisfies Change);
  }

  /** Finds a plugin by its id or by the name of its package. */
  find(name: string): Plugin | undefined {
    return this.#deps.kernel.graph.all().find((plugin) => plugin.id === name || plugin.package === name);
  }

  /** `start` may leave the plugin off, or throw. */
  async #install(name: string, start: (plugin: Plugin) => Promise<void>): Promise<Plugin> {
    const { site, kernel, log } = this.#deps;
    const plugin = await loadPlugin(site, name, this.#generation++);
    this.#checkFiles(plugin);
    const before = this.find(plugin.id);
    const other = before && before.package !== plugin.package ? placeOf(before) : undefined;
    if (other !== undefined)
      throw new PluginError(plugin.id, `is already installed, from ${other}; remove that one first`);
    if (before) await kernel.replace(plugin);
    else kernel.install(plugin);
    const thrown = await start(plugin).catch((error: unknown) => error);
    const failure = kernel.failure(plugin.id) ?? thrown;
    if (failure !== undefined) {
      if (before) await kernel.replace(before);
      else kernel.remove(plugin.id);
      throw failure;
    }
    log.info({ plugin: plugin.id, version: plugin.version }, 'installed');
    return plugin;
  }

  /** Throws before anything has changed. */
  #checkFiles({ id, folder }: Plugin): void {
    if (folder === undefined) return;
    const problems = this.#deps.extensions.read(fileChecks).flatMap(({ value: check }) => check({ id, folder }));
    if (problems.length > 0) throw new PluginError(id, `has files that cannot be used: ${problems.join('; ')}`);
  }

  /** A plugin that was switched off earlier, or removed with its data, is off until someone switches it on. */
  async #enable(id: string): Promise<void> {
    const { kernel, plugins } = this.#deps;
    await plugins.reconcile();
    if (kernel.state(id) !== 'active') await plugins.enable(id);
  }

  async #remove(name: string): Promise<void> {
    const { kernel, log } = this.#deps;
    const plugin = this.find(name);
    if (!plugin) return;
    await kernel.disable(plugin.id);
    kernel.remove(plugin.id);
    log.info({ plugin: plugin.id }, 'removed');
  }
}
