import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { sql } from 'parley-forum';
import { startForum } from 'parley-forum/testing';
import { loadMigrations } from '../../../core/host/loader.ts';

it('leaves nothing behind when uninstalled, and can be installed again', async () => {
  await using forum = await startForum({ settings: { 'registration.email_verification': true } });
  const { data, kernel } = forum.app;
  const tables = async (): Promise<readonly string[]> => {
    const rows = await data.all(sql<{ name: string }>`select table_name as name from information_schema.tables
      where table_schema = 'public' and table_name like 'recovery%' order by 1`);
    return rows.map(({ name }) => name);
  };
  const before = await tables();
  expect(before).toEqual(['recovery_address', 'recovery_link', 'recovery_unconfirmed']);
  await kernel.disable('recovery');
  await data.migrateDown(
    'recovery',
    await loadMigrations(resolve(import.meta.dirname, '../../../migrations/recovery')),
  );
  expect(await tables()).toEqual([]);
  const client = forum.client();
  expect((await client.get('/login')).text).not.toContain('/password/forgot');
  expect((await client.get('/password/forgot')).status).toBe(404);
  await kernel.enable('recovery');
  expect(await tables()).toEqual(before);
});
