import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import './one-program.ts';
import type { MigrationClass } from '../data/database.ts';
import { messageOf, PluginError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { faultOf, unusable, type Plugin } from '../plugins/definition.ts';
import { assertFit } from '../plugins/fit.ts';
import { inTime } from '../plugins/supervisor.ts';
import { badDefault } from '../settings.ts';
import { PROGRAM } from './site.ts';

/** Where the parts of a plugin are located. */
export interface PluginLocation {
  /** The plugin's id, as far as it is known before its module is loaded. */
  readonly id: string;
  /** Contains views, locales and client modules. */
  readonly folder: string;
  /** The module whose default export is the plugin. */
  readonly module: string;
  readonly migrations: string;
  /** Set for a plugin installed by npm. */
  readonly package?: PackageManifest;
}

/** The fields that are read from a plugin package's package.json. */
export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  /**
   * `source`: the plugin module of a package under development, used in place, without building it first. `plugins`:
   * version ranges of other plugins' contracts, by plugin id.
   */
  readonly parley?: {
    readonly plugin?: string;
    readonly source?: string;
    readonly plugins?: Readonly<Record<string, string>>;
  };
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The name of this program's package. */
export const PACKAGE = 'parley-forum';
/** The conventional prefix of plugin packages' names, which their ids lack. */
const PREFIX = /^(.*\/)?(parley-plugin-)?/;
/** Node's error message for a missing contract under `parley-forum/plugins/`. */
const CONTRACT = /plugins[\\/]([a-z0-9-]+)[\\/]api\.[jt]s' imported from .*one-program/;
/** The version of all contracts that this program provides. */
export const VERSION = readManifest(join(PROGRAM, 'package.json')).version;

/** Milliseconds that loading a plugin's modules may take: a pending top-level await would hold up all other plugins. */
const LOADING = 30_000;

/**
 * Imports every configured plugin. One that cannot be loaded is logged and represented by its id and the reason; the
 * others continue.
 */
export async function loadPlugins(
  site: string,
  entries: readonly (string | Plugin)[],
  log: Logger,
): Promise<readonly Plugin[]> {
  return Promise.all(
    entries.map(async (entry) => {
      if (typeof entry !== 'string') return entry;
      try {
        return await inTime(() => loadPlugin(site, entry), LOADING, 'its module');
      } catch (error) {
        log.error({ plugin: idOf(entry), error }, 'could not be loaded');
        return unloaded(site, entry, error);
      }
    }),
  );
}

/** A stand-in for a plugin that cannot be loaded, with as much as is known about it; it is listed with the reason. */
export async function unloaded(site: string, entry: string, reason: unknown): Promise<Plugin> {
  const { folder, migrations: at = '' } = foundOrNone(site, entry);
  const migrations = await loadMigrations(at).catch(() => []);
  return unusable({ id: idOf(entry), ...(folder && { folder }), ...(migrations.length > 0 && { migrations }) }, reason);
}

export const notThere = (name: string): PluginError =>
  new PluginError(
    idOf(name),
    `was not found: there is neither a folder plugins/${name} nor a package "${name}"; add it with \`parley plugin add\`, or remove it from config/forum.ts`,
  );

/**
 * Imports one plugin by its id or package name. `generation` makes the modules of a package that was replaced while the
 * process ran load again. Throws the reason if the plugin cannot be used.
 */
export async function loadPlugin(site: string, name: string, generation?: number): Promise<Plugin> {
  const at = findLocation(site, name);
  if (!at) throw notThere(name);
  if (at.package) checkFit(at.id, at.package, VERSION);
  const query = generation === undefined ? '' : `?generation=${generation}`;
  const [module, migrations] = await Promise.all([importPlugin(at, query), loadMigrations(at.migrations, query)]);
  const plugin = module.default;
  if (!plugin?.id || !plugin.setup)
    throw new PluginError(at.id, 'has no `export default definePlugin({ id, … })` in its plugin module');
  if (!at.package && plugin.id !== at.id)
    throw new PluginError(at.id, `has the id "${plugin.id}"; id and folder must be the same`);
  const fault = faultOf(plugin) ?? (at.folder.startsWith(PROGRAM) ? undefined : badDefault(plugin.id, plugin.settings));
  if (fault) throw fault;
  return {
    ...plugin,
    folder: at.folder,
    ...(at.package && { version: at.package.version, package: at.package.name, requires: requiredBy(at.package) }),
    ...(migrations.length > 0 && { migrations }),
  };
}

async function importPlugin({ id, module }: PluginLocation, query: string): Promise<{ default?: Plugin }> {
  try {
    return (await import(pathToFileURL(module).href + query)) as { default?: Plugin };
  } catch (error) {
    const { code } = (error ?? {}) as NodeJS.ErrnoException;
    if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING')
      throw new PluginError(
        id,
        'is TypeScript inside node_modules, which Node does not run; publish what `parley plugin pack` builds',
        { cause: error },
      );
    const contract = code === 'ERR_MODULE_NOT_FOUND' ? CONTRACT.exec(messageOf(error))?.[1] : undefined;
    if (contract !== undefined)
      throw new PluginError(
        id,
        `imports "parley-forum/plugins/${contract}", which this version does not have; the contract of a plugin of the same site is ../${contract}/api.ts, and that of a package its name`,
        { cause: error },
      );
    throw error;
  }
}

/**
 * Looks for the site's plugin folder of that name, then the program's, then a package installed in the site; an
 * absolute path names a package's folder. Undefined if none of them exists.
 */
export function findLocation(site: string, name: string): PluginLocation | undefined {
  for (const root of [site, PROGRAM]) {
    const folder = join(root, 'plugins', name);
    const module = ['ts', 'js'].map((extension) => join(folder, `plugin.${extension}`)).find(existsSync);
    if (!module) continue;
    const own = join(folder, 'migrations');
    return { id: name, folder, module, migrations: existsSync(own) ? own : join(root, 'migrations', name) };
  }
  const file = isAbsolute(name) ? join(name, 'package.json') : findManifest(site, name);
  if (file === undefined || !existsSync(file)) return undefined;
  const folder = dirname(realpathSync(file));
  const manifest = readManifest(file);
  if (!manifest.parley?.plugin)
    throw new PluginError(
      idOf(name),
      'is a package that does not declare which of its modules is the plugin; its package.json needs "parley": { "plugin": "./dist/plugin.js" }',
    );
  const { plugin, source } = manifest.parley;
  // Node runs TypeScript directly everywhere except inside node_modules.
  const worked = source !== undefined && !folder.includes('node_modules') && existsSync(join(folder, source));
  const module = resolve(folder, worked ? source : plugin);
  return {
    id: idOf(manifest.name),
    folder,
    module,
    migrations: join(dirname(module), 'migrations'),
    package: manifest,
  };
}

const foundOrNone = (site: string, name: string): Partial<PluginLocation> => {
  try {
    return findLocation(site, name) ?? {};
  } catch {
    return {};
  }
};

/** Path of the package.json of a package installed in the site. */
function findManifest(site: string, name: string): string | undefined {
  try {
    return findPackageJSON(name, pathToFileURL(join(site, 'package.json')));
  } catch {
    return undefined;
  }
}

function readManifest(file: string): PackageManifest {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PackageManifest;
  } catch (error) {
    throw new PluginError(file, `cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Derives a plugin's id from its name in the configuration: `parley-plugin-polls` is `polls`. */
export const idOf = (name: string): string => name.replace(PREFIX, '');

/**
 * The ranges of other plugins' versions that a package supports: its `parley.plugins` and those peer dependencies that
 * are plugin packages.
 */
export function requiredBy({ parley, peerDependencies }: PackageManifest): Readonly<Record<string, string>> {
  const { [PACKAGE]: _program, ...peers } = peerDependencies ?? {};
  return { ...peers, ...parley?.plugins };
}

/** Throws if a package does not support this program's version of the contracts. */
export function checkFit(id: string, { version, peerDependencies = {} }: PackageManifest, have: string): void {
  const wanted = peerDependencies[PACKAGE];
  if (wanted === undefined)
    throw new PluginError(
      id,
      `does not declare which versions it is made for; its package.json needs "peerDependencies": { "${PACKAGE}": "^${have}" }`,
    );
  assertFit(id, version, wanted, { name: PACKAGE, version: have });
}

/** The default exports of a folder's migrations, in order; empty if the folder does not exist. */
export async function loadMigrations(folder: string, query = ''): Promise<readonly MigrationClass[]> {
  const files = await migrationFiles(folder);
  return Promise.all(
    files.map(
      async (file) => ((await import(pathToFileURL(file).href + query)) as { default: MigrationClass }).default,
    ),
  );
}

/** Sorted by file name: 0001-create.ts before 0002-… */
export async function migrationFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [] as string[]);
  return names
    .filter((name) => /^\d{4}-.*(?<!\.d)\.[jt]s$/.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** The folder of the kernel's own migrations. */
export const KERNEL_MIGRATIONS = join(PROGRAM, 'migrations/kernel');
