import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../core/data/database.ts';
import { onServer, openTestDatabase, type TestDatabase } from '../kit/database.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await openTestDatabase();
});
afterAll(() => test.drop());

const journal = (): readonly string[] =>
  readdirSync(join(test.folder, 'database/pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name));
/** The position of the last checkpoint. */
const checkpoints = async (): Promise<string> =>
  (await test.database.one(sql<{ at: string }>`select checkpoint_lsn::text as at from pg_control_checkpoint()`))!.at;

describe.runIf(!onServer)('the write-ahead log of the embedded database', () => {
  it('has a spare file from the start, so that a full disk never stops it', () => {
    expect(journal().length).toBeGreaterThan(1);
  });

  it('does not grow with writes: full files are recycled', async () => {
    for (let filled = 0; filled < 7; filled++) {
      const before = await checkpoints();
      for (let part = 0; part < 3; part++)
        await test.database.all(sql`select pg_logical_emit_message(false, 'test', repeat('x', 9000000))`);
      await expect.poll(checkpoints, { timeout: 20_000 }).not.toBe(before);
    }
    expect(journal().length).toBeLessThan(6);
    expect(journal().length).toBeGreaterThan(1);
  });
});
