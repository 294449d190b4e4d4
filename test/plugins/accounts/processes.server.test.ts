import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Console } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';

const PASSWORD = 'Plain-Sailing-42';
const asJson = { accept: 'application/json' };
const HALF_HOUR = 1_800_000;
const shell: Console = {
  terminal: false,
  columns: 80,
  print: () => undefined,
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};

let first: TestForum;
let second: TestForum;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  await first.app.service(Accounts).create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD });
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

const login = async (app: TestForum): Promise<Client> => {
  const client = app.client();
  await client.login('ada', PASSWORD);
  return client;
};
const isIn = async (client: Client): Promise<boolean> => (await client.get('/settings/security')).status === 200;

test('a session ended in one process is invalid in the other at its next request', async () => {
  const here = await login(first);
  const there = await login(second);
  expect([await isIn(here), await isIn(there)]).toEqual([true, true]);
  const { sessions } = (await here.get('/settings/security/sessions', asJson)).body as {
    sessions: readonly { id: string; current: boolean }[];
  };
  expect(sessions).toHaveLength(2);
  await here.post('/settings/security/sessions/revoke', { id: sessions.find(({ current }) => !current)!.id }, asJson);
  expect([await isIn(here), await isIn(there)]).toEqual([true, false]);
});

test('ending all other sessions takes effect in every process', async () => {
  const here = await login(first);
  const others = [await login(second), await login(first), await login(second)];
  await here.post('/settings/security/sessions/revoke-others', undefined, asJson);
  expect(await Promise.all(others.map(isIn))).toEqual([false, false, false]);
  expect(await isIn(here)).toBe(true);
});

test('two processes that renew a session at once leave one, and no one is logged out', async () => {
  const member = await login(first);
  const cookie = [...member.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  for (const { clock } of [first, second]) clock.advance(HALF_HOUR);
  const clients = Array.from({ length: 8 }, (_, at) => (at % 2 ? first : second).client({ cookie }));
  expect(await Promise.all(clients.map(isIn))).toEqual(clients.map(() => true));
  const given = clients.flatMap(({ cookies }) => cookies.get('parley.sid') ?? []);
  expect(given).toHaveLength(1);
  for (const { clock } of [first, second]) clock.advance(61_000);
  expect(await Promise.all(clients.map((client) => isIn(client)))).toEqual(clients.map(() => false));
  expect(await isIn(second.client({ cookie: `parley.sid=${given[0]}` }))).toBe(true);
});

test('groups, suspensions, tokens and account status take effect in every process from the next request', async () => {
  const [accounts, access] = [first.app.service(Accounts), first.app.service(Access)];
  const { id } = await accounts.create({ username: 'bob', email: 'bob@forum.test', password: PASSWORD });
  const there = second.client();
  await there.login('bob', PASSWORD);
  const { token } = (await there.post('/settings/security/api-token', undefined, asJson)).body;
  const program = second.client({ authorization: `Bearer ${token}` });
  const reports = async () => [(await there.get('/api/reports')).status, (await program.get('/api/reports')).status];
  const starts = async (): Promise<readonly unknown[]> => {
    const { status, body } = await program.post('/api/discussions', {
      title: 'From the other process',
      content: 'Words',
      category_id: 'general',
    });
    return [status, body.code];
  };
  expect([await reports(), await starts()]).toEqual([
    [403, 403],
    [201, undefined],
  ]);
  await access.suspend({ userId: id, until: new Date(first.clock.now() + HALF_HOUR), reason: 'Too loud' });
  expect(await starts()).toEqual([403, 'suspended']);
  await access.release(id);
  expect(await starts()).toEqual([201, undefined]);
  await accounts.setGroup(id, 'moderator');
  // A change of group ends the sessions, while the token has the member’s new rights.
  expect(await reports()).toEqual([401, 200]);
  await accounts.setGroup(id, 'banned');
  expect(await starts()).toEqual([403, 'banned']);
  await accounts.setGroup(id, 'member');
  await there.login('bob', PASSWORD);
  await accounts.setStatus(id, 'disabled');
  expect([await isIn(there), (await starts())[0]]).toEqual([false, 401]);
  await accounts.setStatus(id, 'active');
  expect((await starts())[0]).toBe(201);
  const here = first.client();
  await here.login('bob', PASSWORD);
  await here.post('/settings/security/api-token/revoke', undefined, asJson);
  expect((await starts())[0]).toBe(401);
});

test('a new root key ends every session in processes started with it', async () => {
  await using before = await startForum({ realClock: true, environment: { secretKey: undefined } });
  const { databaseUrl, redisUrl, dataDir } = before.app.environment;
  const again = () =>
    startForum({ realClock: true, environment: { databaseUrl, redisUrl, dataDir, secretKey: undefined } });
  await before.app.service(Accounts).create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD });
  const cookie = `parley.sid=${(await login(before)).cookies.get('parley.sid')}`;
  {
    await using same = await again();
    expect(await isIn(same.client({ cookie }))).toBe(true);
  }
  await runCommand(before.app, ['secret', 'rotate'], shell);
  await using after = await again();
  expect(await isIn(after.client({ cookie }))).toBe(false);
  expect(await isIn(await login(after))).toBe(true);
});
