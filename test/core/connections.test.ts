import { failureOf } from 'parley-forum';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../core/host/databases/open.ts';
import { listen } from '../../core/host/server.ts';
import { PLANNED_EACH_TIME, sql, type Database } from '../../core/data/database.ts';
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import { RouteRegistry } from '../../core/http/routes.ts';
import { makeTestPlace, onServer, openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';
import { openProxy, type RedisProxy } from '../plugins/cache/redis-proxy.ts';

let test: TestDatabase;
let data: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
afterAll(() => test.drop());

describe('a second process', () => {
  const second = async (): Promise<{ code: number | null; output: string }> => {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'fixtures/second.ts'), test.folder, test.url ?? ''],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  };

  it.runIf(!onServer)('is refused the embedded database, with the process that uses it and a remedy', async () => {
    const { output } = await second();
    expect(output).toContain(
      `ConfigurationError: the embedded database in ${test.folder} is in use by process ${process.pid}; if that is a server that is starting, try again in a moment; otherwise stop it, or set DATABASE_URL`,
    );
  });

  it.runIf(onServer)('detects that another process has claimed a server database', async () => {
    expect(await data.claimAlone()).toBe(true);
    expect((await second()).output).toContain('alone: false');
    expect(await data.claimAlone()).toBe(true);
  });
});

describe('a server', () => {
  it.runIf(onServer)(
    'can terminate connections without ending the process, and statements work again afterwards',
    async () => {
      expect(await data.claimAlone()).toBe(true);
      const other = await openDatabase({ url: test.url, folder: test.folder, log: testLog });
      const claims = (): Promise<{ pid: number }[]> =>
        other.all(
          sql`select pid from pg_locks join pg_database d on d.oid = database where locktype = 'advisory' and datname = current_database()`,
        );
      const [before] = await claims();
      await other.all(
        sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
      );
      // The claim goes with its connection, and is made again.
      await vi.waitFor(async () => expect(await claims()).toEqual([{ pid: expect.not.toBeOneOf([before?.pid]) }]), {
        timeout: 15_000,
        interval: 20,
      });
      expect(await other.claimAlone()).toBe(false);
      await other.close();
      expect(await data.one(sql`select 1 as one`)).toEqual({ one: 1 });
    },
  );

  it.runIf(onServer)(
    'receives concurrent reads pipelined, eight per connection, and fails each individually',
    async () => {
      const pid = sql<{ pid: number }>`select pg_backend_pid() as pid`;
      const rows = await Promise.all(Array.from({ length: 16 }, () => data.one(pid)));
      const pids = rows.map((row) => row!.pid);
      expect([new Set(pids.slice(0, 8)).size, new Set(pids.slice(8)).size, new Set(pids).size]).toEqual([1, 1, 2]);
      const locking = sql<{
        pid: number;
      }>`select pg_backend_pid() as pid from pg_class where relname = 'pg_class' for share`;
      const [reads, locks] = await Promise.all([data.one(pid), data.one(locking)]);
      expect(locks!.pid).not.toBe(reads!.pid);
      const fails = sql`select 1 / ${0}::int as one`;
      const [before, refused, after] = await Promise.allSettled([data.one(pid), data.one(fails), data.one(pid)]);
      expect(refused).toMatchObject({ reason: { message: expect.stringContaining('division by zero') as string } });
      expect([before, after]).toEqual([expect.objectContaining({ status: 'fulfilled' }), before]);
    },
  );

  it.runIf(onServer)('can terminate connections within transactions without the pool losing capacity', async () => {
    const small = await openDatabase({ url: test.url, folder: test.folder, log: testLog, pool: 2 });
    for (let round = 0; round < 5; round++) {
      await expect(
        small.transaction(() => small.all(sql`select pg_terminate_backend(pg_backend_pid())`)),
      ).rejects.toThrow(/terminat/);
    }
    expect(await Promise.all([1, 2, 3].map(() => small.transaction(() => small.one(sql`select 1 as one`))))).toEqual([
      { one: 1 },
      { one: 1 },
      { one: 1 },
    ]);
    await small.close();
  });

  it.runIf(onServer)('makes callers wait five seconds for a free connection, then they fail with 503', async () => {
    const small = await openDatabase({ url: test.url, folder: test.folder, log: testLog, pool: 2 });
    const one = sql<{ one: number }>`select 1 as one`;
    const { promise: enough, resolve: release } = Promise.withResolvers<void>();
    const holders = [1, 2].map(() => small.transaction(() => small.one(one).then(() => enough)));
    await vi.waitFor(async () =>
      expect(
        await data.all(
          sql`select pid from pg_stat_activity where state = 'idle in transaction' and datname = current_database()`,
        ),
      ).toHaveLength(2),
    );
    const begun = performance.now();
    const refused = await Promise.allSettled([small.one(one), small.transaction(() => small.one(one))]);
    expect(performance.now() - begun).toBeGreaterThan(4_900);
    expect(performance.now() - begun).toBeLessThan(9_000);
    expect(refused.map((result) => result.status === 'rejected' && failureOf(result.reason).status)).toEqual([
      503, 503,
    ]);
    release();
    await Promise.all(holders);
    expect(await small.transaction(() => small.one(one))).toEqual({ one: 1 });
    await small.close();
  });

  it('is reported as a configuration error if it cannot be reached', async () => {
    const connecting = openDatabase({
      url: 'postgres://nobody:secret@127.0.0.1:1/none',
      folder: test.folder,
      log: testLog,
    });
    await expect(connecting).rejects.toThrow(
      /^cannot use the database in DATABASE_URL: .*check the address, the name and the password$/,
    );
    await expect(connecting).rejects.not.toThrow('secret');
  });
});

