import { beforeAll, describe, expect, test } from 'vitest';
import { Settings, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import type { Client } from 'parley-forum/testing';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const DAY = 86_400_000;

/** Advances the clock between steps; members are seen once, which sets their read start. */
const later = (ms = 120_000): Promise<unknown> => forum.app.clock.advance(ms) as unknown as Promise<unknown>;
const unread = async (client: Client, query = ''): Promise<any[]> =>
  expectStatus(await client.get(`/api/unread${query}`), 200).body.discussions;
const titles = async (name: Name, query = ''): Promise<string[]> =>
  (await unread(forum.as[name], query)).map(({ title }) => title);
const read = (name: Name, id: string, number: number) =>
  forum.as[name].post('/api/read-marks', { read_marks: [{ discussion_id: id, number }] });
const recordOf = async (client: Client, id: string): Promise<any> =>
  expectStatus(await client.get(`/api/discussions/${id}`), 200).body.discussion;
const markOf = async (name: Name, id: string): Promise<[number, number]> => {
  const { last_read_number: last, unread_count: count } = await recordOf(forum.as[name], id);
  return [last, count];
};
const readAll = async (name: Name): Promise<void> =>
  void expectStatus(await forum.as[name].post('/api/read-marks/all', {}), 200);

beforeAll(async () => {
  for (const name of ['ada', 'bob', 'mia', 'root'] as const) await forum.as[name].get('/');
  await later();
});

describe('unread posts', () => {
  test('are those written by others since the read mark; one’s own posts are read', async () => {
    const { id } = await forum.start('ada', 'Counted');
    expect([await markOf('ada', id), await markOf('bob', id)]).toEqual([
      [1, 0],
      [0, 1],
    ]);
    for (const text of ['One', 'Two', 'Three']) await forum.reply('bob', id, text);
    expect([await markOf('ada', id), await markOf('bob', id)]).toEqual([
      [1, 3],
      [4, 0],
    ]);
    expect((await read('ada', id, 3)).body.read_marks).toEqual([
      { discussion_id: id, last_read_number: 3, unread_count: 1 },
    ]);
    expect([await titles('ada'), await titles('bob')]).toEqual([['Counted'], []]);
    await read('ada', id, 4);
    expect(await titles('ada')).toEqual([]);
  });

  test('do not include deleted posts', async () => {
    const { id } = await forum.start('ada', 'With a gap');
    const { id: second } = await forum.reply('bob', id, 'Second');
    const { id: third } = await forum.reply('bob', id, 'Third');
    await forum.as.mia.delete(`/api/posts/${second}`);
    expect(await markOf('ada', id)).toEqual([1, 1]);
    await forum.as.mia.delete(`/api/posts/${third}`);
    expect([await markOf('ada', id), await titles('ada')]).toEqual([[1, 0], []]);
    await forum.as.mia.post(`/api/posts/${third}/restore`);
    expect([await markOf('ada', id), await titles('ada')]).toEqual([[1, 1], ['With a gap']]);
    await readAll('ada');
  });

  test('are not marked in deleted discussions, except for moderators, who can see them', async () => {
    const { id } = await forum.start('ada', 'Gone by now');
    for (const text of ['One', 'Two']) await forum.reply('ada', id, text);
    expect((await forum.as.mia.delete(`/api/discussions/${id}`)).status).toBe(200);
    const marks = async (name: Name): Promise<unknown> => expectStatus(await read(name, id, 9), 200).body.read_marks;
    expect([await marks('bob'), await marks('ada')]).toEqual([[], []]);
    expect(await marks('mia')).toEqual([expect.objectContaining({ discussion_id: id, last_read_number: 3 })]);
  });

  test('do not include a discussion from before the read start until it is opened', async () => {
    const { id } = await forum.start('ada', 'Older than bob’s start');
    await later();
    await readAll('bob');
    await later();
    await forum.reply('ada', id, 'Again');
    expect([await markOf('bob', id), await titles('bob')]).toEqual([[0, 0], []]);
    await read('bob', id, 2);
    await forum.reply('ada', id, 'And again');
    expect([await markOf('bob', id), await titles('bob')]).toEqual([[2, 1], ['Older than bob’s start']]);
    await readAll('bob');
  });

  test('are new for the configured time, and only for members who can see them', async () => {
    await readAll('bob');
    await later();
    await forum.start('ada', 'Lately begun');
    await forum.start('mia', 'Among staff', 'staff');
    expect([await titles('bob', '?new=true'), await titles('bob')]).toEqual([['Lately begun'], ['Lately begun']]);
    await later(31 * DAY);
    for (const name of ['ada', 'bob', 'mia', 'root'] as const) await forum.as[name].login(name, 'Plain-Sailing-42');
    expect(await titles('bob', '?new=true')).toEqual([]);
  });
});

describe('read marks', () => {
  test('only move forward, except when a post is marked unread', async () => {
    const { id } = await forum.start('ada', 'Monotonic');
    const posts = [];
    for (let at = 0; at < 4; at++) posts.push(await forum.reply('ada', id, `Reply ${at}`));
    await Promise.all([3, 5, 1, 4, 2].map((number) => read('bob', id, number)));
    expect(await markOf('bob', id)).toEqual([5, 0]);
    await read('bob', id, 2_000_000);
    const from = expectStatus(await forum.as.bob.post(`/api/posts/${posts[1].id}/unread`), 200).body.read_mark;
    expect(from).toEqual({ discussion_id: id, last_read_number: 2, unread_count: 3 });
    expect(await titles('bob')).toContain('Monotonic');
  });

  test('can be reset to unread in old discussions', async () => {
    const { id, postId } = await forum.start('ada', 'Long past');
    await later(30 * DAY);
    for (const name of ['ada', 'bob', 'mia', 'root'] as const) await forum.as[name].login(name, 'Plain-Sailing-42');
    await readAll('bob');
    expect(await titles('bob')).toEqual([]);
    await forum.as.bob.post(`/api/posts/${postId}/unread`);
    expect([await titles('bob'), await markOf('bob', id)]).toEqual([['Long past'], [0, 1]]);
    await readAll('bob');
  });

  test('can be set for everything at once, or for one category', async () => {
    await later();
    await forum.start('ada', 'In general');
    await forum.start('ada', 'In help', 'help');
    expectStatus(await forum.as.bob.post('/api/read-marks/all', { category_id: 'help' }), 200);
    expect(await titles('bob')).toEqual(['In general']);
    await readAll('bob');
    expect(await titles('bob')).toEqual([]);
    expect((await forum.as.bob.post('/api/read-marks/all', { category_id: 'staff' })).status).toBe(400);
  });

  test('are refused for guests, and for discussions that are missing or hidden', async () => {
    const { id, postId } = await forum.start('mia', 'Staff alone', 'staff');
    expect((await read('bob', id, 1)).body.read_marks).toEqual([]);
    expect((await forum.as.bob.post(`/api/posts/${postId}/unread`)).status).toBe(404);
    expect((await forum.as.bob.submit('/read-marks', { discussion_id: id, number: '1' })).status).toBe(404);
    expect((await read('bob', 'x', 1)).status).toBe(400);
    expect((await read('bob', id, 0)).status).toBe(400);
    const many = Array.from({ length: 101 }, () => ({ discussion_id: id, number: 1 }));
    expect((await forum.as.bob.post('/api/read-marks', { read_marks: many })).status).toBe(400);
    await forum.guest.csrf();
    for (const path of ['/api/read-marks', '/api/read-marks/all', `/api/posts/${postId}/unread`])
      expect((await forum.guest.post(path, {})).status, path).toBe(401);
    expect((await forum.guest.get('/api/unread')).status).toBe(401);
  });
});

describe('pages', () => {
  test('show new posts in rows that link to the first one, below a divider', async () => {
    await readAll('bob');
    const { id, number } = await forum.start('ada', 'Rows and lines');
    await forum.reply('ada', id, 'Second');
    await read('bob', id, 2);
    await later(1_900_000);
    await forum.reply('ada', id, 'Third');
    const home = (await forum.as.bob.get('/')).text;
    expect(home).toMatch(new RegExp(`<a href="/d/${number}/3\\?here=1#post-3"[^>]*>Rows and lines</a>`));
    expect(home).toContain('>1 new</span>');
    const page = (await forum.as.bob.get(`/d/${number}-rows-and-lines`)).text;
    expect(page).toMatch(/id="post-3"[^>]*>\s*<p class="new-since"/);
    expect(page.split('new-since').length).toBe(2);
    await read('bob', id, 3);
    expect((await forum.as.bob.get('/')).text).toMatch(new RegExp(`<a href="/d/${number}-rows-and-lines"`));
  });

  test('show a pinned discussion as read until there is a new post', async () => {
    await readAll('bob');
    const { id, number } = await forum.start('ada', 'House rules');
    await forum.reply('ada', id, 'Second');
    const path = `/d/${number}-house-rules`;
    const isRead = async (): Promise<boolean> =>
      (await forum.as.bob.get('/')).text.includes(`<a class="read" href="${path}"`);
    await read('bob', id, 2);
    expect(await isRead()).toBe(false);
    expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { is_pinned: true }), 200);
    expect(await isRead()).toBe(true);
    await later();
    await forum.reply('ada', id, 'Third');
    expect(await isRead()).toBe(false);
    await read('bob', id, 3);
    expect(await isRead()).toBe(true);
    expect((await forum.as.mia.get('/')).text).not.toContain(`<a class="read" href="${path}"`);
  });

  test('lead from one unread post to the next, also without JavaScript', async () => {
    await readAll('bob');
    await later();
    const first = await forum.start('ada', 'First');
    await later();
    const second = await forum.start('ada', 'Second');
    const go = async (answer: Promise<any>): Promise<string> => (await answer).headers.get('location');
    expect(await go(forum.as.bob.get('/unread/next'))).toBe(`/d/${second.number}/1`);
    expect(await go(forum.as.bob.get(`/unread/next?in=${first.id}`))).toBe(`/d/${first.number}/1`);
    const on = (id: string) => forum.as.bob.submit('/read-marks', { discussion_id: id, number: '1', next: 'true' });
    expect(await go(on(second.id))).toBe(`/d/${first.number}/1`);
    expect(await go(on(first.id))).toBe('/unread');
    expect((await forum.as.bob.get('/unread')).text).toContain('You are all caught up.');
  });

  test('count as read when the next one is opened', async () => {
    const { id, number } = await forum.start('ada', 'Paged');
    for (let at = 0; at < 20; at++) await forum.reply(at % 2 ? 'mia' : 'root', id, `Reply ${at}`);
    await forum.as.bob.get(`/d/${number}-paged`);
    expect(await markOf('bob', id)).toEqual([0, 21]);
    await forum.as.bob.get(`/d/${number}-paged?page=2`);
    await expect.poll(() => markOf('bob', id)).toEqual([20, 1]);
  });

  test('are up to date after reading and writing, even when cached', async () => {
    await readAll('bob');
    const { id } = await forum.start('ada', 'Kept pages');
    const shown = async () => [
      (await forum.as.bob.get('/')).text.match(/class="badge strong unread-count">([^<]*)</)?.[1],
      (await forum.as.bob.get('/unread')).text.includes('Kept pages'),
      (await forum.as.bob.get('/api/discussions?limit=1')).body.discussions[0].unread_count,
    ];
    for (let time = 0; time < 2; time++) expect(await shown()).toEqual(['New', true, 1]);
    await forum.reply('ada', id, 'Another');
    expect(await shown()).toEqual(['New', true, 2]);
    await read('bob', id, 1);
    expect(await shown()).toEqual(['1 new', true, 1]);
    await read('bob', id, 2);
    expect(await shown()).toEqual([undefined, false, 0]);
  });

  test('show at their tabs how many unread and followed discussions there are', async () => {
    await readAll('bob');
    const counts = async (path = '/'): Promise<(string | undefined)[]> => {
      const { text } = await forum.as.bob.get(path);
      return ['unread', 'following'].map(
        (name) =>
          new RegExp(`<a href="/${name}"[^>]*>[^<]*(?:<span class="count">.*?</span>([^<]*)</span>\\s*)?</a>`).exec(
            text,
          )?.[1],
      );
    };
    expect(await counts()).toEqual([undefined, undefined]);
    const { id } = await forum.start('ada', 'Counted at tabs');
    const { id: followed } = await forum.start('bob', 'Counted and followed');
    expect(await counts()).toEqual(['1', undefined]);
    await forum.reply('ada', followed, 'An answer');
    for (const path of ['/', '/unread', '/following', '/drafts', '/bookmarks'])
      expect(await counts(path), path).toEqual(['2', '1']);
    await read('bob', id, 1);
    expect(await counts()).toEqual(['1', '1']);
    await read('bob', followed, 2);
    expect(await counts()).toEqual([undefined, undefined]);
  });

  test('run the same number of statements whatever there is, and none for guests', async () => {
    await readAll('bob');
    const cost = async (path: string, client: Client): Promise<number> => {
      await forum.reply('ada', (await forum.start('ada', `Cost of ${path}`)).id, 'Purges what is kept');
      return forum.app.statements(() => client.get(path));
    };
    for (const path of ['/', '/unread', '/api/unread']) {
      await cost(path, forum.as.bob);
      expect(await cost(path, forum.as.bob), path).toBe(await cost(path, forum.as.bob));
    }
    await forum.guest.get('/');
    expect(await forum.app.statements(() => forum.guest.get('/'))).toBe(0);
    expect((await forum.guest.get('/')).text).not.toContain('unread-count');
    expect((await recordOf(forum.guest, (await forum.start('ada', 'Of guests')).id)).unread_count).toBeUndefined();
  });
});

