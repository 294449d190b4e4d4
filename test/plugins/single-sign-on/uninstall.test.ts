import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { sql } from 'parley-forum';
import { startForum } from 'parley-forum/testing';
import { loadMigrations } from '../../../core/host/loader.ts';

it('leaves nothing behind when uninstalled', async () => {
  await using forum = await startForum();
  const { data, kernel } = forum.app;
  const tables = async (): Promise<readonly string[]> => {
    const rows = await data.all(sql<{ name: string }>`select table_name as name from information_schema.tables
      where table_schema = 'public' and table_name like 'single_sign_on%' order by 1`);
    return rows.map(({ name }) => name.slice('single_sign_on_'.length));
  };
  const before = await tables();
  expect(before).toEqual(['attempt', 'identity', 'pending', 'provider']);
  await kernel.disable('single-sign-on');
  await data.migrateDown(
    'single-sign-on',
    await loadMigrations(resolve(import.meta.dirname, '../../../migrations/single-sign-on')),
  );
  expect(await tables()).toEqual([]);
  expect((await forum.client().get('/login')).status).toBe(200);
  await kernel.enable('single-sign-on');
  expect(await tables()).toEqual(before);
});
