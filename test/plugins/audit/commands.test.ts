import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SITE } from '../../../core/host/site.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql, type Console } from 'parley-forum';
import { AuditLog } from 'parley-forum/plugins/audit';
import { startForum, type TestForum } from 'parley-forum/testing';
import configuration from '../../../config/forum.ts';
import { createApp, type App } from '../../../core/host/app.ts';
import { catalogue } from '../../../core/cli/catalogue.ts';
import { runCommand } from '../../../core/cli/run-command.ts';
import { makeTestPlace, testLog } from '../../kit/database.ts';
import { migrated } from '../../kit/migrated.ts';
import { settled } from './settled.ts';

const PASSWORD = 'Slow-boat 7 to Oban';
let site: TestForum;
const console: Console = {
  terminal: false,
  columns: 80,
  print: () => undefined,
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};
const run = (...words: string[]): Promise<void> => runCommand(site.app, words, console);
interface Left {
  readonly action: string;
  readonly actor: string | null;
  readonly subject_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}
const entries = async (): Promise<readonly Left[]> => {
  await settled(site);
  return site.app.data.all(sql<Left>`select action, actor, subject_id, details from audit_entry order by position`);
};
const left = async (work: () => Promise<unknown>): Promise<readonly Left[]> => {
  const { length } = await entries();
  await work();
  return (await entries()).slice(length);
};
const secondFactor = (): Promise<unknown> =>
  site.app.data.all(sql`
  insert into two_factor (account_id, secret, enabled_at) select id, 'sealed', now() from account where username = 'bob'`);

const identity = (): Promise<unknown> =>
  site.app.data.all(sql`
  with provider as (
    insert into single_sign_on_provider (id, slug, name, issuer, client_id, scopes, active, creates_accounts, trusts_email, changed_at)
    values (${randomUUID()}, 'keycloak', 'Keycloak', 'https://sso.example.org', 'forum', 'openid', true, false, false, now())
    returning id
  )
  insert into single_sign_on_identity (provider_id, subject, account_id, linked_at)
  select provider.id, 'bob there', account.id, now() from provider, account where username = 'bob'`);

/** An empty export of another forum. */
const IMPORTED = join(tmpdir(), `parley-${randomUUID()}.jsonl`);

/** Every command that changes the forum, in an order that works: its words, and the action that it leaves. */
const CHANGES: Readonly<Record<string, readonly [words: string, leaves: string, prepare?: () => Promise<unknown>]>> = {
  install: ['install --admin-username ada --admin-email ada@example.org --admin-password', 'forum.installed'],
  'user create': ['user create bob --email bob@example.org --password', 'account.registered'],
  'user promote': ['user promote bob --group moderator', 'account.group-changed'],
  'user reset-password': ['user reset-password bob --password', 'account.password-changed'],
  'user reset-two-factor': ['user reset-two-factor bob', 'two-factor.reset', secondFactor],
  'identity unlink': ['identity unlink bob keycloak', 'single-sign-on.unlinked', identity],
  'user delete': ['user delete bob', 'privacy.deletion-requested'],
  'setting set': ['setting set site.name Quay', 'settings.saved'],
  'plugin disable': ['plugin disable typing', 'plugin.disabled'],
  'plugin uninstall': ['plugin uninstall typing', 'plugin.uninstalled'],
  'plugin enable': ['plugin enable typing', 'plugin.enabled'],
  'theme use': ['theme use default', 'theme.chosen'],
  'secret rotate': ['secret rotate', 'root-key.rotated'],
  backup: [`backup ${join(tmpdir(), `parley-${randomUUID()}.zip`)}`, 'site.backed-up'],
  import: [`import ${IMPORTED}`, 'forum.imported', () => writeFile(IMPORTED, '')],
  seed: ['seed --users 1 --discussions 0 --posts 0', 'forum.seeded'],
};
/**
 * They only print, write files, repair counters, fill an empty site (`restore`), or repeat what others do
 * (`demo`); `migrate` does what each start does.
 */
