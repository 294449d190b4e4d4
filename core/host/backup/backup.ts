import { existsSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ArchiveWriter } from './archive.ts';
import { rowsOf, sequencesOf, tablesOf, type Table } from './tables.ts';
import { CACHE_TAG } from './cache-folder.ts';
import { sql, type Data } from '../../data/database.ts';
import type { Environment } from '../../environment.ts';
import { ConfigurationError } from '../../errors.ts';

/** The backup's description of itself, in `manifest.json`. */
export interface Manifest {
  /** Version of the archive format; the only one so far. */
  readonly format: 1;
  /** Version of the program that made the backup. */
  readonly version: string;
  readonly made_at: string;
  /** The migrations that had been run, by plugin; running them again recreates its tables. */
  readonly migrations: Readonly<Record<string, readonly string[]>>;
  /** Each table with its columns, in the order of the values in `tables/<name>.jsonl`, and its number of rows. */
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[]; readonly rows: number }[];
  readonly sequences: readonly { readonly name: string; readonly last: string }[];
}

export const MANIFEST = 'manifest.json';
/** The folder in the archive that holds the files of DATA_DIR. */
export const FILES = 'files/';
export const linesOf = (table: string): string => `tables/${table}.jsonl`;

/**
 * Names in DATA_DIR that are left out: the embedded database, whose rows are in the archive anyway, its lock file, and
 * temporary files.
 */
const NOT_KEPT = /^(database(\.pid)?$|\.)/;

export interface BackupDeps {
  readonly data: Data;
  readonly environment: Pick<Environment, 'dataDir' | 'version'>;
  /** Called with the name of each table. */
  progress(line: string): void;
}

/**
 * Writes all rows, as of one snapshot, and the files of DATA_DIR to `path`. Resolves to the manifest. Throws
 * `ConfigurationError` if `path` already exists.
 */
export async function backUp(path: string, { data, environment, progress }: BackupDeps): Promise<Manifest> {
  const { dataDir, version } = environment;
  if (existsSync(path)) throw new ConfigurationError(`${path} already exists; choose another name`);
  if (!relative(dataDir, path).startsWith(`..${sep}`))
    throw new ConfigurationError(
      `${path} is in the data directory and would be included in the next backup; choose another place`,
    );
  await using archive = new ArchiveWriter(path);
  const manifest = await data.transaction(async (): Promise<Manifest> => {
    await data.all(sql`set transaction isolation level repeatable read, read only`);
    await data.all(sql`select set_config('statement_timeout', '0', true)`);
    const tables: Manifest['tables'][number][] = [];
    for (const table of await tablesOf(data)) {
      progress(table.name);
      const rows = await addTable(archive, data, table);
      tables.push({ name: table.name, columns: table.columns.map(({ name }) => name), rows });
    }
    return {
      format: 1,
      version,
      made_at: new Date().toISOString(),
      migrations: await migrationsIn(data),
      tables,
      sequences: await sequencesOf(data),
    };
  });
  for (const file of await filesOf(dataDir)) archive.addFile(FILES + file.replaceAll(sep, '/'), join(dataDir, file));
  archive.addText(MANIFEST, JSON.stringify(manifest, undefined, 2));
  await archive.end();
  return manifest;
}

/** Resolves to the number of rows. */
async function addTable(archive: ArchiveWriter, data: Data, table: Table): Promise<number> {
  let count = 0;
  const counted = async function* (): AsyncGenerator<readonly string[]> {
    for await (const rows of rowsOf(data, table)) {
      count += rows.length;
      yield rows;
    }
  };
  await archive.addLines(linesOf(table.name), counted());
  return count;
}

async function migrationsIn(data: Data): Promise<Manifest['migrations']> {
  const rows = await data.all(
    sql<{ plugin: string; names: readonly string[] }>`
      select plugin, json_agg(name order by name) as names from migration group by plugin order by plugin`,
  );
  return Object.fromEntries(rows.map(({ plugin, names }) => [plugin, names]));
}

/** Paths of the files in DATA_DIR, except for the database, sockets, names that start with a dot, and cache folders. */
export async function filesOf(dataDir: string): Promise<readonly string[]> {
  const names = (await readdir(dataDir)).filter((name) => !NOT_KEPT.test(name));
  const files = await Promise.all(names.map((name) => filesBelow(join(dataDir, name))));
  return files
    .flat()
    .map((path) => relative(dataDir, path))
    .toSorted();
}

async function filesBelow(path: string): Promise<readonly string[]> {
  const found = await lstat(path);
  if (!found.isDirectory()) return found.isFile() ? [path] : [];
  const names = await readdir(path);
  if (names.includes(CACHE_TAG)) return [];
  return (await Promise.all(names.map((name) => filesBelow(join(path, name))))).flat();
}