describe('a reply held for approval', () => {
  test('is read by its author, without marking posts by others as read', async () => {
    const settings = forum.app.app.service(Settings);
    await settings.set({ 'approval.words': ['barnacle'] });
    await readAll('bob');
    await later();
    const { id } = await forum.start('mia', 'While one waits');
    await read('bob', id, 1);
    const wait = async (): Promise<string> => {
      const held = await forum.as.bob.post('/api/posts', { discussion_id: id, content: 'A barnacle' });
      return expectStatus(held, 202).body.held_post.id;
    };
    const approve = async (held: string): Promise<void> =>
      void expectStatus(await forum.as.mia.post(`/api/approval/${held}/approve`), 200);
    await approve(await wait());
    expect(await markOf('bob', id)).toEqual([2, 0]);
    const held = await wait();
    for (const text of ['One', 'Two']) await forum.reply('mia', id, text);
    await approve(held);
    expect([await markOf('bob', id), await titles('bob')]).toEqual([[2, 3], ['While one waits']]);
    await settings.set({ 'approval.words': [] });
    await readAll('bob');
  });
});

describe('moved posts', () => {
  const move = async (id: string, body: object): Promise<any> =>
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/move-posts`, body), 200).body;

  test('are no longer unread in the old discussion, but in the new one', async () => {
    await readAll('ada');
    await later();
    const [from, to] = [await forum.start('mia', 'Less of it'), await forum.start('mia', 'More of it')];
    const posts = [await forum.reply('bob', from.id, 'One'), await forum.reply('bob', from.id, 'Two')];
    await read('ada', from.id, 1);
    await read('ada', to.id, 1);
    expect([await markOf('ada', from.id), await markOf('ada', to.id)]).toEqual([
      [1, 2],
      [1, 0],
    ]);
    await move(from.id, { post_ids: [posts[0].id], discussion_id: to.id });
    expect([await markOf('ada', from.id), await markOf('ada', to.id)]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    await read('ada', from.id, 3);
    expect([await markOf('ada', from.id), await titles('ada')]).toEqual([[3, 0], ['More of it']]);
    expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/merge`, { into: to.id }), 200);
    expect(await markOf('ada', to.id)).toEqual([1, 3]);
    await readAll('ada');
  });

  test('are read by their author, without marking other posts as read', async () => {
    await later();
    const [from, to] = [await forum.start('mia', 'Own words'), await forum.start('mia', 'Words of others')];
    await forum.reply('mia', to.id, 'Not read by bob');
    const post = await forum.reply('bob', from.id, 'Own');
    await move(from.id, { post_ids: [post.id], discussion_id: to.id });
    expect(await markOf('bob', to.id)).toEqual([0, 3]);
    await read('bob', to.id, 2);
    const [more, last] = [await forum.reply('mia', from.id, 'More'), await forum.reply('bob', from.id, 'Last')];
    const { discussion } = await move(from.id, { post_ids: [more.id, last.id], title: 'Anew', category_id: 'general' });
    expect(await markOf('bob', discussion.id)).toEqual([2, 0]);
    const end = await forum.reply('bob', from.id, 'To the end');
    await read('bob', to.id, 3);
    await move(from.id, { post_ids: [end.id], discussion_id: to.id });
    expect(await markOf('bob', to.id)).toEqual([4, 0]);
  });
});

