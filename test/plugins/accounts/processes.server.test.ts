import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
const asJson = { accept: 'application/json' };
const HALF_HOUR = 1_800_000;

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

test('a session that was ended in one process is over in the other at its next request', async () => {
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

test('ending all others reaches every process', async () => {
  const here = await login(first);
  const others = [await login(second), await login(first), await login(second)];
  await here.post('/settings/security/sessions/revoke-others', undefined, asJson);
  expect(await Promise.all(others.map(isIn))).toEqual([false, false, false]);
  expect(await isIn(here)).toBe(true);
});

test('two processes that renew a session at once leave one of it, and nobody is logged out', async () => {
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
