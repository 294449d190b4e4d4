import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { within } from './findings.ts';

/** A server of this run's own, which may be stopped like nobody else's. */
export interface OwnServer extends AsyncDisposable {
  readonly url: string;
  /** At once and without notice, as a failing machine does. Its data stays. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const run = promisify(execFile);
const REDIS = ['/usr/bin/redis-server', '/usr/local/bin/redis-server'].find(existsSync);
const POSTGRES = '/usr/lib/postgresql';
/** Where Debian puts the programs of the newest PostgreSQL. */
const postgresPrograms = (): string | undefined => {
  const newest = existsSync(POSTGRES) ? readdirSync(POSTGRES).toSorted((a, b) => Number(b) - Number(a))[0] : undefined;
  return newest === undefined ? undefined : join(POSTGRES, newest, 'bin');
};

export const canStartRedis = REDIS !== undefined;
/** PostgreSQL does not run as root, so there must be somebody else it can run as. */
export const canStartPostgres = postgresPrograms() !== undefined && process.getuid?.() === 0;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Keeps its data in a file, as one for sessions should. */
export async function startRedis(): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-redis-'));
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}/0`;
  let child: ReturnType<typeof spawn> | undefined;
  const start = async (): Promise<void> => {
    const settings = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
    ];
    child = spawn(REDIS!, settings, { stdio: 'ignore' });
    if ((await within(20, () => answers(url))) === undefined)
      throw new Error(`redis-server does not answer on port ${port}`);
  };
  const stop = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
  await start();
  return {
    url,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } finally {
    redis.disconnect();
  }
}

/**
 * A cluster of its own, run by the user `postgres`. `stop` is its immediate shutdown, after which it recovers as from a
 * crash.
 */
export async function startPostgres(): Promise<OwnServer> {
  const programs = postgresPrograms()!;
  const folder = await mkdtemp(join(tmpdir(), 'parley-postgres-'));
  const { stdout } = await run('id', ['-u', 'postgres']);
  await chown(folder, Number(stdout), -1);
  const port = await freePort();
  const as = (program: string, ...words: readonly string[]): Promise<unknown> => {
    const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
    const child = spawn('setpriv', [...user, join(programs, program), ...words], { stdio: 'ignore', cwd: folder });
    return once(child, 'close').then(([code]) =>
      code === 0 ? undefined : Promise.reject(new Error(`${program} ended with ${String(code)}`)),
    );
  };
  const data = join(folder, 'data');
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''`;
  const start = async (): Promise<void> =>
    void (await as('pg_ctl', 'start', '-w', '-D', data, '-l', join(folder, 'log'), '-o', options));
  const stop = async (): Promise<void> =>
    void (await as('pg_ctl', 'stop', '-w', '-m', 'immediate', '-D', data).catch(() => undefined));
  await as('initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync');
  await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
