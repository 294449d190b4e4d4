import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { MigrationClass } from '../data.ts';
import { chainOf, PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Plugin } from '../plugin.ts';

/** What config/forum.ts exports. */
export interface AppConfiguration {
  /** Plugin ids in start order: a folder under plugins/, or a module specifier of a package. */
  readonly plugins: readonly string[];
  /** Ids that can never be switched off from the panel; safe mode starts only these and what they need. */
  readonly required: readonly string[];
  /** First defaults by dotted key; the database wins afterwards. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Imports every configured plugin. One that cannot be loaded is reported and left out; the rest go on. */
export async function loadPlugins(root: string, ids: readonly string[], log: Logger): Promise<readonly Plugin[]> {
  const loaded = await Promise.all(ids.map((id) => loadPlugin(root, id).catch((error: unknown) => void log.error({ plugin: id, error }, `could not be loaded: ${chainOf(error)}`))));
  return loaded.filter((plugin): plugin is Plugin => plugin !== undefined);
}

async function loadPlugin(root: string, id: string): Promise<Plugin> {
  const folder = join(root, 'plugins', id);
  const [module, migrations] = await Promise.all([
    import(pathToFileURL(join(folder, 'plugin.ts')).href) as Promise<{ default?: Plugin }>,
    loadMigrations(join(root, 'migrations', id)),
  ]);
  const plugin = module.default;
  if (!plugin?.id || !plugin.setup) throw new PluginError(id, 'has no `export default definePlugin({ id, … })` in its plugin.ts');
  if (plugin.id !== id) throw new PluginError(id, `calls itself "${plugin.id}"; id and folder must be the same`);
  return { ...plugin, folder, ...(migrations.length > 0 && { migrations }) };
}

/** The migrations of a folder by file name: 0001-create.ts before 0002-…; none where there is no folder. */
export async function loadMigrations(folder: string): Promise<readonly MigrationClass[]> {
  const names = await readdir(folder).catch(() => [] as string[]);
  const files = names.filter((name) => /^\d{4}-.*\.ts$/.test(name)).sort();
  return Promise.all(files.map(async (name) => ((await import(pathToFileURL(join(folder, name)).href)) as { default: MigrationClass }).default));
}
