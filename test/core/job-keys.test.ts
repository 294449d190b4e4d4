import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { FULL } from '../kit/full.ts';
import { sql, type Database } from '../../core/data/database.ts';
import { JobQueue } from '../../core/jobs/queue.ts';
import type { Job, JobDefinition, JobDelivery } from '../../core/plugins/definition.ts';
import { Type } from '../../core/schema.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import { onServer, openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

interface Call {
  readonly to: string;
  readonly n: number;
}
type Run = JobDefinition<Call>['run'];

const supervisor = new Supervisor(testLog);
const CALL = Type.Object({ to: Type.String(), n: Type.Integer() });
const queues: JobQueue[] = [];
const queue = (): JobQueue => {
  const jobs = new JobQueue({
    data,
    supervisor,
    log: testLog,
    cluster: { publish: () => Promise.resolve(), subscribe: () => () => undefined },
  });
  queues.push(jobs);
  return jobs;
};
let test: TestDatabase;
let data: Database;
let jobs: JobQueue;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
beforeEach(async () => {
  await data.all(sql`with paused as (delete from job_pause) delete from job`);
  jobs = queue();
});
afterEach(async () => {
  for (const one of queues.splice(0)) await one.stop();
});
afterAll(async () => {
  supervisor.close();
  await test.drop();
});

const until = <T>(what: () => T | Promise<T>): Promise<T> => vi.waitFor(what, { timeout: 60_000, interval: 5 });
const calls = (run: Run, more: Partial<JobDefinition<Call>> = {}, on = jobs): Job<Call> =>
  on.define<Call>('caller', 'call', { schema: CALL, key: ({ to }) => to, perKey: 2, limit: 100, run, ...more }).job;
/** Adds `count` calls per receiver, in one transaction. */
const add = (job: Job<Call>, count: number, ...receivers: readonly string[]): Promise<unknown> =>
  data.transaction(async () => {
    for (let n = 0; n < count; n++) for (const to of receivers) await job.add({ to, n });
  });
const left = async (): Promise<number> =>
  (await data.one(sql<{ n: number }>`select count(*)::integer as n from job`))!.n;
const stored = () =>
  data.all(sql<{ due: boolean }>`select id, run_at <= now() as due, attempt, failed_at is not null as failed from job`);

