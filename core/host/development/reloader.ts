import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import type { Plugin } from '../../plugins/definition.ts';
import { filesChanged } from '../../plugins/actions.ts';
import type { App } from '../app.ts';
import { findLocation, idOf, loadPlugin, unloaded } from '../loader.ts';
import { configurationFile, PROGRAM, readConfiguration } from '../site.ts';
import type { ModuleGraph } from './module-graph.ts';

export interface ReloaderDeps {
  /** The site's folder. */
  readonly site: string;
  readonly app: App;
  readonly modules: ModuleGraph;
}

/** Subfolders of a plugin with files for pages and browsers, which no server module imports. */
const FOR_PAGES = /^(views|locales|public|client)[\\/]/;
const CODE = /(?<!\.d)\.[cm]?[jt]s$|\.json$/;
/** Tests run in a process of their own. */
const TEST = /(^|[\\/])test[\\/]|\.test\.[jt]s$/;
const MIGRATION = /[\\/]migrations[\\/]([^\\/]+[\\/])?\d{4}-[^\\/]+$/;

/** The folders with the plugins, themes, migrations and configuration of the site and of the program. */
export function watchedFolders(site: string): readonly string[] {
  const roots = [...new Set([site, ...(PROGRAM.includes(`${sep}node_modules${sep}`) ? [] : [PROGRAM])])].map(real);
  return roots.flatMap((root) => ['config', 'migrations', 'plugins', 'themes'].map((folder) => join(root, folder)));
}

/**
 * Brings the running program up to date with its files: restarts plugins that changed, and those that hold their
 * services.
 */
export class Reloader {
  readonly #deps: ReloaderDeps;
  /** The entries of `config/forum.ts`, by plugin id. */
  readonly #entries = new Map<string, string | Plugin>();
  /** Plugins whose current files cannot be used: an older version of them runs, or none. */
  readonly #broken = new Set<string>();

  constructor(deps: ReloaderDeps) {
    this.#deps = deps;
    const { configuration, kernel } = deps.app;
    const installed = kernel.graph.all();
    for (const entry of configuration.plugins) {
      const plugin = installed.find(({ id, package: name }) =>
        typeof entry === 'string' ? name === entry || id === idOf(entry) : id === entry.id,
      );
      if (plugin) this.#entries.set(plugin.id, entry);
    }
  }

  /** Folders of plugins outside of the watched ones, such as packages developed beside the site. */
  elsewhere(): readonly string[] {
    const watched = watchedFolders(this.#deps.site);
    return this.#folders().filter(
      (folder) => !folder.includes(`${sep}node_modules${sep}`) && !watched.some((one) => folder.startsWith(one + sep)),
    );
  }

  /**
   * Applies the current state of these files; resolves to the ids of the reloaded plugins. Problems with them are
   * logged.
   */
  async apply(files: readonly string[]): Promise<readonly string[]> {
    const { app, modules, site } = this.#deps;
    const edited = files.filter((file) => MIGRATION.test(file) && modules.has(file) && existsSync(file));
    for (const file of edited) this.#warnOfMigration(file);
    const changed = files.filter((file) => this.#isCode(file)).flatMap((file) => this.#modulesFor(file));
    const broken = [...this.#broken, ...app.kernel.graph.all().flatMap(({ id }) => (this.#failed(id) ? id : []))];
    const again = broken.flatMap((id) => this.#modulesOf(id));
    const renewed = modules.renew([...changed, ...again], [...watchedFolders(site), ...this.#folders()]);
    const configuration = configurationFile(site);
    const configured = configuration !== undefined && renewed.has(real(configuration)) ? await this.#configure() : [];
    const entries = [...this.#entries].filter(([, entry]) => {
      const module = typeof entry === 'string' ? this.#locate(entry)?.module : undefined;
      return module !== undefined && renewed.has(real(module));
    });
    const reloaded = await this.#reload(new Map(entries));
    await app.hooks.emit(filesChanged, {});
    return [...configured, ...reloaded];
  }

  #isCode(file: string): boolean {
    const folder = this.#folders().find((one) => file.startsWith(one + sep));
    const inner = folder === undefined ? '' : file.slice(folder.length + 1);
    return CODE.test(file) && !TEST.test(inner) && !FOR_PAGES.test(inner);
  }

  /** A file that none of its plugin's modules imports, such as a worker or a migration, reloads the whole plugin. */
  #modulesFor(file: string): readonly string[] {
    if (this.#deps.modules.has(file) && !MIGRATION.test(file)) return [file];
    const owner = this.#ownerOf(file);
    return owner === undefined ? [] : [file, ...this.#modulesOf(owner)];
  }

  /** The id of the plugin that the file belongs to. */
  #ownerOf(file: string): string | undefined {
    return this.#deps.app.kernel.graph.all().find(({ id, folder }) => {
      const migrations = basename(dirname(file)) === id && basename(dirname(dirname(file))) === 'migrations';
      return migrations || (folder !== undefined && file.startsWith(real(folder) + sep));
    })?.id;
  }

  /**
   * The migrations of a running plugin have already been run: the tables stay as they are, whatever the file says now.
   */
  #warnOfMigration(file: string): void {
    const { kernel, log } = this.#deps.app;
    const plugin = this.#ownerOf(file);
    if (plugin === undefined || !kernel.active().includes(plugin)) return;
    log.warn(
      { plugin, file },
      `this migration ran before and does not run again; \`parley plugin disable ${plugin}\` and \`parley plugin uninstall ${plugin}\` revert it with its \`down\`, and \`parley plugin enable ${plugin}\` runs its current version`,
    );
  }

