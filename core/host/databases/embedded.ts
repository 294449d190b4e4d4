import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { PGlite, type Transaction } from '@electric-sql/pglite';
import { citext } from '@electric-sql/pglite/contrib/citext';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { unaccent } from '@electric-sql/pglite/contrib/unaccent';
import { MikroORM } from '@mikro-orm/pglite';
import { lostTransaction } from './transaction-ends.ts';
import { ORM_OPTIONS, TYPE_PARSERS } from './type-parsers.ts';
import { watchDiskSpace } from './disk-space.ts';
import { startVacuuming } from './vacuum.ts';
import { sendingStatement } from '../../diagnostics.ts';
import { ConfigurationError } from '../../errors.ts';
import type { DatabaseDriver } from '../../data/database.ts';
import type { Logger } from '../../logger.ts';

/** Milliseconds of statements after which the event loop gets a turn. */
const TURN_EVERY = 2;
/**
 * PostgreSQL's default of 128 MB would be allocated with the first statements and never released; the operating system
 * caches the files anyway (docs/decisions/0008-memory-flags.md).
 */
const BUFFERS = '16MB';

/**
 * Opens PostgreSQL inside this process, with its files in `folder/database`. Throws `ConfigurationError` if another
 * process has it open.
 */
export async function openEmbedded(folder: string, log: Logger): Promise<DatabaseDriver> {
  const dataDir = join(folder, 'database');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  await using undo = new AsyncDisposableStack();
  const locked = await lock(folder);
  undo.defer(() => new Promise<void>((resolve) => void locked.close(() => resolve())));
  const pglite = await PGlite.create({
    dataDir,
    extensions: { citext, pg_trgm, unaccent },
    parsers: TYPE_PARSERS,
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${BUFFERS}`],
  });
  undo.defer(() => pglite.close());
  await pglite.exec(`set timezone to 'UTC'`);
  const run = async (statement: string) => (await pglite.exec(statement)).at(-1)!;
  const room = undo.use(await watchDiskSpace(run, dataDir));
  undo.defer(startVacuuming(run, log));

  const usage = { statements: 0 };
  let turned = 0;
  /**
   * Wraps a session for the ORM: counts statements, and accepts several in one text if there are no values. `failed` is
   * called with the errors of rejected statements.
   */
  const watch = (session: Pick<Transaction, 'query' | 'exec'>, failed?: (error: unknown) => void) => ({
    query: async (text: string, values: readonly unknown[], options?: object) => {
      room.check(text);
      usage.statements++;
      const ended = sendingStatement();
      try {
        return values.length > 0
          ? await session.query(text, [...values], options)
          : (await session.exec(text, options)).at(-1)!;
      } catch (error) {
        failed?.(error);
        throw error;
      } finally {
        ended?.();
        // PGlite resolves in microtasks only: without yielding to the event loop, consecutive statements would starve
        // timers and sockets.
        if (performance.now() - turned > TURN_EVERY) {
          await turn();
          turned = performance.now();
        }
      }
    },
  });
  const watched = {
    ...watch(pglite),
    transaction: (run: (session: object) => Promise<unknown>) =>
      pglite.transaction(async (session) => {
        const failures: unknown[] = [];
        await run(watch(session, (error) => void failures.push(error)));
        if (failures.length > 0) throw lostTransaction(failures[0]);
      }),
    ready: true,
    closed: false,
    waitReady: Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const orm = new MikroORM({ ...ORM_OPTIONS, driverOptions: { pglite: watched } });
  undo.defer(() => orm.close(true));
  const opened = undo.move();
  const close = (): Promise<void> => opened.disposeAsync();
  // PGlite only knows array types that existed when it was opened, and treats a list as text if it does not know the
  // type.
  const migrated = (): Promise<void> => pglite.refreshArrayTypes();
  return {
    embedded: true,
    orm,
    usage,
    query: watched.query,
    thenCommit: (statement) => statement(),
    claimAlone: () => Promise.resolve(true),
    migrated,
    close,
  };
}

/**
 * Two processes on the same folder would silently lose each other's rows, so the second one is refused. The operating
 * system releases the address however the process ends.
 */
async function lock(folder: string): Promise<Server> {
  const file = join(folder, 'database.pid');
  const hash = createHash('sha256').update(realpathSync(folder)).digest('hex');
  // Abstract sockets exist only on Linux; elsewhere a local port derived from the folder is used.
  const address =
    process.platform === 'linux'
      ? { path: `\0parley-${hash}` }
      : { host: '127.0.0.1', port: 49_152 + (parseInt(hash.slice(0, 4), 16) % 16_384) };
  const server = createServer((socket) => socket.destroy());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject).listen(address, resolve);
  try {
    await promise;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    const owner = existsSync(file) ? readFileSync(file, 'utf8') : 'unknown';
    const remedy =
      'if that is a server that is starting, try again in a moment; otherwise stop it, or set DATABASE_URL to a PostgreSQL server to run several processes';
    throw new ConfigurationError(`the embedded database in ${folder} is in use by process ${owner}; ${remedy}`);
  }
  writeFileSync(file, String(process.pid));
  return server.unref();
}
