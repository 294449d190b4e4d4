import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql, type Console } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';
import { linkIn, nextMail } from '../recovery/forum.ts';
import { Members } from '../two-factor/forum.ts';
import { settled } from './settled.ts';

const JSON_ONLY = { accept: 'application/json' };
const console: Console = {
  terminal: false,
  columns: 80,
  print: () => undefined,
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};
/** Values that must not be in the log, by description. */
const secrets = new Map<string, string>();
/** Creates a secret that can be found anywhere. */
function marked(what: string, make: (mark: string) => string = (mark) => mark): string {
  // Letters too: digits alone would make a common password.
  const secret = make(`Secret-7-kelp-${randomBytes(6).toString('hex')}`);
  secrets.set(what, secret);
  return secret;
}

describe('the audit log contains no secret', () => {
  let site: TestForum;
  let root: Client;
  let ada: Client;
  let adaId: string;
  const post = async (client: Client, path: string, body: object = {}, most = 399): Promise<any> => {
    const { status, body: answer, text } = await client.post(path, body, JSON_ONLY);
    expect(status, `${path} ${text}`).toBeLessThanOrEqual(most);
    return answer;
  };
  const keep = (what: string, secret: string): string => marked(what, () => secret);
  /** The secrets found in the entries, or in the lines of the server's log about them. */
  const found = async (): Promise<readonly string[]> => {
    await settled(site);
    const text = `${JSON.stringify(await site.app.data.all(sql`select * from audit_entry`))}${JSON.stringify(site.lines.filter((line) => line['audit'] === true))}`;
    // A mark alone would be part of a secret.
    return [
      ...[...secrets].filter(([, secret]) => text.includes(secret)).map(([what]) => what),
      ...(text.match(/Secret-7-|@example\.org/g) ?? []),
    ];
  };
  const enter = async (name: string, password: string): Promise<Client> => {
    const client = site.client();
    await client.login(name, password);
    return client;
  };

  beforeAll(async () => {
    site = await startForum({
      environment: { secretKey: undefined, allowedHosts: ['127.0.0.1'] },
      settings: { 'pro.enabled': true, 'login.rate_limit': 100 },
    });
    const create = async (username: string, groupId: string): Promise<string> => {
      const [email, password] = [
        marked(`e-mail of ${username}`, (mark) => `${mark}@example.org`),
        marked(`password of ${username}`),
      ];
      return (await site.app.service(Accounts).create({ username, email, password, groupId })).id;
    };
    await create('root', 'admin');
    adaId = await create('ada', 'member');
    root = await enter('root', secrets.get('password of root')!);
    ada = await enter('ada', secrets.get('password of ada')!);
  });
  afterAll(() => site[Symbol.asyncDispose]());

  test('of logins, passwords and tokens', async () => {
    const guest = site.client();
    await guest.csrf();
    await post(
      guest,
      '/login',
      { identifier: marked('password typed as a name'), password: marked('wrong password') },
      401,
    );
    await post(guest, '/login', { identifier: 'ada', password: secrets.get('wrong password') }, 401);
    keep('API token', (await post(ada, '/settings/security/api-token')).token);
    await post(ada, '/settings/security/api-token/revoke');
    keep('feed token', (await post(ada, '/settings/feeds', { name: 'Reader' })).token);
    await post(ada, '/login/confirm', { password: secrets.get('password of ada') });
    await post(ada, '/settings/security/email', { email: marked('new e-mail', (mark) => `${mark}@example.org`) });
    await post(ada, '/settings/security/password', {
      current_password: secrets.get('password of ada'),
      password: marked('new password'),
    });
    expect(await found()).toEqual([]);
  });

  test('of a forgotten password and its link', async () => {
    const guest = site.client();
    await guest.csrf('/password/forgot');
    await post(guest, '/password/forgot', { email: secrets.get('new e-mail') });
    // The first mails are about the change of address and password.
    const mail = await (async () => {
      for (let before = 0; ; before++) {
        const next = await nextMail(site, secrets.get('new e-mail')!, before);
        if (next.body.includes('/password/reset/')) return next;
      }
    })();
    const path = linkIn(mail);
    keep('token of the link', path.split('/').at(-1)!);
    await post(guest, path, { password: marked('newest password') });
    ada = await enter('ada', secrets.get('newest password')!);
    expect(await found()).toEqual([]);
  });

  test('of second factors', async () => {
    const phone = new Members(site);
    const secret = keep('TOTP secret', (await post(ada, '/settings/security/two-factor/begin')).secret);
    const code = phone.code(secret);
    const { backup_codes: codes } = await post(ada, '/settings/security/two-factor/confirm', { code });
    for (const [at, backup] of (codes as string[]).entries()) keep(`backup code ${at}`, backup);
    const waiting = site.client();
    await waiting.csrf();
    await post(waiting, '/login', { identifier: 'ada', password: secrets.get('newest password') });
    await post(waiting, '/login/two-factor', { code: phone.wrongCode(secret) }, 401);
    await post(waiting, '/login/two-factor', { code: codes[0] });
    await post(root, '/admin/users/reset-two-factor', { id: adaId });
    expect(await found()).toEqual([]);
  });

  test('of settings, webhooks and moderators’ texts', async () => {
    await post(root, '/admin/settings/save', {
      'webhooks.inbound_secret': marked(
        'inbound secret',
        (mark) => `whsec_${Buffer.from(mark.padEnd(32, '.')).toString('base64')}`,
      ),
    });
    const url = (credentials: string): string =>
      `http://${credentials}127.0.0.1:9/${secrets.get('path in an address')}?key=${secrets.get('query of an address')}`;
    for (const part of ['path in an address', 'query of an address', 'password in an address']) marked(part);
    const shed = { name: 'Shed', events: ['post.created'] };
    await post(
      root,
      '/admin/webhooks/save',
      { ...shed, url: url(`ada:${secrets.get('password in an address')}@`) },
      400,
    );
    const { webhook, secret } = await post(root, '/admin/webhooks/save', { ...shed, url: url('') });
    keep('webhook secret', secret);
    keep('next webhook secret', (await post(root, '/admin/webhooks/rotate-secret', { id: webhook.id })).secret);
    await post(root, '/admin/webhooks/test', { id: webhook.id });
    await root.submit('/mod/members/ada/notes', { content: marked('note') });
    await root.submit('/mod/members/ada/warn', { reason: marked('reason') });
    expect(await found()).toEqual([]);
  });

  test('of the command line', async () => {
    const run = (...words: string[]): Promise<void> => runCommand(site.app, words, console);
    await run(
      'user',
      'create',
      'bob',
      '--email',
      marked('e-mail given to a command', (mark) => `${mark}@example.org`),
      '--password',
      marked('password given to a command'),
    );
    await run('user', 'reset-password', 'bob', '--password', marked('next password given to a command'));
    await run(
      'setting',
      'set',
      'webhooks.inbound_secret',
      marked(
        'inbound secret given to a command',
        (mark) => `whsec_${Buffer.from(mark.padEnd(32, '.')).toString('base64')}`,
      ),
    );
    await run('secret', 'rotate');
    await run('user', 'delete', 'bob');
    expect(await found()).toEqual([]);
  });

  test('although all of these left entries', async () => {
    await settled(site);
    const rows = await site.app.data.all(sql<{ action: string }>`select * from audit_entry order by position`);
    const actions = new Set(rows.map(({ action }) => action));
    for (const action of [
      'account.logged-in',
      'account.login-refused',
      'account.token-issued',
      'account.token-revoked',
      'feed-token.made',
      'account.email-changed',
      'account.password-changed',
      'account.reset-asked',
      'account.password-reset',
      'two-factor.enabled',
      'two-factor.refused',
      'two-factor.code-used',
      'two-factor.reset',
      'settings.saved',
      'webhook.saved',
      'webhook.secret-rotated',
      'webhook.tested',
      'moderation.member.noted',
      'moderation.member.warned',
      'account.registered',
      'root-key.rotated',
    ])
      expect(actions).toContain(action);
    expect(secrets.size).toBeGreaterThan(25);
    expect(await found()).toEqual([]);
  });
});
