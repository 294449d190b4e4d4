import { beforeAll, describe, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { Subscriptions } from 'parley-forum/ports/subscriptions';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const toggle = (name: Name, discussionId: unknown, level?: string) =>
  forum.as[name].post('/api/subscriptions/toggle', {
    discussion_id: discussionId,
    ...(level !== undefined && { level }),
  });
const followed = async (client: Client, query = ''): Promise<any[]> =>
  expectStatus(await client.get(`/api/users/subscriptions${query}`), 200).body.subscriptions;
const levelOf = async (name: Name, id: string): Promise<string | undefined> =>
  (await followed(forum.as[name])).find((one) => one.discussion_id === id)?.level;

describe('subscribing to a discussion', () => {
  test('is turned on and off, by id or by number', async () => {
    const { id, number } = await forum.start('ada', 'Toggled');
    expect((await toggle('bob', id)).body).toEqual({ success: true, subscribed: true, level: 'watching' });
    expect((await toggle('bob', String(number))).body).toEqual({ success: true, subscribed: false, level: 'normal' });
    expect((await toggle('bob', id, 'tracking')).body).toEqual({ success: true, subscribed: true, level: 'tracking' });
    expect((await toggle('bob', id)).body).toEqual({ success: true, subscribed: false, level: 'normal' });
    expect((await toggle('bob', id, 'muted')).body).toEqual({ success: true, subscribed: false, level: 'muted' });
    expect(await followed(forum.as.bob)).toEqual([
      { discussion_id: id, level: 'muted', created_at: '2026-01-15T12:00:00.000Z' },
    ]);
    expect((await toggle('bob', id)).body).toEqual({ success: true, subscribed: true, level: 'watching' });
  });

  test('requires a discussion that the caller can see', async () => {
    const { id } = await forum.start('mia', 'Among staff', 'staff');
    const absent = await toggle('bob', '00000000-0000-7000-8000-000000000000');
    const hidden = await toggle('bob', id);
    expect([absent.status, hidden.status, hidden.body.error]).toEqual([404, 404, absent.body.error]);
    expect((await forum.as.bob.post('/api/subscriptions/toggle', {})).status).toBe(400);
    expect((await toggle('mia', id, 'closely')).status).toBe(400);
  });

  test('requires a member', async () => {
    const { id } = await forum.start('ada', 'For members');
    expect((await forum.guest.post('/api/subscriptions/toggle', { discussion_id: id })).status).toBe(401);
    expect((await toggle('bad', id)).status).toBe(403);
  });
});

describe('writing', () => {
  test('subscribes the author: watching their own discussions, tracking those they reply to', async () => {
    const { id } = await forum.start('ada', 'Begun');
    await forum.reply('bob', id, 'Hello');
    expect([await levelOf('ada', id), await levelOf('bob', id)]).toEqual(['watching', 'tracking']);
    await forum.reply('ada', id, 'Hello to you');
    expect(await levelOf('ada', id)).toBe('watching');
  });

  test('never overrides an explicit choice', async () => {
    const { id } = await forum.start('ada', 'Chosen');
    await toggle('ada', id);
    await toggle('bob', id, 'muted');
    await forum.reply('ada', id, 'Still here');
    await forum.reply('bob', id, 'So am I');
    expect([await levelOf('ada', id), await levelOf('bob', id)]).toEqual([undefined, 'muted']);
  });

  test('does not subscribe if the settings say so', async () => {
    await forum.app.app
      .service(Settings)
      .set({ 'subscriptions.when_starting': 'normal', 'subscriptions.when_replying': 'watching' });
    const { id } = await forum.start('ada', 'By setting');
    await forum.reply('bob', id, 'Hello');
    expect([await levelOf('ada', id), await levelOf('bob', id)]).toEqual([undefined, 'watching']);
    await forum.app.app.service(Settings).reset(['subscriptions.when_starting', 'subscriptions.when_replying']);
  });
});

describe('the list of subscriptions', () => {
  let ids: string[];

  beforeAll(async () => {
    ids = [];
    for (const at of [1, 2, 3, 4, 5]) ids.unshift((await forum.start('root', `Listed ${at}`)).id);
  });

  test('is paginated, latest activity first', async () => {
    const first = (await forum.as.root.get('/api/users/subscriptions?limit=3')).body;
    expect([first.count, first.hasMore, first.subscriptions.map((one: any) => one.discussion_id)]).toEqual([
      3,
      true,
      ids.slice(0, 3),
    ]);
    const second = (await forum.as.root.get(`/api/users/subscriptions?limit=3&cursor=${first.next_cursor}`)).body;
    expect([second.hasMore, second.subscriptions.map((one: any) => one.discussion_id)]).toEqual([false, ids.slice(3)]);
    expect((await forum.as.root.get('/api/users/subscriptions?offset=4')).body.count).toBe(1);
    for (const wrong of ['limit=0', 'offset=-1', 'cursor=x'])
      expect((await forum.as.root.get(`/api/users/subscriptions?${wrong}`)).status).toBe(400);
  });

  test('runs the same number of statements for any length', async () => {
    const read = (limit: number) =>
      leastOf(() => forum.app.statements(() => forum.as.root.get(`/api/users/subscriptions?limit=${limit}`)));
    expect(await read(5)).toBe(await read(1));
  });

  test('of another member is for administrators only, and guests must name a member', async () => {
    expect((await followed(forum.as.root, `?user_id=${forum.ids.bob}`)).length).toBeGreaterThan(0);
    expect((await forum.as.ada.get(`/api/users/subscriptions?user_id=${forum.ids.bob}`)).status).toBe(403);
    expect((await forum.as.root.get('/api/users/subscriptions?user_id=nobody')).status).toBe(404);
    expect((await forum.guest.get('/api/users/subscriptions')).status).toBe(400);
    expect((await forum.guest.get(`/api/users/subscriptions?user_id=${forum.ids.bob}`)).status).toBe(401);
  });

  test('leaves out discussions that are deleted or moved out of sight', async () => {
    const { id } = await forum.start('ada', 'Soon gone');
    const moved = await forum.start('ada', 'Soon hidden');
    const { category } = (await forum.as.mia.get('/api/categories/staff')).body;
    expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
    expectStatus(await forum.as.mia.put(`/api/discussions/${moved.id}`, { category_id: category.id }), 200);
    expect([await levelOf('ada', id), await levelOf('ada', moved.id)]).toEqual([undefined, undefined]);
  });
});

describe('on the page', () => {
  test('a member chooses a level by form, and the next page shows it', async () => {
    const { id, number } = await forum.start('ada', 'By form');
    const page = async (client: Client): Promise<string> => (await client.get(`/d/${number}-by-form`)).text;
    // On a busy machine the menu may time out; the page is then shown without it and not cached.
    const shows = async (pattern: RegExp) => {
      await expect.poll(() => page(forum.as.bob)).toMatch(pattern);
    };
    for (let time = 0; time < 2; time++) await shows(/popovertarget="follow-menu"[\s\S]*?<\/span> Not following</);
    const chosen = await forum.as.bob.submit('/subscriptions', { discussion_id: id, level: 'watching' });
    expect([chosen.status, chosen.headers.get('location')]).toEqual([303, `/d/${number}`]);
    await shows(/<\/span> Watching<[\s\S]*value="watching" aria-pressed="true"/);
    expect(await page(forum.guest)).not.toContain('follow-menu');
    expect(await page(forum.as.bad)).not.toContain('follow-menu');
  });

  test('guests get 401, and hidden discussions 404', async () => {
    const { id } = await forum.start('mia', 'Not for all', 'staff');
    expect((await forum.as.bob.submit('/subscriptions', { discussion_id: id, level: 'watching' })).status).toBe(404);
    expect((await forum.guest.submit('/subscriptions', { discussion_id: id, level: 'watching' })).status).toBe(401);
  });
});

test('other plugins can read the watchers of a discussion in pages', async () => {
  const subscriptions = forum.app.app.service(Subscriptions);
  const { id } = await forum.start('ada', 'Watched');
  for (const name of ['bob', 'mia', 'root'] as const) await subscriptions.set(id, forum.ids[name], 'watching');
  await subscriptions.set(id, forum.ids.mia, 'tracking');
  const { category_id: categoryId } = (await forum.guest.get(`/api/discussions/${id}`)).body.discussion;
  const first = await subscriptions.watchers({ id, categoryId }, { limit: 2 });
  const second = await subscriptions.watchers({ id, categoryId }, { limit: 2, after: first[1]! });
  expect([...first, ...second]).toEqual([forum.ids.ada, forum.ids.bob, forum.ids.root].sort());
  expect(await subscriptions.levels(id, [forum.ids.mia, forum.ids.bad])).toEqual(
    new Map([[forum.ids.mia, 'tracking']]),
  );
});

describe('moved posts', () => {
  const move = (id: string, how: string, body: object) => forum.as.mia.post(`/api/discussions/${id}/${how}`, body);

  test('subscribe their authors to the new discussion, as if written there', async () => {
    const [from, to] = [await forum.start('mia', 'Leaving'), await forum.start('mia', 'Coming')];
    const posts = [await forum.reply('bob', from.id, 'One'), await forum.reply('ada', from.id, 'Two')];
    await toggle('ada', to.id, 'muted');
    const post_ids = posts.map(({ id }) => id);
    expectStatus(await move(from.id, 'move-posts', { post_ids, discussion_id: to.id }), 200);
    expect([await levelOf('bob', to.id), await levelOf('ada', to.id)]).toEqual(['tracking', 'muted']);
    const anew = { title: 'Anew', category_id: 'general' };
    const { discussion } = expectStatus(await move(to.id, 'move-posts', { post_ids, ...anew }), 200).body;
    expect([await levelOf('bob', discussion.id), await levelOf('ada', discussion.id)]).toEqual([
      'watching',
      'tracking',
    ]);
  });

  test('bring the subscribers of a merged discussion along, at the same level', async () => {
    const [from, to] = [await forum.start('mia', 'Merged'), await forum.start('mia', 'Into this')];
    await toggle('ada', from.id, 'watching');
    await toggle('bob', from.id, 'muted');
    await toggle('root', from.id, 'tracking');
    await toggle('root', to.id, 'normal');
    expectStatus(await move(from.id, 'merge', { into: to.id }), 200);
    const levels = await Promise.all((['ada', 'bob', 'root'] as const).map((name) => levelOf(name, to.id)));
    expect(levels).toEqual(['watching', undefined, undefined]);
  });
});
