import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sql, type Database } from '../../core/data/database.ts';
import { JobQueue } from '../../core/jobs/queue.ts';
import type { PluginBackfill } from '../../core/jobs/backfill.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import { openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

const supervisor = new Supervisor(testLog);
const until = <T>(what: () => T | Promise<T>): Promise<T> => vi.waitFor(what, { timeout: 60_000, interval: 5 });
let test: TestDatabase;
let data: Database;
let jobs: JobQueue;
/** What another plugin has written: the length of this list is the length of its history, and the checkpoint. */
let written: number[];
let copied: number[];
let fails: boolean;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
  await data.all(sql`create table copy (n integer primary key)`);
});
beforeEach(async () => {
  await data.all(sql`with gone as (delete from backfill), copies as (delete from copy) delete from job`);
  [written, copied, fails] = [[], [], false];
  jobs = queue();
});
afterAll(async () => {
  supervisor.close();
  await test.drop();
});

const queue = (): JobQueue =>
  new JobQueue({
    data,
    supervisor,
    log: testLog,
    cluster: { publish: () => Promise.resolve(), subscribe: () => () => undefined },
  });
/** Simulates one start of a plugin that copies two numbers per batch. */
async function start(initial = false): Promise<PluginBackfill> {
  const backfill = jobs.backfill(
    'copier',
    {
      checkpoint: async () => String(written.length),
      run: async (since = '0', after = since) => {
        const batch = written.slice(Number(after), Number(after) + 2);
        for (const n of batch) await data.all(sql`insert into copy (n) values (${n}) on conflict (n) do nothing`);
        if (fails && batch.includes(5)) throw new Error('interrupted');
        copied.push(...batch);
        return batch.length === 2 ? String(Number(after) + 2) : undefined;
      },
    },
    initial,
  );
  await backfill.start();
  return backfill;
}
const done = async (): Promise<void> => {
  await until(async () => expect(await data.all(sql`select 1 from job`)).toEqual([]));
  await jobs.stop();
};

describe('a plugin that copies what another plugin writes', () => {
  it('is backfilled with nothing the first time, or with everything if it requests that', async () => {
    written = [1, 2, 3];
    const first = await start();
    await jobs.start();
    await done();
    expect(copied).toEqual([]);
    await first.stop();
    await jobs.forget('copier');
    jobs = queue();
    await start(true);
    await jobs.start();
    await done();
    expect(copied).toEqual([1, 2, 3]);
  });

  it('is backfilled with exactly what was written while it was off', async () => {
    written = [1, 2, 3];
    await (await start()).stop();
    written.push(4, 5, 6);
    const backfill = await start();
    await jobs.start();
    await done();
    expect(copied).toEqual([4, 5, 6]);
    await backfill.stop();
    jobs = queue();
    await start();
    await jobs.start();
    await done();
    expect(copied).toEqual([4, 5, 6]);
  });

  it('after a crash, is backfilled with everything written since its last start', async () => {
    written = [1, 2];
    await start();
    written.push(3);
    jobs = queue();
    await start();
    await jobs.start();
    await done();
    expect(copied).toEqual([3]);
  });

  it('resumes an interrupted backfill with the unfinished batch', async () => {
    await (await start()).stop();
    written = [1, 2, 3, 4, 5, 6, 7];
    fails = true;
    const backfill = await start();
    await jobs.start();
    await until(async () => expect(await data.all(sql`select 1 from job where error = 'interrupted'`)).toHaveLength(1));
    expect(copied).toEqual([1, 2, 3, 4]);
    expect(await data.all(sql`select n from copy order by n`)).toEqual([1, 2, 3, 4].map((n) => ({ n })));
    await backfill.stop();
    await jobs.stop();
    fails = false;
    written.push(8);
    jobs = queue();
    await start();
    await data.all(sql`update job set run_at = now()`);
    await jobs.start();
    await done();
    expect(await data.all(sql`select n from copy order by n`)).toEqual(written.map((n) => ({ n })));
    expect(copied.filter((n) => n < 5)).toEqual([1, 2, 3, 4]);
  });

  it('stores its new checkpoint and the backfill job in one transaction', async () => {
    written = [1];
    await (await start()).stop();
    written = [1, 2];
    const before = await data.all(sql`select checkpoint from backfill`);
    const broken = jobs.backfill(
      'copier',
      { checkpoint: () => Promise.reject(new Error('the other one is away')), run: async () => undefined },
      false,
    );
    await expect(broken.start()).rejects.toThrow('the other one is away');
    await broken.stop();
    expect(await data.all(sql`select checkpoint from backfill`)).toEqual(before);
    expect(await data.all(sql`select 1 from job`)).toEqual([]);
  });
});
