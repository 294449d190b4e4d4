import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database, sql } from '../../core/data.ts';
import { onServer, openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

let test: TestDatabase;
let data: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
afterAll(() => test.drop());

describe('messages', () => {
  it('arrive at the commit and not without one', async () => {
    const got: string[] = [];
    const arrived = Promise.withResolvers<void>();
    const stop = await data.listen('news', (payload) => {
      got.push(payload);
      if (payload === 'last') arrived.resolve();
    });
    await data.transaction(async () => {
      await data.all(sql`select pg_notify('news', 'rolled back')`);
      throw new Error('no');
    }).catch(() => undefined);
    await data.transaction(() => data.all(sql`select pg_notify('news', 'last')`));
    await arrived.promise;
    expect(got).toEqual(['last']);
    await stop();
  });
});

describe('a second process', () => {
  const second = async (): Promise<{ code: number | null; output: string }> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'fixtures/second.ts'), test.folder, test.url ?? ''], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  };

  it.runIf(!onServer)('is refused the embedded database, told who has it and what to do', async () => {
    const { output } = await second();
    expect(output).toContain(`ConfigurationError: the embedded database in ${test.folder} is in use by process ${process.pid}; stop that process, or set DATABASE_URL`);
  });

  it.runIf(onServer)('learns that a server database is claimed by another', async () => {
    expect(await data.claimAlone()).toBe(true);
    expect((await second()).output).toContain('alone: false');
    expect(await data.claimAlone()).toBe(true);
  });
});

describe('a server', () => {
  it.runIf(onServer)('may end connections without ending the process; statements work again afterwards', async () => {
    const payloads: string[] = [];
    const back = Promise.withResolvers<void>();
    const stop = await data.listen('outage', (payload) => {
      payloads.push(payload);
      back.resolve();
    });
    const other = await Database.connect({ url: test.url, folder: test.folder, log: testLog });
    await other.all(sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`);
    await other.close();
    await back.promise;
    expect(payloads).toEqual(['']);
    expect(await data.one(sql`select 1 as one`)).toEqual({ one: 1 });
    await data.ready();
    await stop();
  });

  it.runIf(onServer)('may end them in the middle of transactions without costing the pool its places', async () => {
    const small = await Database.connect({ url: test.url, folder: test.folder, log: testLog, pool: 2 });
    for (let round = 0; round < 5; round++) {
      await expect(small.transaction(() => small.all(sql`select pg_terminate_backend(pg_backend_pid())`))).rejects.toThrow(/terminat/);
    }
    expect(await Promise.all([1, 2, 3].map(() => small.transaction(() => small.one(sql`select 1 as one`))))).toEqual([{ one: 1 }, { one: 1 }, { one: 1 }]);
    await small.close();
  });

  it('that cannot be reached is a problem of the configuration', async () => {
    const connecting = Database.connect({ url: 'postgres://nobody:secret@127.0.0.1:1/none', folder: test.folder, log: testLog });
    await expect(connecting).rejects.toThrow(/^cannot use the database that DATABASE_URL names: .*check the address, the name and the password$/);
    await expect(connecting).rejects.not.toThrow('secret');
  });
});
