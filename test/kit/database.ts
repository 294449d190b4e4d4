import { join } from 'node:path';
import { cpSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { openDatabase } from '../../core/host/databases/open.ts';
import type { Database } from '../../core/data/database.ts';
import { KERNEL_MIGRATIONS, loadMigrations } from '../../core/host/loader.ts';
import type { Logger } from '../../core/logger.ts';
import { createServerDatabase } from './server-database.ts';
import { embeddedTemplate, testLog, type Template } from './template.ts';

export { testLog } from './template.ts';

export interface TestDatabase {
  readonly database: Database;
  /** Set if the database is on a server. */
  readonly url: string | undefined;
  /** A separate data directory, removed by `drop`. */
  readonly folder: string;
  /** Closes and removes everything. Safe to call twice. */
  drop(): Promise<void>;
}

/** The location of a test's database, before anything has opened it. */
export interface TestPlace {
  readonly url: string | undefined;
  readonly folder: string;
  remove(): Promise<void>;
}

/** Creates the kernel's own tables. */
export const migrateKernel = async (database: Database): Promise<unknown> =>
  database.migrate('kernel', await loadMigrations(KERNEL_MIGRATIONS));

/** True in the vitest project that runs on a PostgreSQL server; the others run on the embedded database. */
export const onServer: boolean = process.env['PARLEY_TEST_DATABASE'] === 'server';

/**
 * True in the vitest project without database templates: each database is created and migrated by the process that then
 * uses it, as on the first start of a new embedded installation.
 */
const inFirstProcess = process.env['PARLEY_TEST_DATABASE'] === 'first-process';

/**
 * A fresh database with the kernel's tables, one per test file: embedded or on the server of TEST_DATABASE_URL,
 * depending on the vitest project.
 */
export async function openTestDatabase({
  log = testLog,
  pool,
}: { readonly log?: Logger; readonly pool?: number } = {}): Promise<TestDatabase> {
  const place = await makeTestPlace();
  try {
    const database = await openDatabase({ url: place.url, folder: place.folder, log, pool });
    await migrateKernel(database);
    const drop = async (): Promise<void> => {
      await database.close().catch(() => undefined);
      await place.remove();
    };
    return { database, url: place.url, folder: place.folder, drop };
  } catch (error) {
    await place.remove();
    throw error;
  }
}

/**
 * Creates the location of a database, for tests that start whole processes on it. The database is empty without a
 * template, and always in the `first-process` project. `embedded`: use the embedded database even when testing on a
 * server.
 */
export async function makeTestPlace(template?: Template, { embedded = !onServer } = {}): Promise<TestPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  if (inFirstProcess) return { url: undefined, folder, remove };
  if (embedded) {
    // Synchronous, because a single native call is ten times as fast for so many small files.
    cpSync(await embeddedTemplate(template), join(folder, 'database'), { recursive: true });
    return { url: undefined, folder, remove };
  }
  const server = await createServerDatabase(template);
  return {
    url: server.url,
    folder,
    remove: async () => {
      await server.drop();
      await remove();
    },
  };
}
