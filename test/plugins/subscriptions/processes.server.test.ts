import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';

let first: TestForum;
let second: TestForum;
let ada: Client;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  await first.app
    .service(Accounts)
    .create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD, groupId: 'member' });
  ada = second.client();
  await ada.login('ada', PASSWORD);
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

test('a category that one process hides is neither followed nor named by the other', async () => {
  const categories = first.app.service(Categories);
  const follow = async (subject: string): Promise<number> =>
    (await ada.post('/api/subscriptions/follow', { kind: 'category', subject_id: subject, following: true })).status;
  const named = async (): Promise<readonly string[]> =>
    (await ada.get('/api/users/follows')).body.follows.map(({ name }: { name: string }) => name);
  await named();
  const shed = await categories.save({ name: 'Shed' });
  expect(await follow(shed.id)).toBe(200);
  expect(await named()).toEqual(['Shed']);
  await categories.save({ ...shed, view: ['admin'] });
  expect(await named()).toEqual([]);
  await categories.save(shed);
  expect(await named()).toEqual(['Shed']);
  await categories.save({ ...shed, view: ['admin'] });
  expect(await follow(shed.id)).toBe(404);
});