describe('moved posts that were read', () => {
  test('are read in the new discussion for members who have read everything before them', async () => {
    await readAll('ada');
    await later();
    const [from, to] = [await forum.start('mia', 'Taken apart'), await forum.start('mia', 'Put together')];
    const posts = [];
    for (const text of ['One', 'Two', 'Three']) posts.push(await forum.reply('mia', from.id, text));
    await read('ada', from.id, 3);
    await read('root', from.id, 4);
    const [one, two, three] = posts.map(({ id }) => id as string);
    const split = expectStatus(
      await forum.as.mia.post(`/api/discussions/${from.id}/move-posts`, {
        post_ids: [one, two],
        title: 'Of its own',
        category_id: 'general',
      }),
      200,
    ).body.discussion;
    expect([await markOf('ada', split.id), await markOf('root', split.id), await markOf('bob', split.id)]).toEqual([
      [2, 0],
      [2, 0],
      [0, 2],
    ]);
    expect(await titles('ada')).not.toContain('Of its own');
    await read('root', to.id, 1);
    expectStatus(
      await forum.as.mia.post(`/api/discussions/${from.id}/move-posts`, { post_ids: [three], discussion_id: to.id }),
      200,
    );
    // ada has read neither the post nor the one before it in the new discussion.
    expect([await markOf('ada', to.id), await markOf('root', to.id)]).toEqual([
      [0, 2],
      [2, 0],
    ]);
  });
});

