import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';

let first: TestForum;
let second: TestForum;
let mia: Client;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  await first.app
    .service(Accounts)
    .create({ username: 'mia', email: 'mia@forum.test', password: PASSWORD, groupId: 'moderator' });
  mia = second.client();
  await mia.login('mia', PASSWORD);
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

test('several discussions move to a category that another process has just made, and to none that it has hidden', async () => {
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
