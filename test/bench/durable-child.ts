import { defineAction, definePlugin, defineToken, Migration, sql, Data, Type } from 'parley-forum';
import { createApp } from '../../core/host/app.ts';
import { readOptions } from '../../core/host/serve.ts';
import { createLogger } from '../../core/host/logger.ts';
import { endWithParent } from './child.ts';
import type { DurableFigures } from './durable.ts';
import { median } from './median.ts';

/** Eight writers at a time, as the goal's figures were taken. */
const WRITERS = 8;
const STARTS = 200;
/** Works that wait when the draining is measured, and under how many keys in turn. */
const BACKLOG = 100_000;
const KEYS = [1, 1_000, BACKLOG];
/** How many of them are run while the others wait. */
const MEASURED = 10_000;
/** Turns taken without and with durable listeners: what else the machine does meanwhile meets both alike. */
const TURNS = 16;

const plain = defineAction<{ at: number }>('bench.plain');
const heard = defineAction<{ at: number }>('bench.heard');
const timed = defineAction<{ at: number }>('bench.timed');

class BenchTable extends Migration {
  override up(): void {
    this.addSql('create table bench_row (id uuid primary key, note text not null)');
  }
}

interface Bench {
  write(action: typeof plain): Promise<void>;
  readonly starts: number[];
  /** How many works of `heard` have run, and of the job with keys. */
  readonly ran: () => number;
  readonly ranByKey: () => number;
}
const Bench = defineToken<Bench>('Bench');

const bench = definePlugin({
  id: 'bench',
  needs: { data: Data },
  provides: { bench: Bench },
  hooks: [plain, heard, timed],
  migrations: [BenchTable],
  setup({ data }, plugin) {
    const starts: number[] = [];
    let [ran, ranByKey] = [0, 0];
    plugin.on(heard, () => void ran++, { durable: { id: 'first' } });
    plugin.on(heard, () => void ran++, { durable: { id: 'second' } });
    plugin.on(timed, ({ at }) => void starts.push(performance.now() - at), { durable: true });
    plugin.job('keyed', {
      schema: Type.Object({ key: Type.String() }),
      key: ({ key }) => key,
      perKey: 1,
      run: () => void ranByKey++,
    });
    return {
      bench: {
        starts,
        ran: () => ran,
        ranByKey: () => ranByKey,
        write: (action) =>
          data.transaction(async () => {
            await data.all(sql`insert into bench_row (id, note) values (${crypto.randomUUID()}, 'measured')`);
            await plugin.emit(action, { at: performance.now() });
          }),
      },
    };
  },
});

const options = await readOptions({ ...process.env, PORT: '0' });
const app = await createApp({
  ...options,
  configuration: { plugins: [], required: [] },
  plugins: [bench],
  log: createLogger({ level: 'warn', format: 'json' }),
});
await app.listen();
const { write, starts, ran, ranByKey } = app.service(Bench);

/** Transactions per second. */
async function rate(action: typeof plain, seconds: number): Promise<number> {
  const deadline = performance.now() + seconds * 1_000;
  let done = 0;
  const writer = async (): Promise<void> => {
    for (; performance.now() < deadline; done++) await write(action);
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  return done / seconds;
}

/**
 * Works run in a second while a backlog is drained and nothing is vacuumed: neither what waits nor what has run may
 * slow it down.
 */
async function drained(): Promise<number> {
  await app.data.all(sql`alter table job set (autovacuum_enabled = false)`);
  await app.data.all(sql`insert into job (id, listener, payload) select gen_random_uuid(), listener, '{}'
    from generate_series(1, ${BACKLOG / 2}) n, unnest(array['bench/bench.heard#first', 'bench/bench.heard#second']) listener`);
  const [begun, before] = [performance.now(), ran()];
  await write(heard);
  while (ran() - before < BACKLOG) await new Promise((resolve) => setTimeout(resolve, 10));
  return BACKLOG / ((performance.now() - begun) / 1_000);
}

/** The same of works with keys that run one at a time each: the slowest rate, however many keys there are. */
async function drainedByKey(): Promise<number> {
  const rates: number[] = [];
  const ranSince = async (before: number, count: number): Promise<void> => {
    while (ranByKey() - before < count) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  for (const keys of KEYS) {
    await app.data
      .all(sql`insert into job (id, listener, key, payload) select gen_random_uuid(), 'bench/job:keyed', 'key ' || n % ${keys}::integer, '{"key":""}'
      from generate_series(1, ${BACKLOG}) n`);
    const before = ranByKey();
    await write(heard);
    // What is stored in a statement of some seconds is found by the next look at everything.
    await ranSince(before, 1);
    const [begun, first] = [performance.now(), ranByKey()];
    await ranSince(first, MEASURED);
    rates.push(MEASURED / ((performance.now() - begun) / 1_000));
    await app.data.all(sql`delete from job where listener = 'bench/job:keyed' and owner is null`);
  }
  return Math.min(...rates);
}

process.on('message', ({ seconds }: { seconds: number }) => {
  void (async () => {
    for (let n = 0; n < STARTS; n++) {
      await write(timed);
      while (starts.length <= n) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const drain = await drained();
    const drainByKey = await drainedByKey();
    // Storing is measured, not running: the backlog would otherwise compete for the same processor.
    await app.jobs.stop();
    await rate(heard, 1);
    const [rates, costs]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      const without = await rate(plain, seconds / TURNS);
      const stored = await rate(heard, seconds / TURNS);
      rates.push(stored);
      costs.push(1 - stored / without);
    }
    process.send?.({
      stored: median(rates),
      cost: median(costs),
      drain,
      drainByKey,
      start: median(starts),
    } satisfies DurableFigures);
  })();
});
endWithParent(() => app.close());
process.send?.({ port: 0 });
