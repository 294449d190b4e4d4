import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { sql, Data } from 'parley-forum';
import { Notifications } from 'parley-forum/ports/notifications';
import { Subscriptions } from 'parley-forum/ports/subscriptions';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { countOf, listOf, POLL, readAll, settled, shortly } from './inbox.ts';

const forum = useForum();
const notified = async (name: Name): Promise<unknown[]> => {
  await settled(forum);
  return shortly(await listOf(forum.as[name], '?unread=true'));
};
const level = (name: Name, id: string, value: string) =>
  forum.as[name].post('/api/subscriptions/toggle', { discussion_id: id, level: value });

// Another plugin notifies of what moderators do.
beforeAll(async () => void (await forum.app.app.kernel.disable('moderation')));
beforeEach(async () => {
  await settled(forum);
  for (const name of ['ada', 'bob', 'mia', 'root'] as const) await readAll(forum.as[name]);
});

describe('replies', () => {
  test('notify watchers, once for all that are unread', async () => {
    const { id, number } = await forum.start('ada', 'Watched');
    const first = await forum.reply('bob', id, 'One');
    expect(await notified('ada')).toEqual([['reply', 'Watched', 1, false]]);
    await forum.reply('mia', id, 'Two');
    expect(await notified('ada')).toEqual([['reply', 'Watched', 2, false]]);
    const [one] = await listOf(forum.as.ada, '?unread=true');
    expect(one).toEqual({
      id: one.id,
      type: 'reply',
      title: 'Watched',
      url: `http://forum.test/d/${number}/2#post-2`,
      actor: expect.objectContaining({ username: 'mia' }),
      actors: [expect.objectContaining({ username: 'mia' }), expect.objectContaining({ username: 'bob' })],
      actor_count: 2,
      discussion_id: id,
      post_id: first.id,
      count: 2,
      is_read: false,
      created_at: '2026-01-15T12:00:00.000Z',
    });
    expect(await countOf(forum.as.ada)).toBe(1);
    await readAll(forum.as.ada);
    await forum.reply('bob', id, 'Three');
    expect(await notified('ada')).toEqual([['reply', 'Watched', 1, false]]);
  });

  test('name two authors and the number of others, each counted once', async () => {
    const { id } = await forum.start('ada', 'Named');
    const names = async (): Promise<string | undefined> => {
      await settled(forum);
      const { text } = await forum.as.ada.get('/notifications');
      return /<a href="[^"]*" dir="auto"><span class="hidden">Unread: <\/span>([^<]*) <strong>Named</.exec(text)?.[1];
    };
    const write = async (name: Name): Promise<any> => forum.reply(name, id, `By ${name}`);
    await write('bob');
    expect(await names()).toBe('bob replied in');
    await write('bob');
    expect(await names()).toBe('2 new replies, the last by bob, in');
    await settled(forum);
    const third = await write('mia');
    expect(await names()).toBe('mia and bob replied in');
    await write('root');
    expect(await names()).toBe('root, mia and 1 other replied in');
    // An author who writes again is named first, and not counted again.
    await write('bob');
    expect(await names()).toBe('bob, root and 1 other replied in');
    const [one] = await listOf(forum.as.ada, '?unread=true');
    expect([one.count, one.actor_count, one.actors.map(({ username }: { username: string }) => username)]).toEqual([
      5,
      3,
      ['bob', 'root'],
    ]);
    const german = await forum.as.ada.put(`/api/users/${forum.ids.ada}`, { language: 'de' });
    expectStatus(german, 200);
    expect((await forum.as.ada.get('/notifications')).text).toContain('bob, root und 1 andere Person antworten in');
    expectStatus(await forum.as.ada.put(`/api/users/${forum.ids.ada}`, { language: null }), 200);
    // Read notifications are not added to.
    await readAll(forum.as.ada);
    await write('mia');
    expect(await names()).toBe('mia replied in');
    expect(third.number).toBe(4);
  });

  test('by many members are combined, and those whose account no longer exists are counted as others', async () => {
    const data = forum.app.app.service(Data);
    const { id } = await forum.start('ada', 'Busy');
    const rows = await data.all(sql<{ id: string }>`
      select gen_random_uuid() as id from generate_series(1, 30)`);
    const notifications = forum.app.app.service(Notifications);
    const add = (actorId: string) =>
      notifications.notify([
        { type: 'reply', userId: forum.ids.ada, actorId, discussionId: id, url: '/d/1', key: `busy:${actorId}` },
      ]);
    for (const row of rows) await add(row.id);
    await add(forum.ids.bob);
    const shown = async () => (await forum.as.ada.get('/notifications')).text;
    expect(await shown()).toContain('bob and 30 others replied in <strong>Busy</strong>');
    await add(forum.ids.mia);
    expect(await shown()).toContain('mia, bob and 30 others replied in <strong>Busy</strong>');
    const few = await forum.app.statements(() => listOf(forum.as.ada, '?unread=true'));
    expect(few).toBeLessThan(12);
  });

  test('do not notify their author, or members who track or muted the discussion', async () => {
    const { id } = await forum.start('ada', 'Quiet');
    await level('mia', id, 'muted');
    await level('root', id, 'tracking');
    await forum.reply('bob', id, 'Hello @mia');
    await forum.reply('ada', id, 'Hello to you');
    expect([await notified('bob'), await notified('mia'), await notified('root')]).toEqual([[], [], []]);
  });

  test('notify thousands of watchers in few SQL statements, and no one twice', async () => {
    const data = forum.app.app.service(Data);
    const { id } = await forum.start('ada', 'Crowded');
    const url = '/d/1';
    const some = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({
        type: 'reply',
        userId: crowd[from + at]!,
        discussionId: id,
        url,
        key: 'crowd',
      }));
    const rows = await data.all(sql<{
      id: string;
    }>`insert into account (id, username, email, password_hash, group_id, bio, joined_at)
      select gen_random_uuid(), 'crowd' || n, 'crowd' || n || '@forum.test', '!', 'member', '', now() from generate_series(1, 1600) n returning id`);
    const crowd = rows.map((row) => row.id);
    const notifications = forum.app.app.service(Notifications);
    const few = await forum.app.statements(() => notifications.notify(some(0, 10)));
    // One or two more may come from the worker, which polls for jobs.
    expect(await forum.app.statements(() => notifications.notify(some(10, 480)))).toBeLessThan(few + 4);
    await notifications.notify(some(0, 1600));
    await notifications.notify(some(0, 1600));
    const [sums] = await data.all(
      sql`select count(*)::integer as rows, sum(count)::integer as notified from notification where discussion_id = ${id}`,
    );
    expect(sums).toEqual({ rows: 1600, notified: 1600 });
    const watching = forum.app.app.service(Subscriptions);
    for (const one of crowd.slice(0, 1100)) await watching.set(id, one, 'watching');
    await forum.reply('bob', id, 'To all');
    await settled(forum);
    const [after] =
      await data.all(sql`select sum(count)::integer as notified, (select sum(unread)::integer from notification_count where user_id = any(${crowd}::uuid[])) as unread
      from notification where discussion_id = ${id} and user_id <> ${forum.ids.ada}`);
    expect(after).toEqual({ notified: 2700, unread: 1600 });
  });
});

