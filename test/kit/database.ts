import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { cpSync, existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../../core/cli/database/open.ts';
import type { Database } from '../../core/data.ts';
import { loadMigrations } from '../../core/cli/loader.ts';
import { createLogger } from '../../core/cli/logger.ts';
import type { Logger } from '../../core/logger.ts';

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

/** Silent unless TEST_LOG names a level. */
export const testLog: Logger = createLogger({ level: process.env['TEST_LOG'] ?? 'silent', terminal: false });

/** Makes the kernel's own tables. */
export const migrateKernel = async (database: Database): Promise<unknown> =>
  database.migrate('kernel', await loadMigrations(join(import.meta.dirname, '../../migrations/kernel')));

/** True in the vitest project that runs on a PostgreSQL server; the other one runs on the embedded database. */
export const onServer: boolean = process.env['PARLEY_TEST_DATABASE'] === 'server';

/** A fresh database with the kernel's tables, one per test file: on the server of TEST_DATABASE_URL or embedded, as the vitest project says. */
export async function openTestDatabase({ log = testLog, pool }: { readonly log?: Logger; readonly pool?: number } = {}): Promise<TestDatabase> {
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

/** What an embedded database holds at the beginning of a test: made once per machine, copied by each test. */
export interface Template {
  /** Another one for other contents. */
  readonly name: string;
  fill(database: Database): Promise<unknown>;
}

const EMPTY: Template = { name: 'empty', fill: () => Promise.resolve() };

/** A place for a database: for tests that start whole processes on it. It is empty, but where it is embedded as `template` says. */
export async function makeTestPlace(template = EMPTY): Promise<TestPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  if (!onServer) {
    // Synchronous, because that is done in one go outside of JavaScript: ten times as quick with so many small files.
    cpSync(await made(template), join(folder, 'database'), { recursive: true });
    return { url: undefined, folder, remove };
  }
  const server = process.env['TEST_DATABASE_URL'];
  if (!server) throw new Error('TEST_DATABASE_URL is not set; it must name a PostgreSQL server where databases may be created');
  const name = `parley_test_${randomBytes(6).toString('hex')}`;
  await onMaintenance(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    folder,
    remove: async () => {
      await onMaintenance(server, `drop database if exists ${name} with (force)`);
      await remove();
    },
  };
}

async function onMaintenance(server: string, statement: string): Promise<void> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

const TEMPLATES = 'parley-pglite-';
/** Milliseconds after which a template that has not been made anew is from code that nobody tests any more. */
const STALE = 24 * 3_600_000;

/** The files of a closed embedded database; copying them takes a tenth of making them. */
async function made({ name, fill }: Template): Promise<string> {
  const { version } = createRequire(import.meta.resolve('@electric-sql/pglite'))('../package.json') as { version: string };
  const cached = join(tmpdir(), `${TEMPLATES}${version}-${name}`);
  if (existsSync(cached)) return cached;
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-new-'));
  const database = await openDatabase({ folder, log: testLog });
  await fill(database);
  await database.close();
  // Several workers may get here at once: the first to rename wins, the others use its copy.
  await rename(join(folder, 'database'), cached).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
  await clearTemplates();
  return cached;
}

async function clearTemplates(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter((entry) => entry.startsWith(TEMPLATES))) {
    const path = join(tmpdir(), name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > STALE) await rm(path, { recursive: true, force: true });
  }
}
