import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { sql, type Database } from '../../core/data/database.ts';
import { openDatabase } from '../../core/host/databases/open.ts';
import { defineAction, HookBus, type Delivery, type Durability } from '../../core/hooks.ts';
import { JobQueue } from '../../core/jobs/queue.ts';
import { Type } from '../../core/schema.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import type { WorkerDeps } from '../../core/jobs/worker.ts';
import { onServer, openTestDatabase, testLog, type TestDatabase } from '../kit/database.ts';

let test: TestDatabase;
let data: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
afterAll(() => test.drop());

const happened = defineAction<{ n: number; key?: string }>('thing.happened');
const supervisor = new Supervisor(testLog);
let jobs: JobQueue;
let published: readonly string[];
/** The other processes: the messages they receive, and a way to send one from them. */
let renotify: () => unknown = () => undefined;
const clusterOf = (said: string[]): WorkerDeps['cluster'] => ({
  publish: async (topic) => void said.push(topic),
  subscribe: (_topic, run) => {
    renotify = () => run(undefined);
    return () => undefined;
  },
});
let bus: HookBus;
beforeEach(async () => {
  await data.all(sql`delete from job`);
  // A separate list: the queue of the previous test may still publish something later.
  const said: string[] = [];
  published = said;
  jobs = new JobQueue({ data, supervisor, log: testLog, cluster: clusterOf(said) });
  bus = new HookBus(supervisor, {
    batch: () => data.batch(),
    store: (action, payload, batch) => jobs.store(action, payload, batch),
  });
  bus.own('owner', [happened]);
});
afterEach(() => jobs.stop());
afterAll(() => supervisor.close());

type Thing = { n: number; key?: string };

const rows = (): Promise<
  { listener: string; attempt: number; error: string | null; failed: boolean; owned: boolean; wait: number }[]
> =>
  data.all(sql<never>`
  select listener, attempt, error, failed_at is not null as failed, owner is not null as owned, extract(epoch from run_at - now())::float8 as wait from job order by listener, id`);
/** Makes all waiting jobs due. */
const later = (): Promise<unknown> => data.all(sql`update job set run_at = now() where failed_at is null`);
const until = <T>(what: () => T | Promise<T>): Promise<T> => vi.waitFor(what, { timeout: 60_000, interval: 5 });

/** A durable listener that records its calls. */
function hear(
  plugin: string,
  durability: Durability<Thing> = {},
  run: (thing: Thing, delivery: Delivery) => unknown = () => undefined,
) {
  const heard: { n: number; id: string; attempt: number }[] = [];
  const stop = jobs.listen(
    plugin,
    happened.id,
    async (thing: Thing, delivery: Delivery) => {
      heard.push({ n: thing.n, id: delivery.id, attempt: delivery.attempt });
      await run(thing, delivery);
    },
    durability,
  );
  return { heard, stop };
}