test('read marks are deleted once they have not moved for the configured time', async () => {
  const { data, settings } = forum.app.app;
  await settings.set({ 'read-marks.kept_days': 30 });
  const old = await forum.start('ada', 'Long ago');
  await later(31 * DAY);
  await forum.as.ada.login('ada', PASSWORD);
  const young = await forum.start('ada', 'Lately');
  await forum.app.runSchedule('read-marks/job:forget');
  const left = await data.all(
    sql<{ id: string }>`select discussion_id as id from read_mark where discussion_id in (${old.id}, ${young.id})`,
  );
  expect(left).toEqual([{ id: young.id }]);
});

describe('an import', () => {
  // Their sessions have expired by now.
  beforeAll(async () => {
    for (const name of ['ada', 'bob'] as const) await forum.as[name].login(name, PASSWORD);
  });

  test('brings read marks along: only later posts and newer discussions are unread', async () => {
    const { kernel } = forum.app.app;
    const { ada, bob } = forum.ids;
    const now = forum.app.clock.now();
    const at = (days: number): Date => new Date(now - days * DAY);
    const general = kernel
      .service(Categories)!
      .all()
      .find(({ slug }) => slug === 'general')!;
    const { id: newcomer } = await kernel.service(Accounts)!.create({
      username: 'nell',
      email: 'nell@forum.test',
      password: PASSWORD,
      groupId: 'member',
    });
    const nell = forum.app.client();
    const made = (title: string, days: readonly number[], marks?: readonly object[]) => ({
      title,
      categoryId: general.id,
      authorId: ada,
      createdAt: at(days[0]!),
      posts: days.map((day) => ({ authorId: ada, content: title, html: `<p>${title}</p>`, createdAt: at(day) })),
      ...(marks && { fields: { last_read_number: marks } }),
    });
    const mark = (number: number, days: number, user = newcomer) => ({
      user_id: user,
      last_read_number: number,
      read_at: at(days).toISOString(),
    });
    const imported = [
      made('Imported, old', [20, 15]),
      made('Imported, begun', [14, 9, 3, 2], [mark(2, 8), mark(3, 2, bob)]),
      made('Imported, read', [14, 9], [mark(99, 4)]),
      made('Imported, new', [5]),
    ];
    await kernel.service(Importer)!.importDiscussions(imported);
    await nell.login('nell', PASSWORD);
    const found = (await unread(nell)).filter(({ title }) => title.startsWith('Imported'));
    expect(found.map(({ title, last_read_number: read, unread_count: count }) => [title, read, count])).toEqual([
      ['Imported, begun', 2, 2],
      ['Imported, new', 0, 1],
    ]);
    const { discussions } = (await nell.get('/api/discussions?limit=100')).body;
    const whole = discussions.find(({ title }: { title: string }) => title === 'Imported, read');
    expect([whole.last_read_number, whole.unread_count]).toEqual([2, 0]);
    const begun = (await unread(forum.as.bob)).find(({ title }) => title === 'Imported, begun');
    expect([begun.last_read_number, begun.unread_count]).toEqual([3, 1]);
    const many = Array.from({ length: 100 }, (_, at) => made(`Imported, number ${at}`, [1]));
    await kernel.service(Importer)!.importDiscussions(many);
    expect((await nell.get('/unread')).text).toMatch(/<\/span>99\+<\/span>\s*<\/a>/);
    const wrong = made('Imported, wrong', [1], [{ ...mark(1, 1), user_id: 'nobody' }]);
    await expect(kernel.service(Importer)!.importDiscussions([wrong])).rejects.toThrow('last_read_number');
  });

  test('is the only way to create a discussion with read marks', async () => {
    const discussion = { title: 'Sent with marks', content: 'Text', category_id: 'general' };
    const marks = [{ user_id: forum.ids.bob, last_read_number: 1, read_at: new Date().toISOString() }];
    const { body } = await forum.as.ada.post('/api/discussions', { ...discussion, last_read_number: marks });
    expect(await markOf('bob', body.discussion.id)).toEqual([0, 1]);
    const { paths } = (await forum.guest.get('/api/openapi.json')).body;
    expect(JSON.stringify(paths['/api/discussions'].post.requestBody)).not.toContain('last_read_number');
  });
});

