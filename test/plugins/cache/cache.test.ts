import { afterEach, describe, expect, it, vi } from 'vitest';
import { createCluster } from '../../../core/cluster.ts';
import { TaggedCache } from '../../../plugins/cache/tagged-cache.ts';
import { quiet } from './caches.ts';

let inside = false;
const waiting: Array<() => Promise<void>> = [];
const data = {
  get inTransaction() {
    return inside;
  },
  afterCommit: async (work: () => Promise<void>): Promise<void> => void (inside ? waiting.push(work) : await work()),
};
const start = (options: { bytes?: number } = {}): TaggedCache =>
  new TaggedCache({ cluster: createCluster(quiet), data, ...options });

afterEach(() => {
  inside = false;
  vi.restoreAllMocks();
});

/** A load that ends on request. */
function slow<T>(): { load: () => Promise<T>; end: (value: T) => void; calls: () => number } {
  const { promise, resolve } = Promise.withResolvers<T>();
  let calls = 0;
  return { load: () => (calls++, promise), end: resolve, calls: () => calls };
}

describe('a cached value', () => {
  it('is loaded once and kept until one of its tags is purged', async () => {
    const cache = start();
    let loads = 0;
    const read = (): Promise<number> => cache.remember('page', ['a', 'b'], async () => ++loads);
    expect([await read(), await read()]).toEqual([1, 1]);
    expect(cache.peek('page')).toBe(1);
    await cache.purge('other');
    expect(await read()).toBe(1);
    await cache.purge('b');
    expect(cache.peek('page')).toBeUndefined();
    expect(await read()).toBe(2);
  });

  it('is loaded once for concurrent callers, who also share a failure', async () => {
    const cache = start();
    const { load, end, calls } = slow<string>();
    const both = Promise.all([cache.remember('page', ['a'], load), cache.remember('page', ['a'], load)]);
    end('once');
    expect(await both).toEqual(['once', 'once']);
    expect(calls()).toBe(1);
    const fail = (): Promise<never> => Promise.reject(new Error('no database'));
    const results = await Promise.allSettled([cache.remember('bad', [], fail), cache.remember('bad', [], fail)]);
    expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected']);
    expect(await cache.remember('bad', [], async () => 'better')).toBe('better');
  });

  it('is not stored if a purge overtook its load, nor returned to callers after the purge', async () => {
    const cache = start();
    const old = slow<string>();
    const before = cache.remember('page', ['a'], old.load);
    await cache.purge('a');
    const fresh = slow<string>();
    const after = cache.remember('page', ['a'], fresh.load);
    old.end('old');
    expect(await before).toBe('old');
    fresh.end('new');
    expect(await after).toBe('new');
    expect(cache.peek('page')).toBe('new');
  });

  it('is the one read after a purge, even for earlier callers who are answered later', async () => {
    const cache = start();
    const old = slow<string>();
    const early = [cache.remember('page', ['a'], old.load), cache.remember('page', ['a'], old.load)];
    await cache.purge('a');
    expect(await cache.remember('page', ['a'], async () => 'new')).toBe('new');
    old.end('old');
    expect([await Promise.all(early), cache.peek('page')]).toEqual([['new', 'new'], 'new']);
  });

  it('is stored after computing it only if none of its tags was purged meanwhile', async () => {
    const cache = start();
    const cacheVersion = cache.version();
    await cache.purge('b');
    expect(cache.set('page', ['a', 'b'], 'stale', cacheVersion)).toBe(false);
    expect(cache.peek('page')).toBeUndefined();
    expect(cache.set('page', ['a'], 'fresh', cacheVersion)).toBe(true);
    expect(cache.peek('page')).toBe('fresh');
  });

  it('is not stored with an old version after more purges than are tracked one by one', async () => {
    const cache = start();
    const cacheVersion = cache.version();
    await cache.purge(...Array.from({ length: 10_000 }, (_, n) => `tag ${n}`));
    await cache.purge('one more');
    expect(cache.set('page', ['tag 5'], 'stale', cacheVersion)).toBe(false);
    expect(cache.set('page', ['tag 5'], 'fresh', cache.version())).toBe(true);
  });

  it('is neither read nor written inside a transaction', async () => {
    const cache = start();
    await cache.remember('page', ['a'], async () => 'committed');
    inside = true;
    expect(await cache.remember('page', ['a'], async () => 'uncommitted')).toBe('uncommitted');
    expect(cache.set('page', ['a'], 'uncommitted', cache.version())).toBe(false);
    inside = false;
    expect(cache.peek('page')).toBe('committed');
  });

  it('is purged after the commit if the purge is requested inside a transaction', async () => {
    const cache = start();
    await cache.remember('page', ['a'], async () => 'old');
    inside = true;
    await cache.purge('a');
    inside = false;
    expect(cache.peek('page')).toBe('old');
    for (const work of waiting.splice(0)) await work();
    expect(cache.peek('page')).toBeUndefined();
  });

  it('expires after the given seconds', async () => {
    const cache = start();
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    await cache.remember('page', [], async () => 'short', { seconds: 10 });
    now.mockReturnValue(10_999);
    expect(cache.peek('page')).toBe('short');
    now.mockReturnValue(11_001);
    expect(cache.peek('page')).toBeUndefined();
  });

  it('is evicted if it is not read when the size limit is reached', async () => {
    const cache = start({ bytes: 100_000 });
    const page = Buffer.alloc(1_000);
    for (let n = 0; n < 500; n++) {
      cache.set(`page ${n}`, ['all'], page, cache.version());
      cache.peek('page 0');
    }
    const held = Array.from({ length: 500 }, (_, n) => cache.peek(`page ${n}`)).filter(Boolean).length;
    expect(held).toBeGreaterThan(50);
    expect(held).toBeLessThanOrEqual(100);
    expect(cache.peek('page 0')).toBe(page);
    expect(cache.peek('page 499')).toBe(page);
    cache.set('huge', [], 'x', cache.version(), { bytes: 100_001 });
    expect(cache.peek('huge')).toBeUndefined();
    await cache.purge('all');
    expect(cache.peek('page 499')).toBeUndefined();
  });

  it('shares 32 MiB with others by default', () => {
    const cache = start();
    for (let n = 0; n < 33; n++) cache.set(`page ${n}`, [], 'x', cache.version(), { bytes: 1024 * 1024 });
    expect([cache.peek('page 0'), cache.peek('page 1'), cache.peek('page 32')]).toEqual([undefined, 'x', 'x']);
  });
});
