import { describe, expect, it } from 'vitest';
import { Batcher } from '../../core/data/batcher.ts';

describe('a batcher', () => {
  it('runs what arrives during a batch as the next batch, in order, one batch at a time', async () => {
    let [now, most] = [0, 0];
    const batches: (readonly number[])[] = [];
    const gate = Promise.withResolvers<void>();
    const batcher = new Batcher<number, number>(async (items) => {
      most = Math.max(most, ++now);
      batches.push(items);
      await gate.promise;
      now--;
      return batches.length;
    });
    const first = batcher.add(1);
    await expect.poll(() => batches).toEqual([[1]]);
    const next = [batcher.add(2), batcher.add(3)];
    gate.resolve();
    expect(await Promise.all([first, ...next])).toEqual([1, 2, 2]);
    expect(batches).toEqual([[1], [2, 3]]);
    expect(most).toBe(1);
  });

  it('reports the failure of a batch to each of its items, and continues with the next', async () => {
    const batcher = new Batcher<string>(async (items) => {
      if (items.includes('bad')) throw new Error('not this one');
    });
    const [bad, beside] = [batcher.add('bad'), batcher.add('beside')];
    await expect(bad).rejects.toThrow('not this one');
    await expect(beside).rejects.toThrow('not this one');
    await batcher.add('good');
  });
});
