import { randomUUID } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { ConfigurationError, type Cluster, type Redis } from 'parley-forum';
import { createCluster } from '../../../core/cluster.ts';
import { openCache } from '../../../plugins/cache/open-cache.ts';
import { RedisTransport } from '../../../plugins/cache/redis-transport.ts';
import { quiet as log, redisUrl, useCaches } from './caches.ts';
import { noTransaction } from './no-transaction.ts';

const { start, undo, place } = useCaches();
const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 15_000, interval: 20 });

describe('a single process', () => {
  it('publishes to no one, receives nothing, and may always serve what it holds', async () => {
    const cluster = createCluster(log);
    const { current, close } = await openCache({ namespace: 'alone', log, cluster, data: noTransaction });
    const heard = vi.fn<(payload: unknown) => void>();
    cluster.subscribe('plugins', heard);
    await cluster.publish('plugins', { id: 'polls' });
    expect([heard.mock.calls.length, current()]).toEqual([0, true]);
    await close();
  });

  it('does not start if Redis is unreachable, and names it without its password', async () => {
    const failure = await openCache({
      url: 'redis://:hidden@127.0.0.1:1',
      namespace: 'none',
      log,
      cluster: createCluster(log),
      data: noTransaction,
    }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(String(failure)).toMatch(/REDIS_URL: no Redis at 127\.0\.0\.1:1 .*ECONNREFUSED/);
    expect(String(failure)).not.toContain('hidden');
  });
});

describe('a process in a cluster', () => {
  /** Redis as the cluster sees it: the number of the last message, or no reply. */
  let number: number | undefined;
  let cluster: Cluster;
  let say: (text: string) => void;
  const looked = vi.fn<(payload: unknown) => void>();
  const nextRenewal = (): Promise<unknown> => vi.advanceTimersByTimeAsync(80);

  async function joined(): Promise<RedisTransport> {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    undo.push(() => void vi.useRealTimers());
    number = 5;
    const answer = (): Promise<unknown> =>
      number === undefined ? Promise.reject(new Error('no answer')) : Promise.resolve(String(number));
    const line = { eval: answer, publish: () => Promise.resolve(1), zrem: () => Promise.resolve(1) };
    cluster = createCluster(log);
    const transport = new RedisTransport(log, cluster, 'shared', line as unknown as Redis);
    undo.push(() => transport.close());
    const on = (event: string, hear: (channel: string, text: string) => void): void => {
      if (event === 'message') say = (text) => hear('shared:cluster', text);
    };
    await transport.connect({ subscribe: () => Promise.resolve(1), on } as unknown as Redis);
    cluster.subscribe('settings', looked);
    looked.mockClear();
    return transport;
  }

  it('serves nothing from when it knows of a message until it has received it', async () => {
    const transport = await joined();
    expect(transport.current()).toBe(true);
    number = 6;
    await nextRenewal();
    expect(transport.current()).toBe(false);
    say('6 somebody 1 plugins ');
    expect(transport.current()).toBe(true);
    expect(looked).not.toHaveBeenCalled();
  });

  it('rechecks everything if the message does not arrive by the next renewal', async () => {
    const transport = await joined();
    number = 6;
    await nextRenewal();
    expect(looked).not.toHaveBeenCalled();
    await nextRenewal();
    expect(looked.mock.calls).toEqual([[undefined]]);
    expect(transport.current()).toBe(true);
  });

  it('does not call a listener once it is removed', async () => {
    await joined();
    const heard = vi.fn<(payload: unknown) => void>();
    const stop = cluster.subscribe('polls', heard);
    say('6 somebody 1 polls {}');
    stop();
    say('7 somebody 2 polls {}');
    expect(heard).toHaveBeenCalledTimes(1);
  });

  it('rechecks everything if a number was skipped', async () => {
    await joined();
    say('7 somebody 1 plugins {}');
    expect(looked.mock.calls).toEqual([[undefined]]);
  });

  it('rechecks everything after a Redis outage, even if no message seems to be missing', async () => {
    const transport = await joined();
    number = undefined;
    await nextRenewal();
    expect(transport.current()).toBe(true);
    await vi.advanceTimersByTimeAsync(170);
    expect(transport.current()).toBe(false);
    number = 5;
    await nextRenewal();
    expect(looked.mock.calls).toEqual([[undefined]]);
    expect(transport.current()).toBe(true);
  });

  it('ignores malformed messages', async () => {
    const transport = await joined();
    for (const text of ['', 'hello', '6', '6 somebody plugins']) say(text);
    expect(transport.current()).toBe(true);
  });
});

describe.runIf(redisUrl)('a published message', () => {
  it('reaches the listeners of every other process, with its payload, before the call resolves', async () => {
    const [a, b, c] = [await start(), await start(), await start()];
    const heard: [string, object][] = [];
    const hear =
      (who: string) =>
      async (payload: object | undefined): Promise<void> => {
        await Promise.resolve();
        // A call without a payload asks for a recheck, as a blocked process may get at any time.
        if (payload) heard.push([who, payload]);
      };
    a.cluster.subscribe('plugins', hear('a'));
    b.cluster.subscribe('plugins', hear('b'));
    c.cluster.subscribe('plugins', hear('c'));
    c.cluster.subscribe('settings', hear('c, settings'));
    await a.cluster.publish('plugins', { id: 'a b\nc' });
    expect(heard.splice(0).toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ['b', { id: 'a b\nc' }],
      ['c', { id: 'a b\nc' }],
    ]);
    await b.close();
    await c.cluster.publish('plugins', { id: 'd' });
    expect(heard).toEqual([['a', { id: 'd' }]]);
  });

  it('is acknowledged even if a listener fails, and the failure is logged', async () => {
    const error = vi.fn<(payload: unknown) => void>();
    const quiet = (): void => undefined;
    const [a, b] = [
      await start(),
      await start(redisUrl, { debug: quiet, info: quiet, warn: quiet, error, child: () => log }),
    ];
    const heard = vi.fn<(payload: unknown) => void>();
    b.cluster.subscribe('plugins', () => Promise.reject(new Error('no database')));
    b.cluster.subscribe('plugins', heard);
    await a.cluster.publish('plugins');
    expect(heard).toHaveBeenCalled();
    expect(error).toHaveBeenCalledWith({ subject: 'plugins', error: 'no database' }, expect.any(String));
  });

  it('stays within its namespace', async () => {
    const a = await start();
    place.namespace = `test-${randomUUID()}`;
    const other = await start();
    const heard = vi.fn<(payload: unknown) => void>();
    other.cluster.subscribe('plugins', heard);
    await other.cache.remember('page', ['a'], async () => 'kept');
    await a.cluster.publish('plugins');
    await a.cache.purge('a');
    await soon(() => expect(other.cache.peek('page')).toBe('kept'));
    expect(heard).not.toHaveBeenCalled();
    expect(await other.cache.redis?.keys(`${place.namespace}:*`)).toHaveLength(2);
  });
});
