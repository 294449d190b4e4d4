import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { sql } from 'parley-forum';
import { startForum } from 'parley-forum/testing';
import { loadMigrations } from '../../../core/host/loader.ts';
import { Members } from './forum.ts';

it('leaves nothing behind when uninstalled; then the password is enough', async () => {
  await using forum = await startForum();
  const { data, kernel } = forum.app;
  const members = new Members(forum);
  const { account } = await members.enrolled();
  const tables = async (): Promise<readonly string[]> => {
    const rows = await data.all(sql<{ name: string }>`select table_name as name from information_schema.tables
      where table_schema = 'public' and table_name like 'two_factor%' order by 1`);
    return rows.map(({ name }) => name);
  };
  const before = await tables();
  expect(before).toEqual(['two_factor', 'two_factor_backup_code']);
  expect((await members.begin(account)).answer.body).toHaveProperty('two_factor');
  await kernel.disable('two-factor');
  await data.migrateDown(
    'two-factor',
    await loadMigrations(resolve(import.meta.dirname, '../../../migrations/two-factor')),
  );
  expect(await tables()).toEqual([]);
  expect((await members.begin(account)).answer.body).toHaveProperty('user');
  await kernel.enable('two-factor');
  expect(await tables()).toEqual(before);
});