test('all old read marks are deleted when there are many, and no others', async () => {
  const { data, settings } = forum.app.app;
  await settings.set({ 'read-marks.kept_days': 30 });
  const mark = (count: number, days: number): Promise<unknown> =>
    data.all(sql`insert into read_mark (user_id, discussion_id, last_read_number, read_at)
      select ${forum.ids.ada}::uuid, gen_random_uuid(), 1, ${new Date(forum.app.clock.now() - days * DAY)}::timestamptz
      from generate_series(1, ${count}::integer)`);
  await mark(2_500, 1);
  await mark(2_500, 31);
  await forum.app.runSchedule('read-marks/job:forget');
  const month = new Date(forum.app.clock.now() - 30 * DAY);
  expect(
    await data.one(sql`select count(*) filter (where read_at < ${month})::integer as old, count(*) >= 2500 as kept
      from read_mark`),
  ).toEqual({ old: 0, kept: true });
});

describe('a row of the unread lists', () => {
  test('has a button that marks its discussion as read, without JavaScript', async () => {
    await readAll('bob');
    await later();
    const { id } = await forum.start('ada', 'Read from its row');
    await forum.start('ada', 'Left alone');
    for (const path of ['/unread', '/unread/new?category=general'])
      expect((await forum.as.bob.get(path)).text).toContain(
        `name="discussion_id" value="${id}"><input type="hidden" name="number" value="1"><input type="hidden" name="return_to" value="${path}">`,
      );
    for (const path of ['/', '/c/general'])
      expect((await forum.as.bob.get(path)).text).not.toContain('class="card-read"');
    const form = { discussion_id: id, number: '1', return_to: '/unread/new' };
    const sent = await forum.as.bob.submit('/read-marks', form);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/unread/new']);
    expect(await titles('bob')).toEqual(['Left alone']);
    const away = await forum.as.bob.submit('/read-marks', { ...form, return_to: 'https://elsewhere.test/' });
    expect(away.headers.get('location')).not.toContain('elsewhere');
    expect((await forum.guest.submit('/read-marks', form)).status).toBe(401);
  });

  test('“Mark all as read” is above both lists while they are whole, and leads back', async () => {
    await forum.start('ada', 'One of all');
    for (const path of ['/unread', '/unread/new']) {
      const text = (await forum.as.bob.get(path)).text;
      expect(text).toMatch(/action="\/read-marks\/all"/);
      expect(text).toContain(`name="return_to" value="${path}"`);
      expect((await forum.as.bob.get(`${path}?category=general`)).text).not.toContain('action="/read-marks/all"');
    }
    const sent = await forum.as.bob.submit('/read-marks/all', { return_to: '/unread/new' });
    expect(sent.headers.get('location')).toBe('/unread/new');
    expect(await titles('bob')).toEqual([]);
  });
});
