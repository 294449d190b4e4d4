import { resolve } from 'node:path';
import type { Plugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { loadPlugins } from '../../../core/host/loader.ts';
import { testLog } from '../../kit/database.ts';

const PASSWORD = 'Correct-horse-7';
type Level = 'member' | 'moderator' | 'admin';

export interface PanelForum extends TestForum {
  readonly accounts: Readonly<Record<'mira' | 'otto' | 'ada', Account>>;
  /** A logged-in client: mira is a member, otto a moderator, ada an admin. */
  session(username: 'mira' | 'otto' | 'ada', headers?: Readonly<Record<string, string>>): Promise<Client>;
}

/** The panel with the plugins that it needs, and an account of each level. */
export async function startPanel(extra: readonly Plugin[] = []): Promise<PanelForum> {
  const real = await loadPlugins(
    resolve(import.meta.dirname, '../../..'),
    ['cache', 'secrets', 'access', 'limits', 'protection', 'accounts', 'api', 'markdown', 'web', 'admin'],
    testLog,
  );
  const forum = await startForum({
    plugins: [...real, ...extra],
    required: ['admin'],
    settings: { 'login.attempt_rate_limit': 100_000, 'email.mx_validation': false, 'pages.rate_limit': 100_000 },
  });
  const create = (username: string, level: Level): Promise<Account> =>
    forum.app.service(Accounts).create({
      username,
      email: `${username}@forum.test`,
      password: PASSWORD,
      groupId: forum.app.service(Access).groupOf(level).id,
    });
  const accounts = {
    mira: await create('mira', 'member'),
    otto: await create('otto', 'moderator'),
    ada: await create('ada', 'admin'),
  };
  const session = async (username: string, headers: Readonly<Record<string, string>> = {}): Promise<Client> => {
    const client = forum.client(headers);
    await client.login(username, PASSWORD);
    return client;
  };
  return Object.assign(forum, { accounts, session });
}