describe('mentions and quotes', () => {
  test('a mention notifies, even in the first post and regardless of case', async () => {
    expectStatus(
      await forum.as.ada.post('/api/discussions', {
        title: 'Calling',
        content: 'Dear @BOB and @mia, and @nobody',
        category_id: 'general',
      }),
      201,
    );
    expect([await notified('bob'), await notified('mia')]).toEqual([
      [['mention', 'Calling', 1, false]],
      [['mention', 'Calling', 1, false]],
    ]);
  });

  test('a mention in code, in a quotation, in an address or of oneself does not notify', async () => {
    const { id } = await forum.start('bob', 'Not called');
    await forum.reply(
      'ada',
      id,
      '`@mia` and\n\n```\n@mia\n```\n\n> @mia said\n\n[x](/u/mia) mail@mia.test \\@mia @ada',
    );
    expect([await notified('mia'), await notified('ada')]).toEqual([[], []]);
  });

  test('a quoted author is notified of a quote in the format of the composer', async () => {
    const { id, number } = await forum.start('ada', 'Quoted');
    const page = (await forum.as.bob.get(`/d/${number}/reply?quote=1`)).text;
    const content = /<textarea[^>]*>\s*([\s\S]*?)<\/textarea>/
      .exec(page)![1]!
      .replaceAll('&gt;', '>')
      .replaceAll('&#39;', "'");
    await forum.reply('bob', id, `${content}I agree`);
    expect(await notified('ada')).toEqual([['quote', 'Quoted', 1, false]]);
  });

  test('a post notifies a member once: of a mention, else of a quote, else of a reply', async () => {
    const { id, number } = await forum.start('ada', 'Once');
    await forum.reply('bob', id, `> [@ada](/d/${number}):\n> About\n\n@ada yes`);
    expect(await notified('ada')).toEqual([['mention', 'Once', 1, false]]);
    await readAll(forum.as.ada);
    await forum.reply('bob', id, `> [@ada](/d/${number}/2#post-2):\n> About\n\nyes`);
    expect(await notified('ada')).toEqual([['quote', 'Once', 1, false]]);
  });

  test('members are not notified of what they may not see, or of discussions they muted', async () => {
    const { id } = await forum.start('mia', 'Among staff', 'staff');
    await forum.reply('root', id, '@bob @mia look');
    expect([await notified('bob'), await notified('mia')]).toEqual([[], [['mention', 'Among staff', 1, false]]]);
    const open = await forum.start('ada', 'Muted');
    await level('bob', open.id, 'muted');
    await forum.reply('ada', open.id, '@bob please');
    expect(await notified('bob')).toEqual([]);
  });

  test('preferences decide what a member is notified of', async () => {
    const { id } = await forum.start('ada', 'By choice');
    await forum.as.bob.post(
      '/settings/notifications',
      { channels: { mention: 'off' } },
      { accept: 'application/json' },
    );
    await forum.reply('ada', id, '@bob hello');
    expect(await notified('bob')).toEqual([]);
    await forum.as.bob.post(
      '/settings/notifications',
      { channels: { mention: 'site' } },
      { accept: 'application/json' },
    );
    await forum.reply('ada', id, '@bob hello again');
    expect(await notified('bob')).toEqual([['mention', 'By choice', 1, false]]);
  });
});