describe.runIf(onServer)('a server that stops responding without closing connections', { concurrent: true }, () => {
  /** A connection through a proxy, with a pool of two. */
  const reach = async (url = test.url!): Promise<{ line: RedisProxy; far: Database } & AsyncDisposable> => {
    const line = await openProxy(url);
    const far = await openDatabase({ url: line.url, folder: test.folder, log: testLog, pool: 2 });
    return { line, far, [Symbol.asyncDispose]: () => far.close().then(() => line.close()) };
  };
  const one = sql<{ one: number }>`select 1 as one`;

  it('is waited for only as long as a check takes, and pending work fails with 503', async ({ expect }) => {
    await using way = await reach();
    const { line, far } = way;
    await Promise.all([far.one(one), far.transaction(() => far.one(one))]);
    line.freeze();
    const begun = performance.now();
    const under = await Promise.allSettled([far.one(one), far.transaction(() => far.one(one))]);
    expect(performance.now() - begun).toBeLessThan(12_000);
    expect(under.map((result) => result.status === 'rejected' && failureOf(result.reason).status)).toEqual([503, 503]);
    // On a busy machine even what does nothing may take longer once.
    await vi.waitFor(
      async () => {
        const later = performance.now();
        await expect(far.one(one)).rejects.toSatisfy((error) => failureOf(error).status === 503);
        await expect(far.transaction(() => far.one(one))).rejects.toSatisfy((error) => failureOf(error).status === 503);
        expect(performance.now() - later).toBeLessThan(100);
      },
      { timeout: 5_000 },
    );
    line.mend();
    const all = (): Promise<unknown> => Promise.all([1, 2, 3].map(() => far.transaction(() => far.one(one))));
    await vi.waitFor(async () => expect(await all()).toEqual([{ one: 1 }, { one: 1 }, { one: 1 }]), { timeout: 7_000 });
  });

  it('is waited for once if there is no connection yet, and not again until it responds', async ({ expect }) => {
    await using way = await reach();
    const { line, far } = way;
    line.cut();
    await expect(far.one(one)).rejects.toThrow();
    line.mend();
    line.freeze();
    await expect(far.one(one)).rejects.toThrow();
    await vi.waitFor(
      async () => {
        const begun = performance.now();
        expect(await far.one(one).catch(messageOf)).toBe('the database server stopped responding');
        expect(performance.now() - begun).toBeLessThan(100);
      },
      { timeout: 12_000 },
    );
    line.mend();
    await vi.waitFor(async () => expect(await far.one(one)).toEqual({ one: 1 }), { timeout: 7_000 });
  });

  it('leaves no locks behind from interrupted work', async ({ expect }) => {
    await using way = await reach();
    const { line, far } = way;
    const lock = sql`select pg_advisory_xact_lock(42)`;
    const held = sql<{
      held: boolean;
    }>`select exists(select from pg_locks where locktype = 'advisory' and objid = 42) as held`;
    await expect(
      far.transaction(async () => {
        await far.all(lock);
        line.freeze();
        await far.all(one);
      }),
    ).rejects.toThrow('stopped responding');
    expect(await data.one(held)).toEqual({ held: true });
    line.mend();
    await vi.waitFor(async () => expect(await data.one(held)).toEqual({ held: false }), { timeout: 7_000 });
  });

  it('does not prevent the process from closing its connections', async ({ expect }) => {
    const place = await makeTestPlace();
    const { line, far } = await reach(place.url);
    expect(await far.claimAlone()).toBe(true);
    line.freeze();
    const begun = performance.now();
    await far.close();
    expect(performance.now() - begun).toBeLessThan(6_000);
    line.close();
    await place.remove();
  });

  it('is not considered unresponsive while it executes a statement', async ({ expect }) => {
    await using way = await reach();
    expect(await way.far.one(sql`select 1 as one from pg_sleep(12)`)).toEqual({ one: 1 });
  });

  it('is detected even on a single connection, while others get responses', async ({ expect }) => {
    await using way = await reach();
    const { line, far } = way;
    await far.one(one);
    line.hush('everybody');
    const unanswered = far.one(one);
    // What is asked for in the same turn goes the same way.
    await nextTurn();
    expect(await far.one(one)).toEqual({ one: 1 });
    await expect(unanswered).rejects.toThrow('stopped responding');
    expect(await Promise.all([far.one(one), far.one(one)])).toEqual([{ one: 1 }, { one: 1 }]);
  });
});

