import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Settings, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { mailsOf } from '../mail/forum.ts';

const PASSWORD = 'Plain-Sailing-42';
const asJson = { accept: 'application/json' };
const TIMEOUT = { timeout: 20_000, interval: 50 };
let forum: TestForum;
let root: Client;
let bob = '';
let seen = 0;

beforeAll(async () => {
  forum = await startForum({ environment: { trustedProxies: ['127.0.0.1'] } });
  const create = async (username: string, groupId: string): Promise<string> =>
    (
      await forum.app
        .service(Accounts)
        .create({ username, email: `${username}@forum.test`, password: PASSWORD, groupId })
    ).id;
  await create('root', 'admin');
  await create('second', 'admin');
  await create('mia', 'moderator');
  bob = await create('bob', 'member');
  root = forum.client({ 'x-forwarded-for': '198.51.100.7' });
  await root.login('root', PASSWORD);
});
afterAll(() => forum[Symbol.asyncDispose]());

/** The mails since the last call, once there are at least `count`. */
async function next(
  count: number,
): Promise<
  readonly { readonly to: string | undefined; readonly subject: string | undefined; readonly body: string }[]
> {
  await vi.waitFor(async () => expect((await mailsOf(forum)).length).toBeGreaterThanOrEqual(seen + count), TIMEOUT);
  const found = (await mailsOf(forum))
    .slice(seen)
    .map(({ headers, body }) => ({ to: headers['to'], subject: headers['subject'], body }));
  seen += found.length;
  return found;
}

describe('all administrators, and no one else, are notified by mail', () => {
  test('when a security setting changes, with who, when and from where, without its value', async () => {
    const secret = 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtMTIz';
    expect(
      (
        await root.post(
          '/admin/settings/save',
          { 'security.password_min_length': 11, 'webhooks.inbound_secret': secret, 'site.name': 'Quay' },
          asJson,
        )
      ).status,
    ).toBe(200);
    const mails = await next(2);
    expect(new Set(mails.map(({ to }) => to))).toEqual(new Set(['root@forum.test', 'second@forum.test']));
    expect(mails[0]!.body).toContain('security.password_min_length, webhooks.inbound_secret');
    expect(mails[0]!.body).toContain('By root, January 15, 2026 at 12:00 PM UTC, from 198.51.100.7.');
    expect(mails.some(({ body }) => body.includes(secret) || body.includes('site.name'))).toBe(false);
    await root.post('/admin/settings/reset', { key: 'security.password_min_length' }, asJson);
    expect(await next(2)).toHaveLength(2);
  });

  test('not at all when the change is refused', async () => {
    expect((await root.post('/admin/settings/save', { 'security.bcrypt_cost': 9 }, asJson)).body.details[0].field).toBe(
      'security.bcrypt_cost',
    );
    expect(await forum.app.data.all(sql`select 1 from mail_message where sealed is not null`)).toEqual([]);
  });

  test('when a member becomes a moderator or an administrator', async () => {
    await root.post('/admin/users/save', { id: bob, group_id: 'moderator' }, asJson);
    const mails = await next(2);
    expect(new Set(mails.map(({ to }) => to))).toEqual(new Set(['root@forum.test', 'second@forum.test']));
    expect([mails[0]!.subject, mails[0]!.body.includes('from 198.51.100.7')]).toEqual([
      'bob was given more rights',
      true,
    ]);
  });

  test('when a security plugin is disabled, even the one that sends mail', async () => {
    await root.post('/admin/plugins/disable', { id: 'two-factor' }, asJson);
    expect((await next(2))[0]!.subject).toBe('A security plugin is being switched off');
    expect((await root.post('/admin/plugins/disable', { id: 'mail' }, asJson)).status).toBe(200);
    const mails = await next(2);
    expect(new Set(mails.map(({ to }) => to))).toEqual(new Set(['root@forum.test', 'second@forum.test']));
    expect(mails[0]!.body).toContain('Mail');
  });
});

test('a stored bcrypt cost below the minimum is raised to it on use, with a warning in the log', async () => {
  await using before = await startForum();
  await before.app.data.all(sql`insert into setting (key, value) values ('security.bcrypt_cost', '4')`);
  await before.app.close();
  const { dataDir, databaseUrl } = before.app.environment;
  await using after = await startForum({ environment: { dataDir, databaseUrl, production: true } });
  expect(after.app.service(Settings).get('security.bcrypt_cost')).toBe(4);
  expect(after.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', setting: 'security.bcrypt_cost', stored: 4, used: 10 }),
  );
  await after.app.service(Accounts).create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD });
  const [row] = await after.app.data.all(
    sql<{ hash: string }>`select password_hash as hash from account where username = 'ada'`,
  );
  expect(row?.hash).toMatch(/^\$2b\$10\$/);
});
