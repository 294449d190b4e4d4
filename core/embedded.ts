import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { PGlite, types, type Transaction } from '@electric-sql/pglite';
import { citext } from '@electric-sql/pglite/contrib/citext';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { unaccent } from '@electric-sql/pglite/contrib/unaccent';
import { MikroORM } from '@mikro-orm/pglite';
import { createPostgreSqlTypeParsers } from '@mikro-orm/sql';
import { ORM_OPTIONS, readers, type Backend, type Connection, type OnBegin, type Orm } from './connection.ts';
import { ConfigurationError } from './errors.ts';

const parseArray = (text: string): (string | null)[] => types.arrayParser(text, (item: string) => item, 1009) as (string | null)[];
const parsers = readers(parseArray);

/** Milliseconds of statements after which the event loop gets a turn. */
const TURN_EVERY = 2;

/** The part of PGlite that a transaction shares with it. */
type Session = Pick<Transaction, 'query' | 'exec'>;

/** PostgreSQL inside this process, its files under `folder/database`. Throws `ConfigurationError` when another process has it open. */
export async function openEmbedded(folder: string, onBegin: OnBegin): Promise<Backend> {
  const dataDir = join(folder, 'database');
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const unlock = await lock(folder);
  let statements = 0;

  let turned = 0;
  // PGlite answers in microtasks only: without a turn of the event loop statements back to back would starve timers and sockets.
  const counted = async <T>(run: () => Promise<T>): Promise<T> => {
    statements++;
    try {
      return await run();
    } finally {
      if (performance.now() - turned > TURN_EVERY) {
        await turn();
        turned = performance.now();
      }
    }
  };
  const connect = (session: Session): Connection => ({
    query: async <T>(text: string, values: readonly unknown[]) => (await counted(() => session.query<T>(text, [...values], { parsers }))).rows,
    script: async (text) => void (await counted(() => session.exec(text))),
  });

  try {
    const pglite = await PGlite.create({ dataDir, extensions: { citext, pg_trgm, unaccent }, parsers: createPostgreSqlTypeParsers(parseArray as (text: string) => string[]) });
    await pglite.exec(`set timezone to 'UTC'`);
    // What the ORM is handed in place of PGlite: counts, yields, and tells of each transaction.
    const watched = {
      query: (text: string, values?: unknown[], options?: object) => counted(() => pglite.query(text, values, options)),
      transaction: (run: (session: unknown) => Promise<unknown>) => pglite.transaction((inner) => {
        onBegin(connect(inner));
        return run({ query: (text: string, values?: unknown[], options?: object) => counted(() => inner.query(text, values, options)) });
      }),
      ready: true, closed: false, waitReady: Promise.resolve(), close: () => Promise.resolve(),
    };
    const orm = new MikroORM({ ...ORM_OPTIONS, entities: [], extensions: [], driverOptions: { pglite: watched } });
    return {
      ...connect(pglite),
      embedded: true,
      orm: orm as unknown as Orm,
      get statements() {
        return statements;
      },
      listen: (channel, run) => pglite.listen(channel, run),
      claimAlone: () => Promise.resolve(true),
      forgetStatements: () => undefined,
      close: async () => {
        await orm.close(true);
        await pglite.close();
        await unlock();
      },
    };
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** Two processes on one folder lose each other's rows without an error, so the second is refused. */
async function lock(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'database.pid');
  const owner = (): string => {
    try {
      return readFileSync(file, 'utf8').trim();
    } catch {
      return 'unknown';
    }
  };
  const taken = (): ConfigurationError => new ConfigurationError(
    `the embedded database in ${folder} is in use by process ${owner()}; stop that process, or set DATABASE_URL to a PostgreSQL server to run several`,
  );
  if (process.platform !== 'linux') return lockByFile(file, taken);
  // An abstract socket is freed by the system however its process ends.
  const name = `\0parley-${createHash('sha256').update(realpathSync(folder)).digest('hex')}`;
  const server = await new Promise<Server>((resolve, reject) => {
    const attempt = createServer((socket) => socket.destroy());
    attempt.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'EADDRINUSE' ? taken() : error));
    attempt.listen(name, () => resolve(attempt.unref()));
  });
  writeFileSync(file, String(process.pid));
  return () => new Promise((resolve) => server.close(() => resolve()));
}

function lockByFile(file: string, taken: () => ConfigurationError): () => Promise<void> {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch {
    if (alive(Number(readFileSync(file, 'utf8')))) throw taken();
    writeFileSync(file, String(process.pid));
  }
  return async () => rmSync(file, { force: true });
}

function alive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
