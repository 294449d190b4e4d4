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
  /** Set where the database is on a server. */
  readonly url: string | undefined;
  /** A data directory of its own, removed by `drop`. */
  readonly folder: string;
  /** Closes and removes everything. Safe to call twice. */
  drop(): Promise<void>;
}

/** Where a test's database lives, before anything has opened it. */
export interface TestPlace {
  readonly url: string | undefined;
  readonly folder: string;
  remove(): Promise<void>;
}

/** Makes the kernel's own tables. */
export const migrateKernel = async (database: Database): Promise<unknown> =>
  database.migrate('kernel', await loadMigrations(KERNEL_MIGRATIONS));

/** True in the vitest project that runs on a PostgreSQL server; the other one runs on the embedded database. */
export const onServer: boolean = process.env['PARLEY_TEST_DATABASE'] === 'server';

/**
 * True in the vitest project where no database is copied: each is made, and migrated, by the process that then uses it,
 * as the first one of a new embedded installation is.
 */
const inFirstProcess = process.env['PARLEY_TEST_DATABASE'] === 'first-process';

/**
 * A fresh database with the kernel's tables, one per test file: on the server of TEST_DATABASE_URL or embedded, as the
 * vitest project says.
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
 * A place for a database, empty without a template and always in a first process: for tests that start whole processes
 * on it. `embedded`: on the embedded database, also where a server is tested.
 */
export async function makeTestPlace(template?: Template, { embedded = !onServer } = {}): Promise<TestPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  if (inFirstProcess) return { url: undefined, folder, remove };
  if (embedded) {
    // Synchronous, because that is done in one go outside of JavaScript: ten times as quick with so many small files.
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
