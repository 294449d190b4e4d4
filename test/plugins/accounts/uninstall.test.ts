import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { sql } from 'parley-forum';
import { loadMigrations } from '../../../core/host/loader.ts';
import { openForum } from './forum.ts';

it.each(['accounts', 'access'])(
  '%s leaves no tables behind when it is uninstalled, and can be enabled again',
  async (plugin) => {
    await using forum = await openForum();
    const { data, kernel } = forum.app;
    const migrations = await loadMigrations(resolve(import.meta.dirname, '../../../migrations', plugin));
    const tables = async (): Promise<readonly string[]> =>
      (
        await data.all(
          sql<{
            name: string;
          }>`select table_name as name from information_schema.tables where table_schema = 'public' and table_name similar to ${plugin === 'access' ? 'access_%' : 'account(s_%)?'} order by 1`,
        )
      ).map(({ name }) => name);
    const before = await tables();
    expect(before).toHaveLength(3);
    await kernel.disable(plugin);
    await data.migrateDown(plugin, migrations);
    expect(await tables()).toEqual([]);
    await kernel.enable(plugin);
    expect(await tables()).toEqual(before);
  },
);
