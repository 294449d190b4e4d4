import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RedisVisitorStore } from '../../../plugins/presence/redis-visitor-store.ts';
import { MemoryVisitorStore, WINDOW, type VisitorStore } from '../../../plugins/presence/visitor-store.ts';
import { onServer } from '../../kit/database.ts';

/** Milliseconds; within half of it, a busy machine can do what has to happen before it ends. */
const SHORT = 1_500;
const url = onServer ? process.env['TEST_REDIS_URL'] : undefined;

interface Opened {
  /** As two processes see it. */
  readonly visits: readonly [VisitorStore, VisitorStore];
  /** Lets this part of the window pass. */
  pass(part: number): Promise<void>;
  close(): void;
}

const stores: readonly { readonly place: string; open(): Promise<Opened> }[] = [
  {
    place: 'in this process',
    open: async () => {
      let now = 1_000_000;
      const visits = new MemoryVisitorStore({ now: () => now });
      return { visits: [visits, visits], pass: async (part) => void (now += part * WINDOW), close: () => undefined };
    },
  },
  ...(url === undefined
    ? []
    : [
        {
          place: 'in Redis',
          open: async () => {
            const keyPrefix = `test-${crypto.randomUUID()}:`;
            const lines = [new Redis(url, { keyPrefix }), new Redis(url, { keyPrefix })] as const;
            await Promise.all(lines.map((line) => once(line, 'ready')));
            return {
              visits: [new RedisVisitorStore(lines[0], SHORT), new RedisVisitorStore(lines[1], SHORT)] as const,
              pass: (part: number) => sleep(part * SHORT + 2),
              close: () => lines.forEach((line) => line.disconnect()),
            };
          },
        },
      ]),
];

describe.each(stores)('visits $place', ({ open }) => {
  let opened: Opened;
  beforeEach(async () => void (opened = await open()));
  afterEach(() => opened.close());

  test('tell which of some members are here', async () => {
    const [one, other] = opened.visits;
    await one.record([
      { kind: 'member', id: 'm1', page: '/' },
      { kind: 'member', id: 'm2', page: '/' },
      { kind: 'guest', id: 'g1', page: '/' },
    ]);
    expect([...(await other.among(['m2', 'm3', 'g1']))]).toEqual(['m2']);
    expect([...(await other.among([]))]).toEqual([]);
    await opened.pass(1.1);
    expect([...(await other.among(['m1', 'm2']))]).toEqual([]);
  });

  test('of any process are visible to all, by kind and latest first', async () => {
    const [one, other] = opened.visits;
    await one.record([
      { kind: 'guest', id: 'g1', page: '/' },
      { kind: 'member', id: 'm1', page: '/a' },
    ]);
    await opened.pass(0.1);
    await other.record([
      { kind: 'member', id: 'm2', page: '/b' },
      { kind: 'bot', id: 'Googlebot', page: '' },
    ]);
    expect(await one.count()).toEqual({ member: 2, guest: 1, bot: 1 });
    const list = await one.list(['member', 'guest'], 0, 10);
    expect(list.map(({ kind, id, page }) => [kind, id, page])).toEqual([
      ['member', 'm2', '/b'],
      ['member', 'm1', '/a'],
      ['guest', 'g1', '/'],
    ]);
    expect(list[0]!.at).toBeGreaterThan(list[1]!.at);
    expect((await one.list(['member', 'guest'], 1, 2)).map(({ id }) => id)).toEqual(['m1', 'g1']);
    expect((await one.list(['member', 'guest'], 2, 2)).map(({ id }) => id)).toEqual(['g1']);
    expect(await one.list(['member', 'guest'], 3, 2)).toEqual([]);
  });

  test('expire after a while without activity', async () => {
    const [one, other] = opened.visits;
    await one.record([
      { kind: 'member', id: 'm1', page: '/' },
      { kind: 'guest', id: 'g1', page: '/' },
    ]);
    await opened.pass(0.6);
    await other.refresh(['g1'], '/next');
    await opened.pass(0.5);
    expect(await one.count()).toEqual({ member: 0, guest: 1, bot: 0 });
    await opened.pass(1);
    await other.refresh(['g1'], '/late');
    expect(await one.count()).toEqual({ member: 0, guest: 0, bot: 0 });
  });

  test('of one guest count as one, before and after the cookie', async () => {
    const [one] = opened.visits;
    await one.record([{ kind: 'guest', id: 'plain', page: '/' }]);
    await one.record([{ kind: 'guest', id: 'cookie', before: 'plain', page: '/2' }]);
    expect((await one.list(['guest'], 0, 5)).map(({ id, page }) => [id, page])).toEqual([['cookie', '/2']]);
    await one.record([
      { kind: 'guest', id: 'plain', page: '/' },
      { kind: 'guest', id: 'cookie', before: 'plain', page: '/3' },
    ]);
    expect((await one.count()).guest).toBe(2);
  });

  test('a heartbeat changes the page of the first known guest and adds none', async () => {
    const [one] = opened.visits;
    await one.record([{ kind: 'guest', id: 'plain', page: '/' }]);
    await one.refresh(['cookie', 'plain'], '/moved');
    await one.refresh(['stranger'], '/nowhere');
    expect((await one.list(['guest'], 0, 5)).map(({ id, page }) => [id, page])).toEqual([['plain', '/moved']]);
  });

  test('only one process can claim a change', async () => {
    const [one, other] = opened.visits;
    expect(await one.claimChange('a')).toBe(true);
    expect(await other.claimChange('a')).toBe(false);
    expect(await other.claimChange('b')).toBe(true);
    expect(await one.claimChange('b')).toBe(false);
  });
});
