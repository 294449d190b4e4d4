import { existsSync } from 'node:fs';
import type { Cluster } from '../cluster.ts';
import { PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Plugin } from '../plugins/definition.ts';
import type { PluginControl } from '../plugins/desired-state.ts';
import type { Kernel } from '../plugins/kernel.ts';
import { loadPlugin } from './loader.ts';

export interface PluginInstallerDeps {
  readonly site: string;
  readonly kernel: Kernel;
  readonly plugins: PluginControl;
  readonly cluster: Cluster;
  readonly log: Logger;
}

/** What is sent to the other processes of the site. */
interface Change {
  readonly name: string;
  readonly removed: boolean;
}

/** Where a plugin is from; undefined where only its id is left, in the configuration or in this process. */
const placeOf = ({ package: from, folder }: Plugin): string | undefined =>
  from ?? (folder !== undefined && existsSync(folder) ? `the folder ${folder}` : undefined);

/** Plugins that come, change and go while the program runs, in all processes that serve the site. */
export class PluginInstaller {
  readonly #deps: PluginInstallerDeps;
  /** How often modules were read anew: what was imported once stays in memory under its address. */
  #generation = 1;

  constructor(deps: PluginInstallerDeps) {
    this.#deps = deps;
    deps.cluster.subscribe('plugin packages', async (change) => {
      // Where messages may have been missed nothing tells what came: the next start reads the configuration.
      if (change === undefined) return;
      const { name, removed } = change as Change;
      await (removed ? this.#remove(name) : this.#install(name, () => this.#deps.plugins.reconcile()));
    });
  }

  /**
   * Loads a plugin that was put into the site, or put there anew, and switches it on: somebody asked for it. Requests
   * that come meanwhile wait. Resolves to the plugin; throws why it cannot be used, and goes on with what ran before.
   */
  async install(name: string): Promise<Plugin> {
    const plugin = await this.#install(name, ({ id }) => this.#enable(id));
    await this.#deps.cluster.publish('plugin packages', { name, removed: false } satisfies Change);
    return plugin;
  }

  /** Stops a plugin that was taken out of the site, and forgets it. */
  async remove(name: string): Promise<void> {
    await this.#remove(name);
    await this.#deps.cluster.publish('plugin packages', { name, removed: true } satisfies Change);
  }

  /** The plugin of that id, or that came in the package of that name. */
  find(name: string): Plugin | undefined {
    return this.#deps.kernel.graph.all().find((plugin) => plugin.id === name || plugin.package === name);
  }

  /** `start`: may leave it off, or throw. */
  async #install(name: string, start: (plugin: Plugin) => Promise<void>): Promise<Plugin> {
    const { site, kernel, log } = this.#deps;
    const plugin = await loadPlugin(site, name, this.#generation++);
    const before = this.find(plugin.id);
    const other = before && before.package !== plugin.package ? placeOf(before) : undefined;
    if (other !== undefined) throw new PluginError(plugin.id, `is here already, from ${other}; remove that one first`);
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

  /** One that was switched off earlier, or removed with its data, is off until somebody asks for it. */
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
