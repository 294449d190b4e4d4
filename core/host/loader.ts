import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { MigrationClass } from '../data/database.ts';
import { PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { faultOf, unusable, type Plugin } from '../plugins/definition.ts';
import { inTime } from '../plugins/supervisor.ts';

/** What config/forum.ts exports. */
export interface AppConfiguration {
  /** Plugin ids in start order, each a folder under plugins/. */
  readonly plugins: readonly string[];
  /** Ids that can never be switched off from the panel; safe mode starts only these and what they need. */
  readonly required: readonly string[];
  /** First defaults by dotted key; the database wins afterwards. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * Milliseconds that reading a plugin's modules may take: one that waits for something at its top level would hold up
 * all others.
 */
const LOADING = 30_000;

/**
 * Imports every configured plugin. One that cannot be loaded is reported, and known by its id and the reason; the rest
 * go on.
 */
export async function loadPlugins(root: string, ids: readonly string[], log: Logger): Promise<readonly Plugin[]> {
  return Promise.all(
    ids.map(async (id) => {
      const folder = dirname(pluginFile(root, id));
      try {
        return await inTime(() => loadPlugin(root, id), LOADING, 'its module');
      } catch (error) {
        log.error({ plugin: id, error }, 'could not be loaded');
        const migrations = await loadMigrations(join(root, 'migrations', id)).catch(() => []);
        return unusable({ id, folder, ...(migrations.length > 0 && { migrations }) }, error);
      }
    }),
  );
}

async function loadPlugin(root: string, id: string): Promise<Plugin> {
  const file = pluginFile(root, id);
  const [module, migrations] = await Promise.all([
    import(pathToFileURL(file).href) as Promise<{ default?: Plugin }>,
    loadMigrations(join(root, 'migrations', id)),
  ]);
  const plugin = module.default;
  if (!plugin?.id || !plugin.setup)
    throw new PluginError(id, 'has no `export default definePlugin({ id, … })` in its plugin.ts');
  if (plugin.id !== id) throw new PluginError(id, `calls itself "${plugin.id}"; id and folder must be the same`);
  const fault = faultOf(plugin);
  if (fault) throw fault;
  return { ...plugin, folder: dirname(file), ...(migrations.length > 0 && { migrations }) };
}

/** The module that defines a plugin. */
export function pluginFile(root: string, id: string): string {
  return join(root, 'plugins', id, 'plugin.ts');
}

/** What the migrations of a folder export, in order; none where there is no folder. */
export async function loadMigrations(folder: string): Promise<readonly MigrationClass[]> {
  const files = await migrationFiles(folder);
  return Promise.all(
    files.map(async (file) => ((await import(pathToFileURL(file).href)) as { default: MigrationClass }).default),
  );
}

/** By file name: 0001-create.ts before 0002-… */
export async function migrationFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return names
    .filter((name) => /^\d{4}-.*\.ts$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}
