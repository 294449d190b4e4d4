import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sql, type Database } from '../../core/data/database.ts';
import type { Delivery } from '../../core/hooks.ts';
import { JobQueue } from '../../core/jobs/queue.ts';
import type { JobDelivery } from '../../core/plugins/definition.ts';
import { Type } from '../../core/schema.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import { openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

const PATIENT = { timeout: 15_000, interval: 5 };
const supervisor = new Supervisor(testLog);
const queue = (): JobQueue =>
  new JobQueue({
    data,
    supervisor,
    log: testLog,
    cluster: { publish: () => Promise.resolve(), subscribe: () => () => undefined },
  });
let test: TestDatabase;
let data: Database;
let jobs: JobQueue;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
beforeEach(() => void (jobs = queue()));
afterEach(() => jobs.stop());
afterAll(async () => {
  supervisor.close();
  await test.drop();
});

describe('a job', () => {
  it('is refused if its payload does not match its schema', async () => {
    const { job } = jobs.define<{ to: string }>('mail', 'send', {
      schema: Type.Object({ to: Type.String() }),
      run: () => undefined,
    });
    await expect(job.add({} as { to: string })).rejects.toThrow(
      '[mail] adds a job "send" whose payload does not match its schema: to is required',
    );
  });

  it('can be cancelled while it waits, even in the transaction that added it', async () => {
    const { job } = jobs.define('mail', 'send', { schema: Type.Object({}), run: () => undefined });
    const at = new Date('2100-01-01');
    const id = await job.add({}, { at });
    expect(await job.cancel(id)).toBe(true);
    expect(await job.cancel(id)).toBe(false);
    await data.transaction(async () => expect(await job.cancel(await job.add({}, { at }))).toBe(true));
    expect(await data.all(sql`select id from job`)).toEqual([]);
  });

  it('continues with the remaining work under the same id, starting from the first attempt each time', async () => {
    const ran: unknown[] = [];
    const run = (
      { left }: { left: number },
      { id, attempt, continueWith }: JobDelivery<{ left: number }>,
    ): Promise<void> =>
      data.transaction(async () => {
        ran.push([id, left, attempt]);
        if (left > 0) await continueWith({ left: left - 1 });
      });
    const { job } = jobs.define('walker', 'walk', { schema: Type.Object({ left: Type.Integer() }), run });
    await jobs.start();
    const id = await job.add({ left: 2 });
    await vi.waitFor(async () => expect(await data.all(sql`select id from job`)).toEqual([]), PATIENT);
    expect(ran).toEqual([
      [id, 2, 1],
      [id, 1, 1],
      [id, 0, 1],
    ]);
  });

  it('resumes from the last stored continuation after a failure, or from before it if that was rolled back', async () => {
    const done: number[] = [];
    let fails = true;
    const run = ({ left }: { left: number }, { continueWith }: JobDelivery<{ left: number }>): Promise<void> =>
      data.transaction(async () => {
        if (left === 0) return;
        await continueWith({ left: left - 1 });
        if (left === 2 && fails) {
          fails = false;
          throw new Error('the transaction is rolled back');
        }
        done.push(left);
      });
    const definition = { schema: Type.Object({ left: Type.Integer() }), run, retry: [0] };
    const { job } = jobs.define('walker', 'walk', definition);
    await jobs.start();
    await job.add({ left: 3 });
    await vi.waitFor(async () => expect(await data.all(sql`select id from job`)).toEqual([]), PATIENT);
    expect(done).toEqual([3, 2, 1]);
  });

  it('cannot continue with an invalid payload, or once another process has taken it', async () => {
    const refused: string[] = [];
    const note = (error: Error): void => void refused.push(error.message);
    const run = async (_: unknown, { continueWith }: JobDelivery<{ left: number }>): Promise<void> => {
      await continueWith({ left: 'all' } as never).catch(note);
      await data.all(sql`update job set attempt = attempt + 1`);
      await continueWith({ left: 1 }).catch(note);
    };
    const { job } = jobs.define('walker', 'walk', { schema: Type.Object({ left: Type.Integer() }), run });
    await jobs.start();
    await job.add({ left: 3 });
    await vi.waitFor(
      () =>
        expect(refused).toEqual([
          expect.stringContaining('payload does not match its schema'),
          'another process has taken this job',
        ]),
      PATIENT,
    );
    await jobs.stop();
    expect(await data.all(sql`delete from job returning payload`)).toEqual([{ payload: { left: 3 } }]);
  });

  it('added with `once` is not stored again while one with its key is waiting', async () => {
    const { job } = jobs.define<{ of: string }>('walker', 'once', {
      schema: Type.Object({ of: Type.String() }),
      key: ({ of }) => of,
      run: () => undefined,
    });
    const at = new Date('2100-01-01');
    const first = await job.add({ of: 'a' }, { at, once: true });
    expect(await job.add({ of: 'a' }, { once: true })).toBe(first);
    expect(await job.add({ of: 'b' }, { at, once: true })).not.toBe(first);
    await data.transaction(async () => {
      const third = await job.add({ of: 'c' }, { at, once: true });
      expect(await job.add({ of: 'c' }, { once: true })).toBe(third);
    });
    expect(await data.all(sql`delete from job returning id`)).toHaveLength(3);
  });

  it('added twice under one id in a transaction is due at the earlier time', async () => {
    const { job } = jobs.define('walker', 'twice', { schema: Type.Object({}), run: () => undefined });
    const id = '0197a000-0000-7000-8000-000000000001';
    await data.transaction(async () => {
      for (const year of ['2102', '2101', '2103']) await job.add({}, { id, at: new Date(`${year}-01-01T00:00:00Z`) });
    });
    expect(
      await data.all(sql`delete from job returning extract(year from run_at at time zone 'utc')::int as year`),
    ).toEqual([{ year: 2101 }]);
  });

  it('aborted because the process stops is put back, without counting as a failure of its plugin', async () => {
    const begun = Promise.withResolvers<void>();
    const run = async (_: unknown, { signal }: Delivery): Promise<void> => {
      begun.resolve();
      await once(signal, 'abort').then(() => Promise.reject(signal.reason as Error));
    };
    const { job } = jobs.define('obedient', 'long', { schema: Type.Object({}), run });
    await jobs.start();
    await job.add({});
    await begun.promise;
    await jobs.stop();
    expect(await data.all(sql`delete from job returning attempt, error`)).toEqual([{ attempt: 0, error: null }]);
    expect(supervisor.report().filter(({ plugin }) => plugin === 'obedient')).toMatchObject([
      { failures: 0, lastError: undefined },
    ]);
  });

  it('with a cron expression runs when due, and once for all missed runs', async () => {
    const ran: unknown[] = [];
    jobs.define('a', 'hourly', {
      schema: Type.Object({}),
      run: (payload) => void ran.push(payload),
      cron: '0 * * * *',
    });
    await jobs.start();
    await vi.waitFor(
      async () =>
        expect(await data.all(sql`select listener, run_at > now() as ahead from job`)).toEqual([
          { listener: 'a/job:hourly', ahead: true },
        ]),
      PATIENT,
    );
    await jobs.stop();
    await data.all(sql`update job set run_at = now() - interval '5 hours'`);
    jobs = queue();
    jobs.define('a', 'hourly', {
      schema: Type.Object({}),
      run: (payload) => void ran.push(payload),
      cron: '0 * * * *',
    });
    await jobs.start();
    await vi.waitFor(() => expect(ran).toEqual([{}]), PATIENT);
    await vi.waitFor(
      async () =>
        expect(await data.all(sql`select run_at > now() as ahead, attempt, owner from job`)).toEqual([
          { ahead: true, attempt: 0, owner: null },
        ]),
      PATIENT,
    );
    expect(ran).toEqual([{}]);
  });

  it('with a cron expression is scheduled once, even if its plugin started twice before the queue did', async () => {
    const ran: unknown[] = [];
    const hourly = { schema: Type.Object({}), run: (payload: object) => void ran.push(payload), cron: '0 * * * *' };
    await jobs.define('a', 'hourly', hourly).stop();
    const { job } = jobs.define('a', 'hourly', hourly);
    await job.add({});
    await jobs.start();
    await vi.waitFor(() => expect(ran).toEqual([{}]), PATIENT);
  });

  it('with a cron expression waits for its next run after a final failure, and does not count as waiting', async () => {
    const ids: string[] = [];
    const run = (_payload: unknown, { id }: Delivery): void => {
      ids.push(id);
      if (ids.length === 1) throw new Error('no ink');
    };
    jobs.define('b', 'hourly', { schema: Type.Object({}), run, cron: '0 * * * *', retry: [] });
    const due = (): Promise<unknown> => data.all(sql`update job set run_at = now() where listener = 'b/job:hourly'`);
    const kept = () =>
      data.all(
        sql`select run_at > now() as ahead, attempt, owner, failed_at, error from job where listener = 'b/job:hourly'`,
      );
    await jobs.start();
    await vi.waitFor(async () => expect(await kept()).toHaveLength(1), PATIENT);
    expect(await jobs.report()).not.toContainEqual(expect.objectContaining({ listener: 'b/job:hourly' }));
    for (const error of ['no ink', null]) {
      await due();
      jobs.define('b', `wake ${String(error)}`, { schema: Type.Object({}), run: () => undefined });
      await vi.waitFor(
        async () => expect(await kept()).toEqual([{ ahead: true, attempt: 0, owner: null, failed_at: null, error }]),
        PATIENT,
      );
    }
    expect(new Set(ids).size).toBe(2);
  });

  it('with an invalid cron expression is refused', () => {
    expect(() =>
      jobs.define('a', 'odd', { schema: Type.Object({}), run: () => undefined, cron: 'now and then' }),
    ).toThrow(/^\[a\] has a job whose cron expression "now and then" cannot be parsed/);
  });
});
