import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Slow-boat 7 to Oban';
let site: TestForum;
let ada: Client;

beforeAll(async () => {
  site = await startForum({ also: [process.cwd()] });
  const account = { username: 'ada', email: 'ada@example.org', password: PASSWORD, groupId: 'member' };
  await site.app.service(Accounts).create(account);
  ada = site.client();
  await ada.login('ada', PASSWORD);
}, 180_000);
afterAll(async () => site[Symbol.asyncDispose]());
beforeEach(() => filter('refuse'));

const filter = (action: 'refuse' | 'replace', words = ['darn', 'son of a gun', 'C++']): Promise<void> =>
  site.app.service(Settings).set({ 'word-filter.words': words, 'word-filter.action': action });
const start = (title: string, content: string): Promise<Answer> =>
  ada.post('/api/discussions', { title, content, category_id: 'general' });
const refused = (...details: readonly object[]): object => ({ status: 400, body: { details } });

test('words in titles and texts are refused and named, in discussions, replies and edits', async () => {
  expect(await start('Darn!', 'That son of a gun… darn, DARN')).toMatchObject(
    refused(
      { field: 'title', message: 'must do without: darn' },
      { field: 'content', message: 'must do without: son of a gun, darn' },
    ),
  );
  const { discussion_id: id, post_id: post } = (await start('Socks', 'I have holes in mine')).body;
  const content = { field: 'content', message: 'must do without: darn' };
  expect(await ada.post('/api/posts', { discussion_id: id, content: 'Then darn them' })).toMatchObject(
    refused(content),
  );
  expect(await ada.put(`/api/posts/${post}`, { content: 'I darn mine' })).toMatchObject(refused(content));
  expect(await ada.put(`/api/discussions/${id}`, { title: 'Darn socks' })).toMatchObject(
    refused({ field: 'title', message: 'must do without: darn' }),
  );
});

test('a word within a longer word is allowed', async () => {
  expect((await start('Darning', 'Darned C++11 and the undarned')).status).toBe(201);
});

test('words are replaced before they are stored, even those with special characters', async () => {
  await filter('replace');
  const { discussion_id: id } = (await start('Darn!', 'That son of a gun writes C++.')).body;
  expect((await site.client().get(`/api/discussions/${id}`)).body.discussion).toMatchObject({
    title: '••••!',
    content: 'That •••••••••••• writes •••.',
  });
});

test('without words nothing is refused', async () => {
  await filter('refuse', []);
  expect((await start('Darn!', 'Darn.')).status).toBe(201);
});