describe('storing jobs', () => {
  it('takes one statement for all listeners and actions of a transaction', async () => {
    for (const plugin of ['a', 'b', 'c']) hear(plugin);
    const cost = async (work: () => Promise<unknown>): Promise<number> => {
      const before = data.statements;
      await data.transaction(work);
      return data.statements - before;
    };
    const nothing = await cost(async () => undefined);
    expect(
      await cost(async () => {
        await bus.emit(happened, { n: 1 });
        await bus.emit(happened, { n: 2 });
      }),
    ).toBe(nothing + 1);
    expect(await rows()).toHaveLength(6);
  });

  it('is rolled back with the transaction', async () => {
    const { heard } = hear('a');
    await jobs.start();
    await expect(
      data.transaction(async () => {
        await bus.emit(happened, { n: 1 });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    await bus.emit(happened, { n: 2 });
    await until(() => expect(heard).toHaveLength(1));
    expect(heard[0]?.n).toBe(2);
  });

  it('rolls back the transaction if it fails, or if the commit right after it does', async () => {
    hear('a');
    await data.all(sql`create table written (n integer unique deferrable initially deferred, text text)`);
    const write = (n: number): Promise<unknown> =>
      data.transaction(async () => {
        await data.all(sql`insert into written values (${n}, 'x')`);
        await bus.emit(happened, { n });
      });
    await write(1);
    await expect(write(1)).rejects.toThrow('duplicate key');
    await data.all(sql`alter table job add constraint odd check ((payload->>'n')::integer < 3)`);
    await write(2);
    await expect(write(3)).rejects.toThrow('violates check constraint');
    // The connections that failed can still be used.
    await data.all(sql`alter table job drop constraint odd`);
    await Promise.all([4, 5, 6, 7].map(write));
    const left = [1, 2, 4, 5, 6, 7].map((n) => ({ n }));
    expect(await data.all(sql`select n from written order by n`)).toEqual(left);
    expect(await data.all(sql`select (payload->>'n')::integer as n from job order by 1`)).toEqual(left);
    await data.all(sql`drop table written`);
  });

  it('is published to the other processes after the commit, and only then', async () => {
    hear('a');
    await expect(
      data.transaction(async () => {
        await bus.emit(happened, { n: 1 });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    await data.transaction(async () => {
      await bus.emit(happened, { n: 2 });
      await data.all(sql`select 1`);
      expect(published).toEqual([]);
    });
    await until(() => expect(published).toEqual(['jobs']));
  });

  it('preserves an action without a payload', async () => {
    const { heard } = hear('a');
    const nothing = jobs.listen(
      'b',
      'nothing',
      (payload: unknown) => void heard.push({ n: payload === null ? 1 : 0, id: '', attempt: 0 }),
    );
    await jobs.store('nothing', undefined, undefined);
    await jobs.start();
    await until(() => expect(heard).toEqual([{ n: 1, id: '', attempt: 0 }]));
    await nothing();
  });

  it('preserves the payload as it was when the action was emitted', async () => {
    const { heard } = hear('a');
    await data.transaction(async () => {
      const thing = { n: 1 };
      await bus.emit(happened, thing);
      thing.n = 99;
    });
    await jobs.start();
    await until(() => expect(heard.map(({ n }) => n)).toEqual([1]));
  });

  it('does nothing for an action without durable listeners', async () => {
    const before = data.statements;
    await bus.emit(happened, { n: 1 });
    expect(data.statements).toBe(before);
  });

  it('accepts more jobs in a transaction than fit into one statement', async () => {
    hear('a');
    await data.transaction(() => Promise.all(Array.from({ length: 10_001 }, (_, n) => bus.emit(happened, { n }))));
    expect(await data.one(sql`select count(*) as kept, max((payload->>'n')::integer) as last from job`)).toEqual({
      kept: 10_001,
      last: 10_000,
    });
  });
});

describe('running jobs', () => {
  it('gives every listener the same id for an action, and leaves no row behind', async () => {
    const [a, b] = [hear('a'), hear('b')];
    await jobs.start();
    await data.transaction(() => bus.emit(happened, { n: 1 }));
    await until(async () => expect(await rows()).toEqual([]));
    expect(a.heard).toEqual([{ n: 1, id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/), attempt: 1 }]);
    expect(b.heard).toEqual(a.heard);
  });

  it('follows the order in which the actions were emitted', async () => {
    const { heard } = hear('a', { limit: 1 });
    await data.transaction(async () => {
      for (let n = 0; n < 30; n++) await bus.emit(happened, { n });
    });
    await jobs.start();
    await until(() => expect(heard).toHaveLength(30));
    expect(heard.map(({ n }) => n)).toEqual(Array.from({ length: 30 }, (_, n) => n));
  });

  it('allows handlers to use the database and begin transactions, even concurrently', async () => {
    const { heard } = hear('a', {}, () => data.transaction(async () => void (await data.all(sql`select 1`))));
    await jobs.start();
    await Promise.all(Array.from({ length: 20 }, (_, n) => data.transaction(() => bus.emit(happened, { n }))));
    await until(() => expect(heard).toHaveLength(20));
  });

  it('retries under the same id after the configured delays, then marks the job as failed', async () => {
    const { heard } = hear('a', { retry: [60, 120] }, () => {
      throw new Error('the other side is down');
    });
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    for (const [attempt, seconds] of [
      [1, 60],
      [2, 120],
    ] as const) {
      await until(async () =>
        expect(await rows()).toMatchObject([{ attempt, owned: false, error: 'the other side is down' }]),
      );
      const [row] = await rows();
      expect(Math.ceil(row!.wait / 10) * 10).toBe(seconds);
      await later();
      renotify();
    }
    await until(async () => expect(await rows()).toMatchObject([{ attempt: 3, failed: true }]));
    expect(heard.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(heard.map(({ id }) => id)).size).toBe(1);
  });

  it('runs failed jobs again when an administrator retries them', async () => {
    let down = true;
    const { heard } = hear('a', { retry: [] }, () => {
      if (down) throw new Error('down');
    });
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    await until(async () =>
      expect(await jobs.report()).toMatchObject([
        { listener: 'a/thing.happened', failed: 1, waiting: 0, running: 0, error: 'down' },
      ]),
    );
    down = false;
    expect(await jobs.retry('a/thing.happened')).toBe(1);
    await until(async () => expect(await rows()).toEqual([]));
    expect(heard.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('never quarantines a listener, however often it fails', async () => {
    const { heard } = hear('a', { retry: [] }, () => {
      throw new Error('always');
    });
    await jobs.start();
    for (let n = 0; n < 8; n++) await bus.emit(happened, { n });
    await until(() => expect(heard).toHaveLength(8));
  });

  it('respects the limit of a listener', async () => {
    let [now, most] = [0, 0];
    const { heard } = hear('a', { limit: 2 }, async () => {
      most = Math.max(most, ++now);
      await delay(5);
      now--;
    });
    for (let n = 0; n < 10; n++) await bus.emit(happened, { n });
    await jobs.start();
    await until(() => expect(heard).toHaveLength(10));
    expect(most).toBe(2);
  });

  it('does not let a slow key delay the others', async () => {
    const gate = Promise.withResolvers<void>();
    const { heard } = hear('a', { key: ({ key }) => key ?? '', perKey: 1 }, ({ key }) =>
      key === 'slow' ? gate.promise : undefined,
    );
    await data.transaction(async () => {
      for (let n = 0; n < 10; n++) await bus.emit(happened, { n, key: 'slow' });
      for (let n = 10; n < 20; n++) await bus.emit(happened, { n, key: 'fast' });
    });
    await jobs.start();
    await until(() => expect(heard.filter(({ n }) => n >= 10)).toHaveLength(10));
    expect(heard.filter(({ n }) => n < 10)).toHaveLength(1);
    gate.resolve();
    await until(() => expect(heard).toHaveLength(20));
  });

  it('wakes up by itself when a job becomes due', async () => {
    const done: unknown[] = [];
    const { job } = jobs.define('a', 'late', { schema: Type.Object({}), run: (payload) => void done.push(payload) });
    await jobs.start();
    await job.add({}, { at: new Date(Date.now() + 150) });
    await until(() => expect(done).toEqual([{}]));
  });
});

describe('polling for jobs', () => {
  it('takes one query to find a job, one to claim it and one to complete it, and none afterwards', async () => {
    const { heard } = hear('a');
    await jobs.start();
    const cost = async (n: number): Promise<number> => {
      const asked = vi.spyOn(data, 'all');
      await bus.emit(happened, { n });
      // Including the one that stores it.
      await until(() => expect(asked.mock.calls.length).toBeGreaterThanOrEqual(4));
      await delay(50);
      const { length } = asked.mock.calls;
      asked.mockRestore();
      return length;
    };
    await cost(0);
    // A periodic poll may run in between.
    expect(Math.min(await cost(1), await cost(2), await cost(3))).toBe(4);
    expect(heard).toHaveLength(4);
  });

  it('finds a delayed job on time while another job of the same listener keeps running', async () => {
    const gate = Promise.withResolvers<void>();
    const begun: number[] = [];
    const { job } = jobs.define('a', 'long', {
      schema: Type.Object({ n: Type.Integer() }),
      run: ({ n }) => {
        begun.push(n);
        return n === 0 ? gate.promise : undefined;
      },
    });
    await jobs.start();
    await job.add({ n: 0 });
    await job.add({ n: 1 }, { at: new Date(Date.now() + 400) });
    const since = performance.now();
    await until(() => expect(begun).toEqual([0, 1]));
    // There is also a poll every five seconds.
    expect(performance.now() - since).toBeLessThan(4_000);
    gate.resolve();
  });

  it('finds a job that waits for capacity in the process as soon as another job ends', async () => {
    const [first, others] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let begun = 0;
    const long = ['a', 'b', 'c', 'd'].map((plugin) =>
      jobs.define(plugin, 'long', {
        schema: Type.Object({ n: Type.Integer() }),
        run: ({ n }) => {
          begun++;
          return plugin === 'a' && n === 0 ? first.promise : others.promise;
        },
      }),
    );
    let late = false;
    const next = jobs.define('e', 'next', { schema: Type.Object({}), run: () => void (late = true) });
    await jobs.start();
    for (const { job } of long) for (const n of [0, 1, 2, 3]) await job.add({ n });
    await until(() => expect(begun).toBe(16));
    await next.job.add({});
    await delay(200);
    expect(late).toBe(false);
    const since = performance.now();
    first.resolve();
    await until(() => expect(late).toBe(true));
    // There is also a poll every five seconds.
    expect(performance.now() - since).toBeLessThan(2_000);
    others.resolve();
  });
});

describe('a backlog', () => {
  it('of quick jobs is fetched in batches, and every job runs once', async () => {
    const { heard } = hear('a');
    await data.transaction(() => Promise.all(Array.from({ length: 3_000 }, (_, n) => bus.emit(happened, { n }))));
    const before = data.statements;
    await jobs.start();
    await until(() => expect(heard).toHaveLength(3_000));
    expect(data.statements - before).toBeLessThan(1_000);
    await until(async () => expect(await rows()).toEqual([]));
    expect(new Set(heard.map(({ n }) => n)).size).toBe(3_000);
  });

  it('is put back without counting an attempt if fetched but not started when the process stops', async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    hear('a', { limit: 1 }, () => (++begun > 100 ? gate.promise : undefined));
    await data.transaction(() => Promise.all(Array.from({ length: 300 }, (_, n) => bus.emit(happened, { n }))));
    await jobs.start();
    await until(() => expect(begun).toBe(101));
    await until(async () => expect((await rows()).filter(({ owned }) => owned).length).toBeGreaterThan(1));
    await jobs.stop();
    expect(await rows()).toEqual(
      Array.from({ length: 200 }, () => expect.objectContaining({ attempt: 0, owned: false })),
    );
    gate.resolve();
  });

  it('does not hide jobs that were stored earlier but become visible later', async () => {
    const { heard } = hear('a');
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    await until(() => expect(heard).toHaveLength(1));
    await data.all(
      sql`insert into job (id, listener, payload, run_at) values (gen_random_uuid(), 'a/thing.happened', '{"n":2}', now() - interval '1 hour')`,
    );
    await until(() => expect(heard.map(({ n }) => n)).toEqual([1, 2]));
  });

  it('that becomes visible after a later job is processed without pauses', async () => {
    const { heard } = hear('a');
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    await until(() => expect(heard).toHaveLength(1));
    await data.all(sql`insert into job (id, listener, payload, run_at)
      select gen_random_uuid(), 'a/thing.happened', '{"n":2}', now() - interval '1 hour' from generate_series(1, 300)`);
    await until(() => expect(heard.length).toBeGreaterThan(1));
    // Before the next periodic poll.
    await vi.waitFor(() => expect(heard).toHaveLength(301), { timeout: 4_000, interval: 5 });
  });

  it.runIf(onServer)('is not read again once it has run, while a long transaction keeps its dead rows', async () => {
    const count = 3_000;
    await data.all(sql`insert into job (id, listener, payload, run_at)
      select gen_random_uuid(), 'a/thing.happened', '{"n":1}', now() - interval '1 minute' from generate_series(1, ${count}::integer)`);
    const read = async (): Promise<number> =>
      (await data.one(
        sql<{ n: number }>`select idx_tup_read as n from pg_stat_user_indexes where indexrelname = 'job_due'`,
      ))!.n;
    const before = await read();
    const own = await openDatabase({ url: test.url, folder: test.folder, log: testLog });
    const worker = new JobQueue({ data: own, supervisor, log: testLog, cluster: clusterOf([]) });
    let ran = 0;
    worker.listen('a', happened.id, () => void ran++, {});
    await data.transaction(async () => {
      await data.all(sql`select pg_current_xact_id()`);
      await worker.start();
      await until(() => expect(ran).toBe(count));
    });
    await worker.stop();
    // A connection reports its statistics when it is closed.
    await own.close();
    await expect.poll(read).toBeGreaterThan(before);
    expect((await read()) - before).toBeLessThan(10 * count);
  });
});

describe('old jobs', () => {
  it('are deleted in batches: failed ones after 30 days, those without a listener after 90', async () => {
    const store = (
      n: number,
      kind: string,
      days: { readonly due: number; readonly failed?: number },
    ): Promise<unknown> =>
      data.all(sql`insert into job (id, listener, payload, run_at, failed_at)
        select gen_random_uuid(), ${kind}, '{}', now() - make_interval(days => ${days.due}),
          now() - make_interval(days => ${days.failed ?? null}) from generate_series(1, ${n}::integer)`);
    await store(2_500, 'gone/failed', { due: 200, failed: 31 });
    await store(3, 'gone/failed lately', { due: 200, failed: 29 });
    await store(2_500, 'gone/waits', { due: 91 });
    await store(4, 'gone/waits lately', { due: 89 });
    await jobs.start();
    const left = (): Promise<unknown> =>
      data.all(sql`select listener, count(*)::integer as n from job group by listener order by listener`);
    await until(async () =>
      expect(await left()).toEqual([
        { listener: 'gone/failed lately', n: 3 },
        { listener: 'gone/waits lately', n: 4 },
      ]),
    );
  });
});

describe('stopping', () => {
  it('aborts what a stopped listener runs, without counting an attempt, and keeps it until the listener is back', async () => {
    const first = hear('a', {}, (_, { signal }) =>
      once(signal, 'abort').then(() => Promise.reject(signal.reason as Error)),
    );
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    await until(() => expect(first.heard).toHaveLength(1));
    await first.stop();
    expect(await rows()).toMatchObject([{ listener: 'a/thing.happened', attempt: 0, owned: false, failed: false }]);
    await bus.emit(happened, { n: 2 });
    const second = hear('a');
    await until(() => expect(second.heard).toEqual([{ ...first.heard[0], attempt: 1 }]));
  });

  it.runIf(onServer)('gives up jobs whose lease another process has taken over', async () => {
    const gate = Promise.withResolvers<Delivery>();
    hear('a', {}, (_, delivery) => {
      gate.resolve(delivery);
      return delay(1_000_000, undefined, { signal: delivery.signal });
    });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    const { signal } = await gate.promise;
    await data.all(sql`update job set owner = gen_random_uuid(), attempt = attempt + 1`);
    const aborted = once(signal, 'abort');
    vi.advanceTimersByTime(10_000);
    vi.useRealTimers();
    await aborted;
    expect(await rows()).toMatchObject([{ attempt: 2, owned: true }]);
  });

  it.runIf(onServer)('leaves the jobs of a dead process to the others once their lease has expired', async () => {
    const { heard } = hear('a');
    await data.all(sql`insert into job (id, listener, payload, attempt, run_at, owner, leased_until)
      values (gen_random_uuid(), 'a/thing.happened', '{"n":1}', 1, now() - interval '1 minute', gen_random_uuid(), now() + interval '1 second')`);
    await jobs.start();
    await until(() => expect(heard).toMatchObject([{ n: 1, attempt: 2 }]));
  });

  it('puts back jobs that ignore their abort signal', async () => {
    const gate = Promise.withResolvers<void>();
    const { heard } = hear('a', {}, () => gate.promise);
    await jobs.start();
    await bus.emit(happened, { n: 1 });
    await until(() => expect(heard).toHaveLength(1));
    await jobs.stop();
    expect(await rows()).toMatchObject([{ attempt: 0, owned: false }]);
    gate.resolve();
  });

  it('removes all jobs and schedules of an uninstalled plugin, but no others', async () => {
    const { job } = jobs.define('gone', 'daily', { schema: Type.Object({}), run: () => undefined, cron: '0 3 * * *' });
    await job.add({}, { at: new Date('2100-01-01') });
    hear('gone');
    hear('gone-too');
    await bus.emit(happened, { n: 1 });
    await jobs.forget('gone');
    expect((await rows()).map(({ listener }) => listener)).toEqual(['gone-too/thing.happened']);
  });

  it('refuses to register the same name twice', () => {
    hear('a');
    expect(() => hear('a')).toThrow('[a] registers "a/thing.happened" twice; give one of them an `id` or another name');
    hear('a', { id: 'second' });
  });
});
