import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
let forums: readonly TestForum[] = [];
let [ada, bob]: readonly (readonly Client[])[] = [];

beforeAll(async () => {
  const first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  forums = [first, await startForum({ realClock: true, environment: { databaseUrl, redisUrl } })];
  const accounts = first.app.service(Accounts);
  [ada, bob] = await Promise.all(
    ['ada', 'bob'].map(async (name) => {
      await accounts.create({ username: name, email: `${name}@forum.test`, password: PASSWORD, groupId: 'member' });
      const clients = forums.map((forum) => forum.client());
      for (const client of clients) await client.login(name, PASSWORD);
      return clients;
    }),
  );
});
afterAll(async () => {
  for (const forum of forums.toReversed()) await forum[Symbol.asyncDispose]();
});

test('concurrent marks in two processes converge on the greatest, and neither process shows stale or muted content', async () => {
  const started = await ada![0]!.post('/api/discussions', {
    title: 'Shared',
    content: 'Words',
    category_id: 'general',
  });
  const { id } = started.body.discussion;
  for (let at = 0; at < 9; at++) await ada![at % 2]!.post('/api/posts', { discussion_id: id, content: `Reply ${at}` });
  const shown = (client: Client) =>
    client.get('/').then(({ text }) => /class="badge strong unread-count">([^<]*)</.exec(text)?.[1]);
  expect(await Promise.all(bob!.map(shown))).toEqual(['New', 'New']);
  const read = (client: Client, number: number) =>
    client.post('/api/read-marks', { read_marks: [{ discussion_id: id, number }] });
  const answers = await Promise.all([4, 8, 2, 6, 1, 7, 3, 5].map((number, at) => read(bob![at % 2]!, number)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(await Promise.all(bob!.map(shown))).toEqual(['2 new', '2 new']);
  await ada![1]!.post('/api/posts', { discussion_id: id, content: 'The last' });
  expect(await Promise.all(bob!.map(shown))).toEqual(['3 new', '3 new']);
  const choose = (level: string) => bob![0]!.post('/api/subscriptions/toggle', { discussion_id: id, level });
  await choose('muted');
  expect(await Promise.all(bob!.map(shown))).toEqual([undefined, undefined]);
  expect((await bob![1]!.get('/api/unread')).body.count).toBe(0);
  await choose('normal');
  expect((await bob![1]!.get('/api/unread')).body.count).toBe(1);
  await bob![1]!.post('/api/read-marks/all', {});
  expect(await Promise.all(bob!.map(shown))).toEqual([undefined, undefined]);
});
