import { afterAll, beforeAll, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Deletions, personalData } from 'parley-forum/ports/personal-data';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Slow-boat 7 to Oban';
const SECOND = 1 / 86_400;
const ids: Record<string, string> = {};
let site: TestForum;
let ada: Client;
let bob: Client;

beforeAll(async () => {
  site = await startForum({ also: [process.cwd()], settings: { 'privacy.grace_days': 0 } });
  ada = await member('ada');
  bob = await member('bob');
}, 180_000);
afterAll(async () => site[Symbol.asyncDispose]());

async function member(username: string): Promise<Client> {
  const account = { username, email: `${username}@example.org`, password: PASSWORD, groupId: 'member' };
  ids[username] = (await site.app.service(Accounts).create(account)).id;
  const client = site.client();
  await client.login(username, PASSWORD);
  return client;
}
const start = (poll: unknown) =>
  ada.post('/api/discussions', { title: 'Tea at four', content: 'Or later?', category_id: 'general', poll });
const opened = async (): Promise<string> => (await start(['At four', 'Later'])).body.discussion_id;
const pollOf = async (client: Client, id: string) => (await client.get(`/api/discussions/${id}`)).body.discussion.poll;
const vote = (client: Client, id: string, option: number) => client.put(`/api/discussions/${id}/vote`, { option });

test('a discussion starts with a poll; members have one vote and can change it', async () => {
  const id = await opened();
  expect(await pollOf(site.client(), id)).toMatchObject({ votes: 0, is_closed: false, choice: null });
  expect((await vote(bob, id, 0)).body.poll.options).toEqual([
    { text: 'At four', votes: 1 },
    { text: 'Later', votes: 0 },
  ]);
  await vote(bob, id, 1);
  await vote(ada, id, 1);
  expect(await pollOf(bob, id)).toMatchObject({ votes: 2, choice: 1, options: [{ votes: 0 }, { votes: 2 }] });
  expect(await pollOf(site.client(), id)).toMatchObject({ votes: 2, choice: null });
});

test('the form on the page works without JavaScript and shows the choice', async () => {
  const id = await opened();
  const { pathname } = new URL((await bob.get(`/api/discussions/${id}`)).body.discussion.url, site.url);
  expect((await bob.get('/new')).text).toContain('name="poll"');
  expect((await bob.submit(`/polls/${id}`, { option: '1' })).status).toBe(303);
  expect((await bob.get(pathname)).text).toMatch(/value="1" required checked/);
  expect((await site.client().get(pathname)).text).toContain('1 vote');
});

test('voting is refused for guests, for an unknown option and without a poll', async () => {
  const id = await opened();
  const guest = site.client();
  await guest.csrf();
  expect((await vote(guest, id, 0)).status).toBe(401);
  expect((await vote(bob, id, 2)).body.details).toEqual([{ field: 'option', message: 'is none of this poll' }]);
  expect((await vote(bob, (await start(undefined)).body.discussion_id, 0)).status).toBe(404);
});

test('a poll has two to ten distinct options, as a list or one per line', async () => {
  expect((await start(['Tea', ' Tea '])).body.details).toEqual([
    { field: 'poll', message: 'must have two options or more' },
  ]);
  const { discussion_id: id } = (await start('Tea\n\nCoffee\n')).body;
  expect((await pollOf(ada, id)).options.map(({ text }: { text: string }) => text)).toEqual(['Tea', 'Coffee']);
  const { discussion_id: without } = (await start('\n')).body;
  expect(await pollOf(ada, without)).toBeNull();
  expect((await ada.put(`/api/discussions/${id}`, { poll: ['A', 'B'] })).status).toBe(409);
});

test('a poll closes at its end, notifies its author and is added to the event log', async () => {
  const settings = site.app.service(Settings);
  await settings.set({ 'polls.days': 2 * SECOND });
  const id = await opened();
  await settings.reset(['polls.days']);
  await vote(bob, id, 0);
  await expect.poll(() => pollOf(ada, id), { timeout: 15_000 }).toMatchObject({ is_closed: true, votes: 1 });
  expect((await vote(bob, id, 1)).status).toBe(409);
  await site.calm();
  const { notifications } = (await ada.get('/api/notifications')).body;
  const told = notifications.find(({ type }: { type: string }) => type === 'poll_closed');
  expect(told).toMatchObject({ discussion_id: id, title: 'Tea at four' });
  expect((await ada.get(new URL(told.url).pathname)).status).toBe(301);
  const { events } = (await ada.get('/api/events?event=poll.closed')).body;
  expect(events).toContainEqual(
    expect.objectContaining({ data: { poll: { discussion_id: id, votes: 1, options: expect.anything() } } }),
  );
});

test('a member’s votes are part of their data export', async () => {
  const id = await opened();
  await vote(bob, id, 1);
  const files: string[] = [];
  for (const { value } of site.app.extensions.read(personalData)) {
    if (value.name !== 'votes in polls') continue;
    for await (const { content } of value.entries!(ids['bob']!)) files.push((await Array.fromAsync(content)).join(''));
  }
  expect(files.map((text) => JSON.parse(text) as unknown)).toEqual([
    expect.arrayContaining([expect.objectContaining({ discussion_id: expect.any(String), option: 'Later' })]),
  ]);
});

test('the votes of an erased member are anonymized or deleted', async () => {
  const id = await opened();
  await vote(bob, id, 0);
  await site.app.service(Deletions).erase(ids['bob']!, 'remove');
  await site.calm();
  await expect.poll(() => pollOf(ada, id)).toMatchObject({ votes: 0 });
});

test('while the plugin is disabled nothing is shown; enabling it restores everything', async () => {
  const id = await opened();
  await vote(ada, id, 0);
  await site.app.plugins.disable('polls');
  expect(await pollOf(ada, id)).toBeUndefined();
  expect((await vote(ada, id, 0)).status).toBe(404);
  await site.app.plugins.enable('polls');
  expect(await pollOf(ada, id)).toMatchObject({ votes: 1, choice: 0 });
});
