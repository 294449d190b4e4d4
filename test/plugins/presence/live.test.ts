import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PresenceStatistics } from 'parley-forum/plugins/presence';
import { announce } from '../../../plugins/presence/announcer.ts';
import { MemoryVisits } from '../../../plugins/presence/visits.ts';
import { testLog } from '../../kit/database.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('open pages are told the numbers when they changed, every five seconds at most', async () => {
  const sent: unknown[] = [];
  let statistics: PresenceStatistics = { total: 1, anonymous: 1, authenticated: 0, bots: 0 };
  const presence = {
    statistics: () => Promise.resolve(statistics),
    visitors: vi.fn<() => never>(),
    bots: vi.fn<() => never>(),
  };
  const live = { send: (signal: string, data: object) => void sent.push([signal, data]) };
  const stop = announce(live, { presence, visits: new MemoryVisits(Date), log: testLog });
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
