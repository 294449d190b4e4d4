import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Console } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Installer } from 'parley-forum/plugins/installer';
import { startForum, type TestForum } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';

const PASSWORD = 'Slow-boat 7 to Oban';

let site: TestForum;
let lines: string[];
beforeEach(async () => {
  site = await startForum();
  lines = [];
});
afterEach(() => site[Symbol.asyncDispose]());

const console: Console = {
  terminal: false,
  columns: 80,
  print: (line) => void lines.push(line),
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};
const install = (...more: string[]): Promise<void> =>
  runCommand(
    site.app,
    ['install', '--admin-username', 'ada', '--admin-email', 'ada@example.org', '--admin-password', PASSWORD, ...more],
    console,
  );

describe('installing from the command line', () => {
  test('creates an administrator who can log in, and sets the name of the forum', async () => {
    expect(site.app.service(Installer).installed).toBe(false);
    await install('--site-name', 'The Quay');
    expect(site.app.service(Installer).installed).toBe(true);
    expect(site.app.settings.get('site.name')).toBe('The Quay');
    expect(await site.app.service(Accounts).findByIdentifier('ada')).toMatchObject({ groupId: 'admin' });
    await site.client().login('ada', PASSWORD);
    expect(lines).toEqual([
      'Installed. Log in as ada at http://forum.test/login; if the server is not running yet, start it first: npm start',
    ]);
  });

  test('works only once: a second attempt fails and changes nothing', async () => {
    await install();
    await expect(
      runCommand(
        site.app,
        ['install', '--admin-username', 'eve', '--admin-email', 'eve@example.org', '--admin-password', PASSWORD],
        console,
      ),
    ).rejects.toThrow('A forum is already installed here; nothing was changed');
    expect(await site.app.service(Accounts).findByIdentifier('eve')).toBeUndefined();
  });

  test('reports a password that violates the policy, and the next attempt succeeds', async () => {
    const attempt = runCommand(
      site.app,
      ['install', '--admin-username', 'ada', '--admin-email', 'ada@example.org', '--admin-password', 'short'],
      console,
    );
    await expect(attempt).rejects.toThrow(/password/i);
    expect(site.app.service(Installer).installed).toBe(false);
    await install();
  });

  test('resumes an attempt that failed after the administrator was created, with the new password', async () => {
    await site.app.service(Accounts).create({ username: 'ada', email: 'ada@example.org', password: 'Another-boat 8' });
    await install();
    await site.client().login('ada', PASSWORD);
    expect(await site.app.service(Accounts).findByIdentifier('ada')).toMatchObject({ groupId: 'admin' });
  });

  test('explains with --demo what to do if the demo plugin is disabled', async () => {
    await site.app.plugins.disable('demo');
    await expect(install('--demo')).rejects.toThrow('add "demo" to config/forum.ts and enable it');
  });
});