describe('changes to a discussion', () => {
  const both = async (name: Name): Promise<readonly [number, number]> => {
    await settled(forum);
    return [(await listOf(forum.as[name], '?unread=true')).length, await countOf(forum.as[name])];
  };

  test('notifications of a deleted discussion are neither listed nor counted', async () => {
    const { id } = await forum.start('ada', 'Deleted');
    await forum.reply('bob', id, 'Hello');
    expect(await both('ada')).toEqual([1, 1]);
    expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
    expect(await both('ada')).toEqual([0, 0]);
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/restore`), 200);
    await forum.reply('bob', id, 'It is back');
    expect(await both('ada')).toEqual([1, 1]);
  });

  test('notifications of a moved discussion are shown to those who may see it, with its new title', async () => {
    const { id } = await forum.start('ada', 'Moving');
    await forum.reply('bob', id, '@root hello');
    const { category } = (await forum.as.mia.get('/api/categories/staff')).body;
    const { category: general } = (await forum.as.mia.get('/api/categories/general')).body;
    expect([await both('ada'), await both('root')]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { category_id: category.id, title: 'Moved' }), 200);
    expect([await both('ada'), await both('root')]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { category_id: general.id }), 200);
    expect([await both('ada'), await notified('ada')]).toEqual([[1, 1], [['reply', 'Moved', 1, false]]]);
  });

  test('notifications of a category are hidden from members who can no longer see it', async () => {
    const made = expectStatus(
      await forum.as.root.post('/admin/categories/save', { name: 'Closing' }, { accept: 'application/json' }),
      201,
    ).body.category;
    const { id } = await forum.start('ada', 'Closed', made.id);
    await forum.reply('bob', id, 'Hello');
    expect(await both('ada')).toEqual([1, 1]);
    expectStatus(
      await forum.as.root.post(
        '/admin/categories/save',
        { id: made.id, name: 'Closing', view: 'staff' },
        { accept: 'application/json' },
      ),
      200,
    );
    expect(await both('ada')).toEqual([0, 0]);
    const { category: help } = (await forum.as.mia.get('/api/categories/help')).body;
    expectStatus(
      await forum.as.root.post(
        '/admin/categories/delete',
        { id: made.id, move_to: help.id },
        { accept: 'application/json' },
      ),
      200,
    );
    expect(await both('ada')).toEqual([1, 1]);
  });

  test('a deleted post removes its mention, but not a reply notification that covers other posts', async () => {
    const { id } = await forum.start('ada', 'Posts');
    const { id: post } = await forum.reply('bob', id, '@mia hello');
    await settled(forum);
    await forum.reply('bob', id, 'Another');
    expect([await notified('mia'), await notified('ada')]).toEqual([
      [['mention', 'Posts', 1, false]],
      [['reply', 'Posts', 2, false]],
    ]);
    expectStatus(await forum.as.bob.delete(`/api/posts/${post}`), 200);
    expect([await both('mia'), await notified('ada')]).toEqual([[0, 0], [['reply', 'Posts', 1, false]]]);
  });

  const move = async (id: string, how: string, body: object): Promise<unknown> =>
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/${how}`, body), 200);

  test('a moved post takes its mention along, for those who may see it there', async () => {
    const [from, to] = [await forum.start('mia', 'Left behind'), await forum.start('mia', 'Among staff', 'staff')];
    const { id: post } = await forum.reply('bob', from.id, '@ada and @root hello');
    expect([await both('ada'), await both('root')]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    await move(from.id, 'move-posts', { post_ids: [post], discussion_id: to.id });
    expect([await both('ada'), await both('root')]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    expect(await notified('root')).toContainEqual(['mention', 'Among staff', 1, false]);
    await move(to.id, 'move-posts', { post_ids: [post], discussion_id: from.id });
    expect([await both('ada'), (await notified('ada'))[0]]).toEqual([
      [1, 1],
      ['mention', 'Left behind', 1, false],
    ]);
    // It is neither counted again, nor combined with another reply in the discussion that it left.
    await forum.reply('bob', from.id, '@ada once more');
    expect(await both('ada')).toEqual([2, 2]);
    await readAll(forum.as.ada);
    await readAll(forum.as.root);
  });

  test('combined reply notifications stay with their discussion, unless it is merged', async () => {
    const [from, to] = [await forum.start('ada', 'Many replies'), await forum.start('mia', 'Other replies')];
    const { id: first } = await forum.reply('bob', from.id, 'One');
    await settled(forum);
    await forum.reply('bob', from.id, 'Two');
    expect(await notified('ada')).toEqual([['reply', 'Many replies', 2, false]]);
    await move(from.id, 'move-posts', { post_ids: [first], discussion_id: to.id });
    const replies = async () => (await notified('ada')).filter(([type]: any) => type === 'reply');
    expect(await replies()).toEqual([['reply', 'Many replies', 2, false]]);
    await move(from.id, 'merge', { into: to.id });
    expect(await replies()).toEqual([]);
    const merged = await forum.start('ada', 'To be merged');
    await forum.reply('bob', merged.id, 'One');
    await settled(forum);
    await forum.reply('bob', merged.id, 'Two');
    expect(await replies()).toEqual([['reply', 'To be merged', 2, false]]);
    await move(merged.id, 'merge', { into: to.id });
    expect([await replies(), await both('ada')]).toEqual([[['reply', 'Other replies', 2, false]], [1, 1]]);
    await readAll(forum.as.ada);
  });

  test('a mention in the first post of a merged discussion moves along, for those who may see it there', async () => {
    const to = await forum.start('mia', 'Begun before');
    const hidden = await forum.start('mia', 'Begun by staff', 'staff');
    const body = { title: 'Begun again', content: '@ada and @root hello', category_id: 'general' };
    const merged = expectStatus(await forum.as.bob.post('/api/discussions', body), 201).body.discussion;
    await settled(forum);
    expect(await both('ada')).toEqual([1, 1]);
    await move(merged.id, 'merge', { into: to.id });
    expect([await both('ada'), (await notified('ada'))[0]]).toEqual([
      [1, 1],
      ['mention', 'Begun before', 1, false],
    ]);
    const { url } = (await forum.as.ada.get('/api/notifications')).body.notifications[0];
    expect((await forum.as.ada.get(new URL(url).pathname)).headers.get('location')).toMatch(`/d/${to.number}/2`);
    await move(to.id, 'merge', { into: hidden.id });
    expect([await both('ada'), await both('root')]).toEqual([
      [0, 0],
      [1, 1],
    ]);
    await readAll(forum.as.root);
  });

  test('a post that was deleted before its notification is not notified of', async () => {
    const { id } = await forum.start('ada', 'Overtaken');
    const { id: post } = await forum.reply('bob', id, 'Hello');
    await settled(forum);
    await readAll(forum.as.ada);
    expectStatus(await forum.as.bob.delete(`/api/posts/${post}`), 200);
    const late = { type: 'reply', userId: forum.ids.ada, discussionId: id, postId: post, url: '/d/1', key: 'late' };
    const notifications = forum.app.app.service(Notifications);
    await notifications.notify([late]);
    expect(await both('ada')).toEqual([0, 0]);
    expectStatus(await forum.as.mia.post(`/api/posts/${post}/restore`), 200);
    await notifications.notify([late]);
    expect(await both('ada')).toEqual([1, 1]);
  });
});

test('changes to discussions while the plugin was disabled are applied once it is enabled', async () => {
  const { kernel } = forum.app.app;
  const [gone, moved] = [await forum.start('ada', 'Gone meanwhile'), await forum.start('ada', 'Moved meanwhile')];
  const { id: post } = await forum.reply('bob', moved.id, '@root hello');
  await forum.reply('bob', gone.id, 'Hello');
  expect((await notified('ada')).length).toBe(2);
  await kernel.disable('notifications');
  const { category } = (await forum.as.mia.get('/api/categories/staff')).body;
  expectStatus(await forum.as.mia.delete(`/api/discussions/${gone.id}`), 200);
  expectStatus(await forum.as.mia.put(`/api/discussions/${moved.id}`, { category_id: category.id }), 200);
  expectStatus(await forum.as.mia.delete(`/api/posts/${post}`), 200);
  await kernel.enable('notifications');
  await vi.waitFor(async () => expect([await notified('ada'), await notified('root')]).toEqual([[], []]), POLL);
  expect([await countOf(forum.as.ada), await countOf(forum.as.root)]).toEqual([0, 0]);
});

test('content restored while or after the plugin was disabled causes notifications again', async () => {
  const { kernel } = forum.app.app;
  const [whole, part] = [await forum.start('mia', 'Back as a whole'), await forum.start('mia', 'Back in part')];
  const [one, two] = [await forum.reply('ada', whole.id, 'One'), await forum.reply('ada', part.id, 'Two')];
  const caughtUp = () =>
    vi.waitUntil(
      async () =>
        !(await forum.app.app.service(Data).one(sql`select 1 from job where listener = 'notifications/job:catch-up'`)),
      POLL,
    );
  expectStatus(await forum.as.mia.delete(`/api/discussions/${whole.id}`), 200);
  expectStatus(await forum.as.mia.delete(`/api/posts/${two.id}`), 200);
  await kernel.disable('notifications');
  expectStatus(await forum.as.mia.post(`/api/posts/${two.id}/restore`), 200);
  await kernel.enable('notifications');
  await caughtUp();
  expectStatus(await forum.as.mia.post(`/api/discussions/${whole.id}/restore`), 200);
  for (const { id } of [one, two])
    expectStatus(await forum.as.bob.post('/api/reactions/toggle', { post_id: id, reaction: 'like' }), 200);
  await settled(forum);
  const unread = await listOf(forum.as.ada, '?unread=true');
  const titles = unread.filter(({ type }) => type === 'reaction').map(({ title }) => title as string);
  expect(titles.toSorted()).toEqual(['Back as a whole', 'Back in part']);
});
