import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { RedisTypistStore } from '../../../plugins/typing/typist-store.ts';
import { onServer } from '../../kit/database.ts';

test.skipIf(!onServer)('typists added in one process are visible in others until they expire', async () => {
  const keyPrefix = `test-${crypto.randomUUID()}:`;
  const lines = [0, 1].map(() => new Redis(process.env['TEST_REDIS_URL']!, { keyPrefix }));
  await Promise.all(lines.map((line) => once(line, 'ready')));
  const [one, other] = lines.map((line) => new RedisTypistStore(line, 2_000)) as [RedisTypistStore, RedisTypistStore];
  await one.add('d', 'bob');
  await other.add('d', 'ada');
  await other.add('e', 'eve');
  expect(await one.of('d')).toEqual(['ada', 'bob']);
  await one.remove('d', 'ada');
  await sleep(1_000);
  await one.add('d', 'cid');
  expect(await other.of('d')).toEqual(['bob', 'cid']);
  await expect.poll(() => other.of('d')).toEqual(['cid']);
  await expect.poll(() => lines[0]!.keys(`${keyPrefix}*`)).toEqual([]);
  for (const line of lines) line.disconnect();
});
