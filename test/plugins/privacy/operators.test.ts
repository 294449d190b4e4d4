import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Data, definePlugin, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { accountErased } from 'parley-forum/plugins/privacy';
import { Deletions, personalData } from 'parley-forum/ports/personal-data';
import { loadMigrations } from '../../../core/host/loader.ts';
import { commands } from '../../../plugins/privacy/commands.ts';
import { expectStatus, install, useForum, type Name } from '../discussions/forum.ts';
import { exported, looked } from './forum.ts';

const forum = useForum();
const run = async (options: { readonly name: string; readonly remove: boolean }): Promise<readonly string[]> => {
  const printed: string[] = [];
  const { app } = forum.app;
  await commands[0].run({ accounts: app.service(Accounts), deletions: app.service(Deletions) }, options, {
    terminal: false,
    columns: 80,
    print: (line) => void printed.push(line),
    progress: () => undefined,
    secret: () => Promise.resolve(undefined),
  });
  return printed;
};
const named = (name: Name) => forum.app.app.service(Accounts).findByIdentifier(name);

describe('the shell command', () => {
  test('deletes a member immediately', async () => {
    const { id } = await forum.start('bob', 'Of Bob');
    expect(await run({ name: 'BOB', remove: true })).toEqual(['bob was deleted, with everything they wrote.']);
    expect([await named('bob'), (await forum.guest.get(`/api/discussions/${id}`)).status]).toEqual([undefined, 404]);
    expect((await forum.as.bob.get('/settings/privacy', { accept: 'application/json' })).status).toBe(401);
  });

  test('refuses the only administrator and an unknown member with a one-line message', async () => {
    await expect(run({ name: 'root', remove: false })).rejects.toThrow(
      'This is the only administrator; make someone else an administrator first',
    );
    await expect(run({ name: 'nobody', remove: false })).rejects.toThrow('There is no member "nobody"');
    expect(await named('root')).toBeDefined();
  });
});

describe('another plugin’s personal data', () => {
  const kept = new Map<string, string>();
  const asked: string[] = [];
  const done: string[] = [];
  let failing = true;

  test('is part of the member’s data export', async () => {
    await install(
      forum.app,
      definePlugin({
        id: 'diary',
        setup(_services, plugin) {
          plugin.on(accountErased, ({ id, mode }) => void done.push(`${id} ${mode}`));
          plugin.extend(personalData, {
            name: 'diary',
            async *entries(accountId) {
              yield { path: 'diary.txt', content: kept.get(accountId) ?? '' };
            },
            async erase(accountId, mode) {
              asked.push(mode);
              if (failing) throw new Error('the diary is locked');
              kept.delete(accountId);
            },
          });
        },
      }),
    );
    kept.set(forum.ids.ada, 'Dear diary');
    expect((await exported(forum.app, forum.as.ada)).get('diary.txt')).toBe('Dear diary');
  });

  test('is erased with the account; a failure does not block other plugins, and is retried', async () => {
    await run({ name: 'ada', remove: false });
    expect([await named('ada'), kept.size, asked, done]).toEqual([undefined, 1, ['anonymise'], []]);
    expect(
      forum.app.lines.find(({ message }) => message.startsWith('personal data could not be erased')),
    ).toMatchObject({ owner: 'diary', data: 'diary' });
    failing = false;
    await looked(forum.app);
    expect([kept.size, done]).toEqual([0, [`${forum.ids.ada} anonymise`]]);
  });
});

test('uninstalling leaves nothing behind, and the forum keeps working', async () => {
  const { data, kernel } = forum.app.app;
  const tables = (): Promise<readonly object[]> =>
    data.all(sql`
    select 1 from information_schema.tables where table_schema = 'public' and table_name like 'privacy%'`);
  expect(await tables()).toHaveLength(3);
  await kernel.disable('privacy');
  await data.migrateDown('privacy', await loadMigrations(resolve(import.meta.dirname, '../../../migrations/privacy')));
  expect(await tables()).toEqual([]);
  expectStatus(await forum.guest.get('/api/presence/visitors'), 200);
  expectStatus(await forum.guest.get(`/api/users/${forum.ids.mia}`), 200);
  expect((await forum.as.mia.get('/settings/privacy')).status).toBe(404);
  await kernel.enable('privacy');
  expect(await forum.app.app.service(Data).all(sql`select 1 from privacy_deletion`)).toEqual([]);
});
