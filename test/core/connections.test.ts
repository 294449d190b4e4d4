import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDatabase } from '../../core/cli/database/open.ts';
import { sql, type Database } from '../../core/data.ts';
import { onServer, openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

let test: TestDatabase;
let data: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
afterAll(() => test.drop());

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
    expect(await data.claimAlone()).toBe(true);
    const other = await openDatabase({ url: test.url, folder: test.folder, log: testLog });
    const claims = (): Promise<{ pid: number }[]> => other.all(sql`select pid from pg_locks join pg_database d on d.oid = database where locktype = 'advisory' and datname = current_database()`);
    const [before] = await claims();
    await other.all(sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`);
    // The claim goes with its connection, and is made again.
    await vi.waitFor(async () => expect(await claims()).toEqual([{ pid: expect.not.toBeOneOf([before?.pid]) }]), { timeout: 15_000, interval: 20 });
    expect(await other.claimAlone()).toBe(false);
    await other.close();
    expect(await data.one(sql`select 1 as one`)).toEqual({ one: 1 });
  });

  it.runIf(onServer)('may end them in the middle of transactions without costing the pool its places', async () => {
    const small = await openDatabase({ url: test.url, folder: test.folder, log: testLog, pool: 2 });
    for (let round = 0; round < 5; round++) {
      await expect(small.transaction(() => small.all(sql`select pg_terminate_backend(pg_backend_pid())`))).rejects.toThrow(/terminat/);
    }
    expect(await Promise.all([1, 2, 3].map(() => small.transaction(() => small.one(sql`select 1 as one`))))).toEqual([{ one: 1 }, { one: 1 }, { one: 1 }]);
    await small.close();
  });

  it('that cannot be reached is a problem of the configuration', async () => {
    const connecting = openDatabase({ url: 'postgres://nobody:secret@127.0.0.1:1/none', folder: test.folder, log: testLog });
    await expect(connecting).rejects.toThrow(/^cannot use the database that DATABASE_URL names: .*check the address, the name and the password$/);
    await expect(connecting).rejects.not.toThrow('secret');
  });
});