describe('a job with a key', () => {
  it('starts in due order, within the limit per key, independently of other keys', async () => {
    const begun: Call[] = [];
    const open = new Map<string, number>();
    let most = 0;
    const job = calls(async (call) => {
      begun.push(call);
      open.set(call.to, (open.get(call.to) ?? 0) + 1);
      most = Math.max(most, ...open.values());
      await delay(Math.random() * 10);
      open.set(call.to, open.get(call.to)! - 1);
    });
    await add(job, 20, 'a', 'b', 'c');
    await jobs.start();
    await until(async () => expect(await left()).toBe(0));
    expect(most).toBe(2);
    for (const to of ['a', 'b', 'c'])
      expect(begun.filter((call) => call.to === to).map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it.runIf(onServer)(
    'does not run concurrently with the schedule under its key in another process, nor replace it',
    async () => {
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const define = (on: JobQueue): Job<Record<string, never>> =>
        on.define<Record<string, never>>('caller', 'tend', {
          schema: Type.Object({}),
          cron: '0 3 1 1 *',
          key: () => 'all',
          perKey: 1,
          run: () => (begun++, gate.promise),
        }).job;
      const job = define(jobs);
      await jobs.start();
      await until(async () => expect(await left()).toBe(1));
      // The schedule waits for its next run, so this does not exceed the limit yet.
      await job.add({}, { once: true });
      await until(() => expect(begun).toBe(1));
      await data.all(sql`update job set run_at = now() where cron is not null`);
      const other = queue();
      define(other);
      await other.start();
      await delay(200);
      expect(begun).toBe(1);
      gate.resolve();
      await until(() => expect(begun).toBe(2));
      await until(async () => expect(await data.all(sql`select id from job where run_at <= now()`)).toEqual([]));
      await job.cancelKey('all');
      expect(await left()).toBe(1);
    },
  );

  it('does not wait for a key with a long backlog, however many keys there are', async () => {
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    const job = calls(async ({ to }) => {
      if (to === 'slow') await gate.promise;
      done.push(to);
    });
    await add(job, 3_000, 'slow');
    await jobs.start();
    await add(job, 2, ...Array.from({ length: 500 }, (_, n) => `quick ${n}`));
    await until(() => expect(done).toHaveLength(1_000));
    expect(new Set(done).has('slow')).toBe(false);
    await job.cancelKey('slow');
    gate.resolve();
    await until(async () => expect(await left()).toBe(0));
    expect(done.slice(1_000)).toEqual(['slow', 'slow']);
  });

  it('is fetched as quickly however many keys there are', async () => {
    let done = 0;
    const job = calls(() => void done++, { perKey: 1, limit: 4 });
    await jobs.start();
    await add(job, 1, ...Array.from({ length: 100 }, (_, n) => `before ${n}`));
    await until(() => expect(done).toBe(100));
    await data.all(sql`insert into job (id, listener, key, payload)
      select gen_random_uuid(), 'caller/job:call', 'key ' || n, '{"to":"a","n":1}' from generate_series(1, 20000) n`);
    await add(job, 1, 'after');
    await until(() => expect(done).toBeGreaterThan(3_000));
  });

  it.runIf(FULL)(
    'is fetched as quickly from keys with several waiting jobs as from as many keys with one each',
    async () => {
      let done = 0;
      calls(() => void done++, { perKey: 1, limit: 4 });
      await jobs.start();
      const took = async (works: number, keys: number): Promise<number> => {
        const before = done;
        await data.all(sql`insert into job (id, listener, key, payload)
        select gen_random_uuid(), 'caller/job:call', 'key ' || n % ${keys}::integer, '{"to":"a","n":1}'
        from generate_series(1, ${works}::integer) n`);
        await until(() => expect(done).toBeGreaterThan(before));
        const begun = performance.now();
        await vi.waitFor(() => expect(done).toBe(before + works), { timeout: 25_000, interval: 5 });
        return performance.now() - begun;
      };
      await took(1_000, 1_000);
      const single = await took(6_000, 6_000);
      expect(await took(6_000, 1_000)).toBeLessThan(single * 4);
    },
  );

  it('leaves other keys their share when some that were quick have become slow', async () => {
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    const job = calls(
      async ({ to }) => {
        if (to.startsWith('slow')) await gate.promise;
        done.push(to);
      },
      { perKey: 1, limit: 4 },
    );
    await add(job, 100, 'quick');
    await jobs.start();
    await until(() => expect(done).toHaveLength(100));
    await add(job, 100, 'slow 1', 'slow 2', 'slow 3');
    await delay(200);
    await add(job, 20, 'one', 'other');
    await until(() => expect(done).toHaveLength(140));
    for (const to of ['slow 1', 'slow 2', 'slow 3']) await job.cancelKey(to);
    gate.resolve();
    await until(async () => expect(await left()).toBe(0));
    // Running jobs complete; prefetched ones are cancelled with the rest.
    expect(done.slice(140).toSorted()).toEqual(['slow 1', 'slow 2', 'slow 3']);
  });

  it('costs other jobs no statement while its key is full or paused', async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const job = calls(() => {
      begun++;
      return gate.promise;
    });
    let done = 0;
    const { job: other } = jobs.define('other', 'work', { schema: Type.Object({}), run: () => void done++ });
    await jobs.start();
    const cost = async (): Promise<number> => {
      const counts: number[] = [];
      for (let n = 0; n < 5; n++) {
        const [before, ran] = [data.statements, done];
        await other.add({});
        await until(() => expect(done).toBe(ran + 1));
        await delay(100);
        counts.push(data.statements - before);
      }
      return Math.min(...counts);
    };
    const before = await cost();
    await job.pause('down', 1_000);
    await add(job, 50, 'full', 'down');
    await until(() => expect(begun).toBe(2));
    await delay(100);
    expect(await cost()).toBe(before);
    gate.resolve();
    await until(async () => expect(await left()).toBe(50));
  });

  it('runs even if it was stored before its definition had a key', async () => {
    const done: number[] = [];
    calls(({ n }) => void done.push(n));
    await data.all(
      sql`insert into job (id, listener, payload) values (gen_random_uuid(), 'caller/job:call', '{"to":"a","n":7}')`,
    );
    await jobs.start();
    await until(() => expect(done).toEqual([7]));
  });

  it('is cancelled with everything waiting under its key, even in the transaction that added it', async () => {
    const job = calls(() => undefined);
    await add(job, 3, 'a', 'b');
    await job.pause('a', 1_000);
    await data.transaction(async () => {
      await job.add({ to: 'a', n: 9 });
      await job.add({ to: 'b', n: 9 });
      await job.cancelKey('a');
    });
    expect(await data.all(sql`select key, count(*)::integer as n from job group by key`)).toEqual([{ key: 'b', n: 4 }]);
    expect(await data.all(sql`select key from job_pause`)).toEqual([]);
  });
});

describe('a paused key', () => {
  it('starts nothing until the pause ends, then one job at a time until it is resumed', async () => {
    const begun: string[] = [];
    const gates: (() => void)[] = [];
    const job = calls(({ to }) => {
      begun.push(to);
      return to === 'down' ? new Promise<void>((resolve) => void gates.push(resolve)) : undefined;
    });
    await job.pause('down', 2);
    const paused = performance.now();
    await jobs.start();
    await add(job, 6, 'down', 'up');
    await until(() => expect(begun.filter((to) => to === 'up')).toHaveLength(6));
    expect(begun.includes('down') && performance.now() - paused < 1_950).toBe(false);
    await until(() => expect(gates).toHaveLength(1));
    expect(performance.now() - paused).toBeGreaterThan(1_950);
    await delay(100);
    gates[0]!();
    await until(() => expect(gates).toHaveLength(2));
    await delay(100);
    expect(gates).toHaveLength(2);
    await job.resume('down');
    await until(() => expect(gates).toHaveLength(3));
    for (let n = 1; n < 6; n++) {
      await until(() => expect(gates.length).toBeGreaterThan(n));
      gates[n]!();
    }
    await until(async () => expect(await left()).toBe(0));
  });

  it('puts prefetched jobs back in their place', async () => {
    const gate = Promise.withResolvers<void>();
    const begun: number[] = [];
    const job = calls(
      ({ n }) => {
        begun.push(n);
        return gate.promise;
      },
      { external: true },
    );
    await add(job, 6, 'down');
    await jobs.start();
    const taken = () =>
      data.all(sql`select (payload ->> 'n')::integer as n from job where owner is not null order by 1`);
    await until(() => expect(begun).toEqual([0, 1]));
    expect(await taken()).toEqual([0, 1, 2, 3].map((n) => ({ n })));
    await data.transaction(() => job.pause('down', 1_000));
    await until(async () => expect(await taken()).toEqual([0, 1].map((n) => ({ n }))));
    expect(begun).toEqual([0, 1]);
    gate.resolve();
    await until(async () => expect(await left()).toBe(4));
    await job.resume('down');
    await until(async () => expect(await left()).toBe(0));
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('starts none of the jobs that were being fetched when the pause began', async () => {
    const begun: number[] = [];
    const job = calls(
      ({ n }) => {
        begun.push(n);
        return delay(200);
      },
      { external: true },
    );
    await add(job, 6, 'down');
    void jobs.start();
    await until(async () =>
      expect((await data.all(sql`select id from job where owner is not null`)).length).toBeGreaterThan(0),
    );
    await data.transaction(() => job.pause('down', 1_000));
    const before = begun.length;
    await until(async () => expect(await data.all(sql`select id from job where owner is not null`)).toEqual([]));
    await delay(100);
    expect(begun.length).toBe(before);
    await job.resume('down');
    await until(async () => expect(await left()).toBe(0));
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('is paused on commit of the transaction that requested it, and not on rollback', async () => {
    const done: string[] = [];
    const job = calls(({ to }) => void done.push(to));
    await jobs.start();
    const undone = data.transaction(async () => {
      await job.pause('a', 1_000);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    await add(job, 1, 'a');
    await until(() => expect(done).toEqual(['a']));
    await data.transaction(async () => {
      await job.pause('a', 1_000);
      await job.add({ to: 'a', n: 1 });
    });
    await delay(150);
    expect(done).toEqual(['a']);
    await data.transaction(() => job.resume('a'));
    await until(() => expect(done).toEqual(['a', 'a']));
  });

  it.runIf(onServer)('is paused in every process', async () => {
    const done: string[] = [];
    const run: Run = ({ to }) => void done.push(to);
    calls(run);
    const job = calls(run, {}, queue());
    for (const one of queues) await one.start();
    await job.pause('a', 1_000);
    await add(job, 5, 'a', 'b');
    await until(() => expect(done).toHaveLength(5));
    expect(new Set(done)).toEqual(new Set(['b']));
  });

  it('requires a limit per key, and is removed with its plugin', async () => {
    const { job } = jobs.define<Call>('caller', 'plain', { schema: CALL, key: ({ to }) => to, run: () => undefined });
    await expect(job.pause('a', 1)).rejects.toThrow(
      '[caller] pauses a key of the job "plain", which has no limit per key; give it `perKey`',
    );
    await calls(() => undefined).pause('a', 1);
    await jobs.forget('caller');
    expect(await data.all(sql`select key from job_pause`)).toEqual([]);
  });
});

describe('jobs that wait for other servers', () => {
  it('take no capacity from other jobs, nor the reverse', async () => {
    const gate = Promise.withResolvers<void>();
    const done: string[] = [];
    let waiting = 0;
    const job = calls(
      () => {
        waiting++;
        return gate.promise;
      },
      { external: true },
    );
    await add(job, 1, ...Array.from({ length: 120 }, (_, n) => `hanging ${n}`));
    await jobs.start();
    await until(() => expect(waiting).toBe(100));
    const blocked = Promise.withResolvers<void>();
    for (let n = 0; n < 6; n++) {
      const { job: other } = jobs.define('other', `work ${n}`, {
        schema: Type.Object({}),
        run: () => {
          done.push('other');
          return blocked.promise;
        },
      });
      await data.transaction(async () => {
        for (let i = 0; i < 4; i++) await other.add({});
      });
    }
    await until(() => expect(done).toHaveLength(16));
    expect(waiting).toBe(100);
    gate.resolve();
    await until(() => expect(waiting).toBe(120));
    expect(done).toHaveLength(16);
    blocked.resolve();
    await until(async () => expect(await left()).toBe(0));
  });
});

describe('a job added again under its id', () => {
  const at = new Date('2100-01-01');
  it('is due at the earlier time, and is stored again if it was gone', async () => {
    const job = calls(() => undefined);
    const id = await job.add({ to: 'a', n: 1 }, { at });
    expect(await job.add({ to: 'a', n: 1 }, { at: new Date('2101-01-01'), id })).toBe(id);
    expect(await stored()).toEqual([{ id, due: false, attempt: 0, failed: false }]);
    await data.transaction(async () => {
      for (let n = 0; n < 2; n++) await job.add({ to: 'a', n: 1 }, { id });
    });
    expect(await stored()).toEqual([{ id, due: true, attempt: 0, failed: false }]);
    expect(await job.cancel(id)).toBe(true);
    await job.add({ to: 'a', n: 1 }, { at, id });
    expect(await stored()).toEqual([{ id, due: false, attempt: 0, failed: false }]);
  });

  it('starts over if it has failed for good, and is left alone while it runs', async () => {
    const gate = Promise.withResolvers<void>();
    const attempts: number[] = [];
    const run: Run = async (_call, { attempt }: JobDelivery<Call>) => {
      attempts.push(attempt);
      if (attempts.length === 1) throw new Error('not yet');
      await gate.promise;
    };
    const job = calls(run, { retry: [] });
    await jobs.start();
    const id = await job.add({ to: 'a', n: 1 });
    await until(async () => expect(await stored()).toEqual([{ id, due: true, attempt: 1, failed: true }]));
    await job.add({ to: 'a', n: 1 }, { id });
    await until(() => expect(attempts).toEqual([1, 1]));
    await job.add({ to: 'a', n: 1 }, { id });
    expect(await stored()).toEqual([{ id, due: true, attempt: 1, failed: false }]);
    gate.resolve();
    await until(async () => expect(await stored()).toEqual([]));
    expect(attempts).toEqual([1, 1]);
  });
});

describe('a job that continues later', () => {
  it('runs again after the requested delay, from its first attempt, and no sooner if its process dies', async () => {
    const ran: { readonly n: number; readonly attempt: number; readonly at: number }[] = [];
    const hold = Promise.withResolvers<void>();
    const run: Run = async ({ to, n }, { attempt, continueWith }) => {
      ran.push({ n, attempt, at: performance.now() });
      if (n > 0) await continueWith({ to, n: n - 1 }, { after: to === 'dies' ? 4 : 0.4 });
      if (to === 'dies') await hold.promise;
    };
    const job = calls(run);
    await jobs.start();
    await job.add({ to: 'a', n: 1 });
    await until(() => expect(ran).toHaveLength(2));
    expect(ran.map(({ n, attempt }) => [n, attempt])).toEqual([
      [1, 1],
      [0, 1],
    ]);
    expect(ran[1]!.at - ran[0]!.at).toBeGreaterThan(395);
    // Before the next periodic poll.
    expect(ran[1]!.at - ran[0]!.at).toBeLessThan(4_000);
    await job.add({ to: 'dies', n: 1 });
    await until(async () =>
      expect(await data.all(sql`select owner is not null as owned, run_at > now() as ahead from job`)).toEqual([
        { owned: true, ahead: true },
      ]),
    );
    hold.resolve();
    await until(async () => expect(await left()).toBe(0));
  });

  it('continues at once if it is added again before it has ended', async () => {
    const hold = Promise.withResolvers<void>();
    const ran: number[] = [];
    const job = calls(async ({ to, n }, { continueWith }) => {
      ran.push(n);
      if (n > 0) await continueWith({ to, n: n - 1 }, { after: 600 });
      if (n > 0) await hold.promise;
    });
    await jobs.start();
    const id = await job.add({ to: 'a', n: 1 });
    await until(async () => expect((await stored()).map(({ due }) => due)).toEqual([false]));
    await job.add({ to: 'a', n: 0 }, { id });
    hold.resolve();
    await until(() => expect(ran).toEqual([1, 0]));
  });
});