  /** All modules of a plugin, even if it could not be loaded. */
  #modulesOf(id: string): readonly string[] {
    const entry = this.#entries.get(id);
    const location = typeof entry === 'string' ? this.#locate(entry) : undefined;
    return location ? [real(location.module), ...this.#deps.modules.below(real(location.folder))] : [];
  }

  #locate(entry: string): ReturnType<typeof findLocation> {
    try {
      return findLocation(this.#deps.site, entry);
    } catch {
      // Its package.json is broken, which loading the plugin reports.
      return undefined;
    }
  }

  /** The folders of all known plugins. */
  #folders(): readonly string[] {
    return this.#deps.app.kernel.graph.all().flatMap(({ folder }) => (folder === undefined ? [] : real(folder)));
  }

  #failed(id: string): boolean {
    return this.#deps.app.kernel.failure(id) !== undefined;
  }

  /** Adds and removes plugins to match the current configuration. */
  async #configure(): Promise<readonly string[]> {
    const { app, site } = this.#deps;
    const { plugins } = await readConfiguration(site).catch((error: unknown) => {
      app.log.error({ error }, 'config/forum.ts cannot be read; the plugins it listed before keep running');
      return { plugins: undefined };
    });
    if (!plugins) return [];
    const known = new Map([...this.#entries].map(([id, entry]) => [typeof entry === 'string' ? entry : id, id]));
    const named = new Set(plugins.map((entry) => known.get(typeof entry === 'string' ? entry : entry.id)));
    for (const id of [...this.#entries.keys()].filter((one) => !named.has(one))) await this.#remove(id);
    const values = plugins.filter((entry) => typeof entry !== 'string' && this.#entries.get(entry.id) !== entry);
    const fresh = plugins.filter((entry) => typeof entry === 'string' && !known.has(entry));
    return this.#reload(
      new Map([
        ...values.map((entry) => [(entry as Plugin).id, entry] as const),
        ...fresh.map((entry) => [entry as string, entry] as const),
      ]),
    );
  }

  async #remove(id: string): Promise<void> {
    const { kernel, log } = this.#deps.app;
    // `parley plugin remove` removes the plugin itself.
    if (kernel.graph.all().some((plugin) => plugin.id === id)) {
      await kernel.disable(id);
      kernel.remove(id);
    }
    this.#entries.delete(id);
    this.#broken.delete(id);
    log.info({ plugin: id }, 'removed');
  }

  /**
   * Loads plugins and replaces their previous versions; one whose new version does not work keeps running the old one.
   */
  async #reload(entries: ReadonlyMap<string, string | Plugin>): Promise<readonly string[]> {
    const { kernel, plugins } = this.#deps.app;
    const loaded = (await Promise.all([...entries].map(([id, entry]) => this.#load(id, entry)))).filter(
      (plugin) => plugin !== undefined,
    );
    if (loaded.length === 0) return [];
    const before = kernel.graph.all();
    const ran = new Set(kernel.active());
    const installed = new Set(before.map(({ id }) => id));
    await kernel.replace(...loaded.filter(({ id }) => installed.has(id)));
    for (const plugin of loaded.filter(({ id }) => !installed.has(id))) kernel.install(plugin);
    await plugins.reconcile();
    const stopped = before.filter(({ id }) => ran.has(id) && this.#failed(id));
    if (stopped.length > 0) {
      await kernel.replace(...stopped);
      await plugins.reconcile();
    }
    for (const { id } of loaded) {
      if (stopped.some((one) => one.id === id) || this.#failed(id)) this.#broken.add(id);
      else this.#broken.delete(id);
    }
    return loaded.map(({ id }) => id).filter((id) => !this.#broken.has(id));
  }

  async #load(id: string, entry: string | Plugin): Promise<Plugin | undefined> {
    try {
      const plugin = typeof entry === 'string' ? await loadPlugin(this.#deps.site, entry) : entry;
      this.#entries.set(plugin.id, entry);
      return plugin;
    } catch (error) {
      const { app, site } = this.#deps;
      const runs = app.kernel.state(id) === 'active';
      app.log.error(
        { plugin: id, error },
        runs ? 'could not be loaded; the previous version keeps running' : 'could not be loaded',
      );
      if (this.#entries.has(id) || typeof entry !== 'string') {
        this.#broken.add(id);
        return undefined;
      }
      // New in the configuration: list it with the reason; it starts once its files are fixed.
      const plugin = await unloaded(site, entry, error);
      this.#entries.set(plugin.id, entry);
      return plugin;
    }
  }
}

/** The path without symbolic links, as in module URLs. */
function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
