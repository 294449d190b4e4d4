import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openArchive, type Archive } from './archive.ts';
import { FILES, filesOf, linesOf, MANIFEST, type Manifest } from './backup.ts';
import { addRows, refill, setSequence, tablesOf, type Table } from './tables.ts';
import { openDatabase } from '../databases/open.ts';
import { KERNEL_MIGRATIONS, loadMigrations } from '../loader.ts';
import { sql, type Database, type MigrationClass } from '../../data/database.ts';
import type { Environment } from '../../environment.ts';
import { ConfigurationError } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { Plugin } from '../../plugins/definition.ts';
import { Graph } from '../../plugins/graph.ts';

export interface RestoreDeps {
  readonly environment: Environment;
  /** All installed plugins. */
  readonly plugins: readonly Plugin[];
  /** Ids of plugins whose data is not restored. */
  readonly without: readonly string[];
  readonly log: Logger;
  /** Called with the name of each table. */
  progress(line: string): void;
}

/** Characters of rows sent to the database per statement. */
const PART = 1_000_000;
/** Entries of DATA_DIR/config.json that describe the machine on which the backup was made. */
const OF_THE_MACHINE = ['database_url', 'redis_url'];

/**
 * Restores a backup into an empty database and an empty DATA_DIR. Tables are created by the migrations that had been
 * run when the backup was made; the next start runs the later ones. Throws `ConfigurationError`, before anything is
 * written, if the backup does not fit.
 */
export async function restore(path: string, deps: RestoreDeps): Promise<Manifest> {
  const { environment, log } = deps;
  const { dataDir, databaseUrl } = environment;
  await using archive = await openArchive(path);
  const manifest = JSON.parse(await archive.text(MANIFEST)) as Manifest;
  if (manifest.format !== 1)
    throw new ConfigurationError(
      `${path} was made by Parley ${manifest.version}; restore it with that version or a later one`,
    );
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const [file] = await filesOf(dataDir);
  if (file !== undefined)
    throw new ConfigurationError(
      `DATA_DIR is not empty: it contains ${file}; restore into another one, or empty it first`,
    );
  const wanted = await migrationsFor(manifest, deps);
  const data = await openDatabase({ ...(databaseUrl && { url: databaseUrl }), folder: dataDir, log });
  try {
    const tables = (await tablesOf(data)).filter(({ name }) => name !== 'migration');
    if (tables.length > 0)
      throw new ConfigurationError(
        `The database is not empty: it contains the table "${tables[0]!.name}"; restore into an empty one`,
      );
    for (const [plugin, migrations] of wanted) await data.migrate(plugin, migrations);
    await fill(data, archive, manifest, deps);
  } finally {
    await data.close();
  }
  for (const name of archive.names.filter((one) => one.startsWith(FILES))) {
    const target = join(dataDir, name.slice(FILES.length));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await archive.extract(name, target);
  }
  await forgetMachine(join(dataDir, 'config.json'));
  return manifest;
}

/** By plugin, the migrations that had been run, in the order in which a start runs them. */
async function migrationsFor(
  { migrations, version }: Manifest,
  { plugins, without }: RestoreDeps,
): Promise<ReadonlyMap<string, readonly MigrationClass[]>> {
  const graph = new Graph();
  for (const plugin of plugins) graph.add(plugin);
  const known = new Map([
    ['kernel', await loadMigrations(KERNEL_MIGRATIONS)],
    ...graph.bootOrder().map((id) => [id, graph.get(id).migrations ?? []] as const),
  ]);
  for (const [plugin, names] of Object.entries(migrations)) {
    if (without.includes(plugin)) continue;
    const there = known.get(plugin)?.map(({ name }) => name);
    if (!there)
      throw new ConfigurationError(
        `The backup has tables of the plugin "${plugin}", which is not installed here; install it, or leave out its data with --without ${plugin}`,
      );
    const missing = names.find((name) => !there.includes(name));
    if (missing !== undefined)
      throw new ConfigurationError(
        `The backup needs the migration ${missing} of "${plugin}", which does not exist here; it was made by Parley ${version}: restore it with that version or a later one`,
      );
  }
  const inForce = (plugin: string, { name }: MigrationClass): boolean =>
    !without.includes(plugin) && (migrations[plugin]?.includes(name) ?? false);
  return new Map([...known].map(([plugin, all]) => [plugin, all.filter((one) => inForce(plugin, one))]));
}

async function fill(data: Database, archive: Archive, manifest: Manifest, deps: RestoreDeps): Promise<void> {
  const { without, progress } = deps;
  await refill(data, async (tables) => {
    for (const { name, columns } of manifest.tables) {
      const table = tables.find((one) => one.name === name);
      // Belongs to a plugin whose data is left out.
      if (!table && without.length > 0) continue;
      if (!table) throw new ConfigurationError(`The backup has a table "${name}" that none of its migrations creates`);
      progress(name);
      await fillTable(data, table, columns, archive.lines(linesOf(name)));
    }
    for (const plugin of without) await data.all(sql`delete from migration where plugin = ${plugin}`);
    for (const { name, last } of manifest.sequences) await setSequence(data, name, last);
    // A new id keeps this site apart in Redis from the original, which may still run beside it.
    await data.all(sql`update installation set id = gen_random_uuid()`);
  });
  await data.all(sql`analyze`);
}

async function fillTable(
  data: Database,
  table: Table,
  columns: readonly string[],
  chunks: AsyncIterable<readonly string[]>,
): Promise<void> {
  let waiting: string[] = [];
  let size = 0;
  const send = async (): Promise<void> => {
    if (waiting.length > 0) await addRows(data, table, columns, waiting);
    [waiting, size] = [[], 0];
  };
  for await (const lines of chunks) {
    waiting.push(...lines);
    size += lines.reduce((sum, line) => sum + line.length, 0);
    if (size >= PART) await send();
  }
  await send();
}

/** The environment says where this site's data is. */
async function forgetMachine(file: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (text === undefined) return;
  const kept = Object.entries(JSON.parse(text) as object).filter(([name]) => !OF_THE_MACHINE.includes(name));
  await writeFile(file, `${JSON.stringify(Object.fromEntries(kept), undefined, 2)}\n`, { mode: 0o600 });
}
