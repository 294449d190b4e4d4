import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PresenceStatistics } from 'parley-forum/plugins/presence';
import { signalStatistics } from '../../../plugins/presence/statistics-signal.ts';
import { MemoryVisitorStore } from '../../../plugins/presence/visitor-store.ts';
import { testLog } from '../../kit/database.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('open pages receive the numbers when they have changed, at most every five seconds', async () => {
  const sent: unknown[] = [];
  let statistics: PresenceStatistics = { total: 1, anonymous: 1, authenticated: 0, bots: 0 };
  const presence = {
    statistics: () => Promise.resolve(statistics),
    visitors: vi.fn<() => never>(),
    bots: vi.fn<() => never>(),
    online: vi.fn<() => never>(),
    hidden: vi.fn<() => never>(),
  };
  const live = { send: (signal: string, data: object) => void sent.push([signal, data]) };
  const stop = signalStatistics(live, { presence, store: new MemoryVisitorStore(Date), log: testLog });
  await vi.advanceTimersByTimeAsync(4_900);
  expect(sent).toEqual([]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent).toEqual([['presence', statistics]]);
  statistics = { ...statistics, total: 2, authenticated: 1 };
  await vi.advanceTimersByTimeAsync(5_000);
  expect(sent).toHaveLength(2);
  stop();
  statistics = { ...statistics, total: 3, bots: 1 };
  await vi.advanceTimersByTimeAsync(60_000);
  expect(sent).toHaveLength(2);
});
