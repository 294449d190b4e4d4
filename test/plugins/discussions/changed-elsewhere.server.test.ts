import { afterAll, beforeAll, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';

let first: TestForum;
let second: TestForum;
let mia: Client;
let ada: Client;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  const accounts = first.app.service(Accounts);
  const logIn = async (username: string, groupId: string): Promise<Client> => {
    await accounts.create({ username, email: `${username}@forum.test`, password: PASSWORD, groupId });
    const client = second.client();
    await client.login(username, PASSWORD);
    return client;
  };
  mia = await logIn('mia', 'moderator');
  ada = await logIn('ada', 'member');
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

test('a bulk move accepts a category that another process has just created, and refuses one that it has hidden', async () => {
  const categories = first.app.service(Categories);
  const started = await mia.post('/api/discussions', { title: 'Goes', content: 'x', category_id: 'general' });
  const move = async (category: string): Promise<number> => {
    const body = { discussion_ids: [started.body.discussion.id], action: 'move', category_id: category };
    return (await mia.post('/api/discussions/bulk', body)).status;
  };
  const harbour = await categories.save({ name: 'Harbour' });
  expect(await move(harbour.id)).toBe(200);
  await categories.save({ ...harbour, view: ['admin'] });
  expect(await move(harbour.id)).toBe(400);
});

test('a category that one process hides can be neither followed nor listed in the other', async () => {
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

test('records of a category that one process hides cannot be read by id in the other', async () => {
  const categories = first.app.service(Categories);
  const cabin = await categories.save({ name: 'Cabin' });
  const started = await mia.post('/api/discussions', { title: 'Inside', content: 'x', category_id: cabin.id });
  const { id } = started.body.discussion;
  const [{ id: post }] = (await mia.get(`/api/discussions/${id}/posts`)).body.posts;
  const [discussions, { guest }] = [second.app.service(Discussions), second.app.service(Access)];
  const found = async (): Promise<readonly number[]> =>
    [await discussions.records([id], guest), await discussions.posts([post], guest)].map(({ length }) => length);
  expect(await found()).toEqual([1, 1]);
  await categories.save({ ...cabin, view: ['admin'] });
  expect(await found()).toEqual([0, 0]);
});
