import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase } from '../../core/host/databases/open.ts';
import { testLog, type Template } from './template.ts';

export interface ServerDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** The environment variables that pass the id of the test run, and its tablespace if there is one, to its workers. */
const RUN = 'PARLEY_TEST_RUN';
const TABLESPACE = 'PARLEY_TEST_TABLESPACE';
const PREFIX = 'parley_test_';
/** The in-memory file system of the server's machine, if that is Linux, and the bytes that must be free there. */
const [MEMORY, ROOM] = ['/dev/shm', 4 * 1024 ** 3];
/**
 * Number of databases of finished tests that a worker drops at once. ext4 does not reuse an inode within seconds of its
 * deletion, and scans all such inodes for each new file, so copying a database takes five times as long while others
 * are being dropped.
 */
const DROPPED_TOGETHER = 25;
const ended: string[] = [];

/** Creates a database on the server of TEST_DATABASE_URL, empty without a template; templates belong to a run. */
export async function createServerDatabase(template?: Template): Promise<ServerDatabase> {
  const name = `${prefixOf(process.env[RUN] ?? '')}${randomBytes(6).toString('hex')}`;
  const from = template ? await made(template) : 'template1';
  await onServer(async (server) => {
    await create(server, name, from);
    // Durability does not matter for tests, so no commit has to wait for the disk.
    await server.query(`alter database ${name} set synchronous_commit = off`);
  });
  // The installation's id determines its namespace in Redis.
  if (template)
    await onServer((database) => database.query('update installation set id = gen_random_uuid()'), urlOf(name));
  return { url: urlOf(name), drop: () => end(name) };
}

async function create(server: pg.Client, name: string, from: string): Promise<void> {
  const tablespace = process.env[TABLESPACE];
  await server.query(`create database ${name} template ${from}${tablespace ? ` tablespace ${tablespace}` : ''}`);
}

async function end(name: string): Promise<void> {
  if (ended.includes(name)) return;
  ended.push(name);
  await onServer((server) =>
    server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]),
  );
  if (process.env[RUN] === undefined) await onServer((server) => dropAll(server, ended.splice(0)));
  // Not awaited by any test, as each drop forces a checkpoint on the server. The rest are dropped at the end of the
  // run.
  else if (ended.length >= DROPPED_TOGETHER)
    onServer((server) => dropAll(server, ended.splice(0))).catch(() => undefined);
}

async function dropAll(server: pg.Client, names: readonly string[]): Promise<void> {
  for (const name of names) await server.query(`drop database if exists ${name} with (force)`);
}

const prefixOf = (run: string): string => `${PREFIX}${run}_`;

/** Begins a test run; the returned function ends it and drops its remaining databases. */
export async function beginRun(): Promise<() => Promise<void>> {
  const run = (process.env[RUN] = randomBytes(4).toString('hex'));
  const tablespace = `${PREFIX}${run}`;
  await onServer(async (server) => {
    if (await createTablespace(server, tablespace)) process.env[TABLESPACE] = tablespace;
  });
  return () =>
    onServer(async (server) => {
      const { rows } = await server.query<{ name: string }>(
        'select datname as name from pg_database where starts_with(datname, $1)',
        [prefixOf(run)],
      );
      await dropAll(
        server,
        rows.map(({ name }) => name),
      );
      if (process.env[TABLESPACE]) {
        await server.query(`drop tablespace ${tablespace}`);
        await runOnMachine(server, `rmdir ${MEMORY}/${tablespace}`);
      }
    });
}

/**
 * Creates a tablespace in the memory of the server's machine, where copying the seven hundred files of a database takes
 * a fifth of the time. False if the server's machine has no room there or its user may not.
 */
async function createTablespace(server: pg.Client, name: string): Promise<boolean> {
  const folder = `${MEMORY}/${name}`;
  try {
    await runOnMachine(
      server,
      `test "$(df --output=avail -B1 ${MEMORY} | tail -n 1)" -gt ${ROOM} && mkdir -m 700 ${folder}`,
    );
    await server.query(`create tablespace ${name} location '${folder}'`);
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return false;
    throw error;
  }
}

/**
 * Runs a command on the server's machine as the server's user. No row is written to the command: one that ends without
 * reading its input would fail at times.
 */
const runOnMachine = (server: pg.Client, command: string): Promise<unknown> =>
  server.query(`copy (select limit 0) to program '${command}'`);

/** The template database, created by the first worker that needs it. */
async function made(template: Template): Promise<string> {
  const name = `${prefixOf(process.env[RUN] ?? '')}${template.name}`;
  await onServer(async (server) => {
    await server.query('select pg_advisory_lock(hashtext($1))', [name]);
    const { rowCount } = await server.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await make(server, name, template);
  });
  return name;
}

/** Created under a temporary name until it is complete. */
async function make(server: pg.Client, name: string, { fill }: Template): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-new-'));
  await create(server, `${name}_new`, 'template1');
  const database = await openDatabase({ url: urlOf(`${name}_new`), folder, log: testLog });
  try {
    await fill(database);
  } finally {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
  await server.query(`alter database ${name}_new rename to ${name}`);
}

function addressOf(): string {
  const server = process.env['TEST_DATABASE_URL'];
  if (!server)
    throw new Error('TEST_DATABASE_URL is not set; it must name a PostgreSQL server where databases may be created');
  return server;
}

function urlOf(database: string): string {
  const url = new URL(addressOf());
  url.pathname = `/${database}`;
  return url.href;
}

async function onServer(work: (server: pg.Client) => Promise<unknown>, url = addressOf()): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
