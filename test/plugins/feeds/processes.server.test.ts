import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
const PATHS = ['/feed/rss', '/feed/atom', '/feed/json', '/feed/rss/category/general', '/sitemap.xml'];

let first: TestForum;
let second: TestForum;
let writer: Client;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  await first.app
    .service(Accounts)
    .create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD, groupId: 'member' });
  writer = first.client();
  await writer.login('ada', PASSWORD);
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

test('feeds cached by one process are purged before the other responds to a write', async () => {
  const reader = second.client();
  const kept = async (): Promise<void> => {
    for (let time = 0; time < 2; time++) await Promise.all(PATHS.map((path) => reader.get(path)));
  };
  const shown = (text: string) => Promise.all(PATHS.map(async (path) => (await reader.get(path)).text.includes(text)));
  for (let round = 0; round < 10; round++) {
    await kept();
    const { body } = await writer.post('/api/discussions', {
      title: `Round ${round}`,
      content: 'x',
      category_id: 'general',
    });
    expect(await shown(`/d/${body.discussion.number}`)).toEqual(PATHS.map(() => true));
    await kept();
    await writer.delete(`/api/discussions/${body.discussion.id}`);
    expect(await shown(`/d/${body.discussion.number}-`)).toEqual(PATHS.map(() => false));
  }
});