const HARMLESS = [
  'audit verify',
  'demo',
  'dev',
  'doctor',
  'identity list',
  'migrate',
  'new',
  'openapi',
  'plugin check',
  'plugin list',
  'plugin new',
  'plugin pack',
  'plugin why',
  'recount',
  'restore',
  'setting get',
  'setting list',
  'theme check',
  'theme dev',
  'theme list',
  'theme new',
];

/** They install packages into a site, which test/package.test.ts covers. */
const IN_A_SITE = ['plugin add', 'plugin remove'];

beforeAll(async () => void (site = await startForum({ environment: { secretKey: undefined } })));
afterAll(() => site[Symbol.asyncDispose]());

describe('a command that changes something leaves an audit entry', () => {
  test('and is listed here', () => {
    const commands = catalogue(site.app.kernel.graph.all()).map(({ command }) => command.name);
    expect(commands.toSorted()).toEqual([...Object.keys(CHANGES), ...HARMLESS, ...IN_A_SITE].toSorted());
  });

  test.each(Object.entries(CHANGES))('%s', async (_name, [words, leaves, prepare]) => {
    await prepare?.();
    const done = await left(() => run(...words.split(' '), ...(words.endsWith('password') ? [PASSWORD] : [])));
    expect(done).toContainEqual(
      expect.objectContaining({
        action: leaves,
        actor: null,
        details: expect.objectContaining({ by: 'command line' }),
      }),
    );
    expect(JSON.stringify(done)).not.toContain(PASSWORD);
  });

  test('unless it is refused; if it fails halfway, an entry says so', async () => {
    const refused = {
      'setting set no.such 1': 'There is no setting',
      'setting set security.bcrypt_cost 0': 'must be',
      'setting set site.accent red': 'site.accent: must be a colour such as #1d6f8a',
      'theme use harbour': 'There is no theme',
      'plugin disable admin': 'the admin panel needs it',
      'plugin disable nothing': 'nothing',
      'plugin uninstall tags': 'switch it off',
      'user promote nobody --group admin': 'There is no member',
    };
    expect(
      await left(async () => {
        for (const [words, why] of Object.entries(refused))
          await expect(run(...words.split(' ')), words).rejects.toThrow(why);
      }),
    ).toEqual([]);
    await run('plugin', 'disable', 'typing');
    const enable = site.app.plugins.enable.bind(site.app.plugins);
    site.app.plugins.enable = () => Promise.reject(new Error('the rope broke'));
    const done = await left(() => expect(run('plugin', 'enable', 'typing')).rejects.toThrow('the rope broke'));
    site.app.plugins.enable = enable;
    expect(done.map(({ action, subject_id: plugin }) => [action, plugin])).toEqual([
      ['plugin.enabled', 'typing'],
      ['plugin.stayed', 'typing'],
    ]);
  });

  test('even without a running server: it is stored with the change, and the next server writes it', async () => {
    const place = await makeTestPlace(migrated());
    const environment = { ...site.app.environment, dataDir: place.folder, databaseUrl: place.url };
    const open = (): Promise<App> => createApp({ site: SITE, environment, configuration, log: testLog });
    try {
      const shell = await open();
      await runCommand(shell, ['setting', 'set', 'site.name', 'Pier'], console);
      expect(await shell.data.all(sql`select 1 from audit_entry`)).toEqual([]);
      await shell.close();
      const server = await open();
      await server.listen();
      await expect
        .poll(() => server.data.all(sql`select action, actor, details from audit_entry`), { timeout: 10_000 })
        .toEqual([{ action: 'settings.saved', actor: null, details: { keys: 'site.name', by: 'command line' } }]);
      expect(await server.service(AuditLog).verify()).toEqual({ entries: 1, broken: undefined });
      await server.close();
    } finally {
      await place.remove();
    }
  });
});
