import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { redisUrl, useCaches, type Process } from './caches.ts';
import { openProxy, type RedisProxy } from './redis-proxy.ts';

const { start, undo, place } = useCaches();

async function startBehind(): Promise<Process & { line: RedisProxy }> {
  const line = await openProxy(redisUrl);
  undo.push(() => line.close());
  return { ...(await start(line.url)), line };
}

/** An expired lease loses no value: on a busy machine it is renewed a moment later. */
const serves = ({ cache, current }: Process, value: string | undefined): Promise<void> =>
  vi.waitFor(
    () => {
      expect(current()).toBe(true);
      expect(cache.peek('page')).toBe(value);
    },
    { timeout: 5_000, interval: 5 },
  );
const hold = ({ cache }: Pick<Process, 'cache'>, value = 'old'): Promise<string> =>
  cache.remember('page', ['a'], async () => value);
const soon = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 15_000, interval: 20 });

describe.runIf(redisUrl)('a purge', () => {
  it('is complete in every process when it resolves, and affects nothing else', async () => {
    const [a, b] = [await start(), await start()];
    await Promise.all([hold(a), hold(b)]);
    await a.cache.purge('other');
    await serves(b, 'old');
    for (let round = 0; round < 50; round++) {
      const [writer, reader] = round % 2 === 0 ? [a, b] : [b, a];
      await hold(reader, `round ${round}`);
      await writer.cache.purge('a');
      expect(reader.cache.peek('page')).toBeUndefined();
    }
  });

  it('leaves no value that another process was loading meanwhile', async () => {
    const [a, b] = [await start(), await start()];
    const { promise, resolve } = Promise.withResolvers<string>();
    const before = b.cache.remember('page', ['a'], () => promise);
    const cacheVersion = b.cache.version();
    await a.cache.purge('a');
    resolve('old');
    expect(await before).toBe('old');
    expect(b.cache.peek('page')).toBeUndefined();
    expect(b.cache.set('page', ['a'], 'old', cacheVersion)).toBe(false);
    expect(await hold(b, 'new')).toBe('new');
    await serves(b, 'new');
  });

  it('stops a process that no longer receives messages from serving until it has emptied its cache', async () => {
    const a = await start();
    const b = await startBehind();
    const { line } = b;
    const looked = vi.fn<(payload: unknown) => void>();
    b.cluster.subscribe('plugins', looked);
    await hold(b);
    line.hush('subscribers');
    await a.cache.purge('a');
    expect(b.cache.peek('page')).toBeUndefined();
    await serves(b, undefined);
    expect(looked).toHaveBeenCalledWith(undefined);
    line.mend();
    await hold(b, 'new');
    await serves(b, 'new');
  });
});

describe.runIf(redisUrl)('during a Redis outage', () => {
  it('a process reads from the database, and starts empty when Redis is back', async () => {
    const a = await start();
    const b = await startBehind();
    const { line } = b;
    await hold(b);
    line.cut();
    await soon(() => expect(b.current()).toBe(false));
    expect(b.cache.peek('page')).toBeUndefined();
    expect(await hold(b, 'from the database')).toBe('from the database');
    await a.cache.purge('a');
    line.mend();
    await serves(b, undefined);
  });

  it('commands to an unresponsive Redis time out after two seconds, then fail at once until it responds again', async () => {
    const b = await startBehind();
    const { line } = b;
    await hold(b);
    line.freeze();
    const begun = performance.now();
    await expect(b.cache.redis!.get('anything')).rejects.toThrow(/timed out|timeout|writeable|closed|retries/i);
    expect(performance.now() - begun).toBeLessThan(3_000);
    // The next connection is accepted, but not answered either.
    await sleep(500);
    for (let at = 0; at < 5; at++)
      await expect(b.cache.redis!.get('anything')).rejects.toThrow(/timed out|timeout|writeable|closed|retries/i);
    expect(performance.now() - begun).toBeLessThan(4_000);
    line.mend();
    await soon(() => expect(b.current()).toBe(true));
    expect(await b.cache.redis!.get('anything')).toBeNull();
    expect(b.cache.peek('page')).toBeUndefined();
  });

  it('a process shares no load that may be older than a purge it could not receive', async () => {
    const b = await startBehind();
    const { line } = b;
    line.hush('everybody');
    await soon(() => expect(b.current()).toBe(false));
    const { promise, resolve } = Promise.withResolvers<string>();
    const before = b.cache.remember('page', ['a'], () => promise);
    expect(await hold(b, 'new')).toBe('new');
    resolve('old');
    expect(await before).toBe('old');
    line.cut();
  });

  it('a process makes the others recheck what it could not publish', async () => {
    const a = await start();
    const b = await startBehind();
    const { line } = b;
    await hold(a);
    const looked = vi.fn<(payload: unknown) => void>();
    a.cluster.subscribe('settings', looked);
    line.cut();
    await b.cache.purge('a');
    await b.cluster.publish('settings', { key: 'site.name' });
    line.mend();
    await serves(b, undefined);
    await soon(() => expect(looked).toHaveBeenCalledWith(undefined));
    expect(a.cache.peek('page')).toBeUndefined();
  });

  it('that lost the data, nothing older is served', async () => {
    const a = await start();
    await hold(a);
    await serves(a, 'old');
    await a.cache.redis?.set('cluster:number', 1);
    await soon(() => expect([a.current(), a.cache.peek('page')]).toEqual([true, undefined]));
    await hold(a, 'new');
    await a.cache.redis?.del('cluster:number', 'cluster:alive');
    await soon(() => expect([a.current(), a.cache.peek('page')]).toEqual([true, undefined]));
  });
});

describe.runIf(redisUrl)('a second operating system process', () => {
  const file = join(import.meta.dirname, 'cache-process.ts');
  const served = async (child: ChildProcess): Promise<unknown> =>
    ((await once(child, 'message')) as [{ serves: string }])[0].serves;
  async function launch(): Promise<ChildProcess> {
    const child = fork(file, [redisUrl, place.namespace], { execArgv: [] });
    undo.push(() => child.kill('SIGKILL'));
    expect(await served(child)).toBe('old');
    return child;
  }

  it('that hung during a purge serves nothing old when it resumes', async () => {
    const a = await start();
    const child = await launch();
    child.kill('SIGSTOP');
    await a.cache.purge('a');
    child.send('what do you serve?');
    child.kill('SIGCONT');
    expect(await served(child)).toBe('nothing');
  });

  it('that crashed may have left messages unsent, so the others recheck', async () => {
    const a = await start();
    await hold(a);
    const child = await launch();
    const looked = vi.fn<(payload: unknown) => void>();
    a.cluster.subscribe('plugins', looked);
    child.kill('SIGKILL');
    await soon(() => expect(looked).toHaveBeenCalledWith(undefined));
    expect(a.cache.peek('page')).toBeUndefined();
  });
});
