import { defineAction, defineFilter, HookBus } from '../../core/hooks.ts';
import { createLogger } from '../../core/host/logger.ts';
import { Supervisor } from '../../core/plugins/supervisor.ts';
import type { Result } from './report.ts';

const CALLS = 2_000;
const ROUNDS = 100;

/** Microseconds per awaited call, the least of a hundred rounds: what the code costs, without what disturbed it. */
async function cost(call: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let n = 0; n < CALLS; n++) await call();
    least = Math.min(least, ((performance.now() - start) * 1_000) / CALLS);
  }
  return least;
}

/** What the hook bus itself costs, in this process, without a database. */
export async function measureHooks(): Promise<readonly Result[]> {
  const supervisor = new Supervisor(createLogger({ level: 'silent', terminal: false }));
  const bus = new HookBus(supervisor);
  const quiet = defineAction<number>('bench.quiet');
  const loud = defineAction<number>('bench.loud');
  const value = defineFilter<number>('bench.value');
  for (let n = 0; n < 10; n++) {
    bus.listen('bench', loud, async () => undefined);
    bus.listen('bench', value, (given: number) => given + 1);
  }
  const results: readonly Result[] = [
    { name: 'emit without a listener', value: await cost(() => bus.emit(quiet, 1)), unit: 'µs', goal: 0.5 },
    { name: 'emit to ten listeners', value: await cost(() => bus.emit(loud, 1)), unit: 'µs', goal: 10 },
    {
      name: 'filter with ten synchronous listeners',
      value: await cost(() => bus.filter(value, 1, undefined)),
      unit: 'µs',
      goal: 3,
    },
  ].map((result) => ({ ...result, ratio: undefined, atMost: true }));
  supervisor.close();
  return results;
}
