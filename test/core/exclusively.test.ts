import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { exclusively } from 'parley-forum';
import type { Database } from '../../core/data/database.ts';
import { onServer, openTestDatabase, type TestDatabase } from '../kit/database.ts';

let test: TestDatabase;
let data: Database;
beforeAll(async () => {
  test = await openTestDatabase();
  data = test.database;
});
afterAll(() => test.drop());

const alone = <T>(work: () => Promise<T>, name = 'test:harbour'): Promise<T> =>
  exclusively(data, name, () => new Error('somebody is at it'), work);

describe('exclusive work', () => {
  it('is refused in the same process while it runs, and allowed again once it has ended or failed', async () => {
    for (const settle of [() => 'done', () => Promise.reject(new Error('sank'))]) {
      const gate = Promise.withResolvers<void>();
      const first = alone(() => gate.promise.then(settle));
      await expect(alone(() => Promise.resolve('second'))).rejects.toThrow('somebody is at it');
      expect(await alone(() => Promise.resolve('another'), 'test:quay')).toBe('another');
      gate.resolve();
      await first.catch(() => undefined);
    }
    expect(await alone(() => Promise.resolve('third'))).toBe('third');
  });

  it.runIf(onServer)('is refused in a second process, and allowed again once the first was killed', async () => {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'fixtures/exclusive.ts'), test.folder, test.url ?? ''],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await expect(alone(() => Promise.resolve('second'))).rejects.toThrow('somebody is at it');
    child.kill('SIGKILL');
    await expect.poll(() => alone(() => Promise.resolve('second')).catch(() => 'busy')).toBe('second');
  });
});