it('a port in use is reported in one line that says what to do', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  try {
    const place = {
      host: '127.0.0.1',
      port: (taken.address() as AddressInfo).port,
      requestSeconds: 0,
      maxConnections: 0,
    };
    const refused: unknown = await listen(() => {}, new RouteRegistry(), place).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigurationError);
    expect(messageOf(refused)).toMatch(/stop the program that uses it, or set PORT to another one$/);
  } finally {
    taken.close();
  }
});

it('a connection whose response is not read is closed after a while, but a slow reader’s is not', async () => {
  const place = { host: '127.0.0.1', port: 0, requestSeconds: 30, maxConnections: 0 };
  // More than the buffers of both ends hold.
  const answer = Buffer.alloc(64 * 1024 * 1024);
  const server = await listen((_req, res) => void res.end(answer), new RouteRegistry(), place, { unread: 3_000 });
  const reader = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: forum.test\r\n\r\n');
    return socket.pause();
  };
  try {
    const [idle, slow] = [await reader(), await reader()];
    let received = 0;
    slow.on('data', (data: Buffer) => {
      received += data.length;
      slow.pause();
      setTimeout(() => slow.resume(), 1);
    });
    slow.resume();
    const held = (): Promise<number> => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    await vi.waitFor(async () => expect(await held()).toBe(1), { timeout: 20_000 });
    await vi.waitFor(() => expect(received).toBeGreaterThan(answer.length), { timeout: 20_000 });
    idle.destroy();
    slow.destroy();
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it('an external server that a plugin cannot reach is a failure of the plugin, not of the database', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const error = await fetch(`http://127.0.0.1:${port}/`).catch((failure: unknown) => failure);
  expect((error as Error).cause).toMatchObject({ code: 'ECONNREFUSED' });
  expect(failureOf(error).status).toBe(500);
});

it.runIf(onServer)(
  'a statement on a table that may grow within seconds is planned every time, others once',
  async () => {
    const kept = (mark: string): Promise<number> =>
      data.transaction(async () => {
        for (let time = 0; time < 3; time++) await data.all(sql`${sql.raw(mark)} select ${1}::integer as one`);
        const statements = sql`select 1 from pg_prepared_statements where statement like ${`${mark} select % as one`}`;
        return (await data.all(statements)).length;
      });
    expect([await kept('/* once */'), await kept(PLANNED_EACH_TIME)]).toEqual([1, 0]);
  },
);

it.runIf(onServer)('one-off statements are not prepared', async () => {
  for (let number = 0; number < 600; number++)
    await data.all(sql`select ${1}::integer as ${sql.ref(`once_${number}`)}`);
  const prepared = data.transaction(async () => {
    for (let time = 0; time < 3; time++) await data.all(sql`select ${1}::integer as again`);
    return data.all(sql`select 1 from pg_prepared_statements where statement like 'select % as again'`);
  });
  expect(await prepared).toHaveLength(1);
});
