import { beforeAll, describe, expect, test } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

/** Members mute categories and tags, and ignore each other. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const data = (): Data => forum.app.app.service(Data);
const mute = (name: Name, kind: string, id: string, muted = true) =>
  forum.as[name].post('/api/subscriptions/mute', { kind, subject_id: id, muted });
const mutes = async (name: Name): Promise<any[]> =>
  expectStatus(await forum.as[name].get('/api/users/mutes'), 200).body.mutes;
const begin = async (name: Name, title: string, category = 'general', more: object = {}) => {
  const body = { title, content: `About ${title}`, category_id: category, ...more };
  return expectStatus(await forum.as[name].post('/api/discussions', body), 201).body.discussion;
};
/** Titles of a list, in order. */
const listed = async (name: Name, path: string): Promise<readonly string[]> => {
  const { text } = expectStatus(await forum.as[name].get(path), 200);
  return [...text.matchAll(/class="card-title"[^]*?<a [^>]*>([^<]*)</g)].map(([, title = '']) => title.trim());
};
/** A member’s notifications, newest first. */
const notified = async (name: Name): Promise<readonly string[]> => {
  await forum.app.calm();
  const { notifications } = (await forum.as[name].get('/api/notifications?limit=100')).body;
  return notifications.map(({ type, title }: any) => `${type}: ${title}`);
};
const LISTS = ['/', '/discussions?sort=newest', '/unread', '/unread/new'];

describe('a muted discussion', () => {
  beforeAll(async () => {
    // Discussions started at the moment of a sign-up are not new to that member.
    forum.app.clock.advance(1_000);
    await begin('bob', 'In a muted category', 'help');
    await begin('bob', 'With a muted tag', 'general', { tags: ['keel'] });
    await begin('mia', 'By an ignored member');
    await begin('bob', 'Of interest');
    for (const [kind, id] of [
      ['category', 'help'],
      ['tag', 'keel'],
      ['member', forum.ids.mia],
    ] as const) {
      forum.app.clock.advance(1_000);
      expectStatus(await mute('ada', kind, id), 200);
    }
  });

  test.each(LISTS)('is not listed in %s for the member who muted it', async (path) => {
    expect(await listed('ada', path)).toEqual(['Of interest']);
  });

  test.each(LISTS.slice(0, 2))('is listed in %s for everyone else', async (path) => {
    expect((await listed('bob', path)).slice(0, 4)).toEqual([
      'Of interest',
      'By an ignored member',
      'With a muted tag',
      'In a muted category',
    ]);
  });

  test('is mentioned by a note on the lists that leave it out, and nowhere else', async () => {
    const note = '<a href="/settings/muted">Muted and ignored discussions are hidden</a>';
    for (const path of LISTS) expect((await forum.as.ada.get(path)).text).toContain(note);
    for (const { text } of [
      await forum.as.ada.get('/c/help'),
      ...(await Promise.all(LISTS.map((path) => forum.as.bob.get(path)))),
      await forum.guest.get('/'),
    ])
      expect(text).not.toContain(note);
    await mute('bob', 'category', 'help');
    expect((await forum.as.bob.get('/unread')).text).toContain(note);
    await mute('bob', 'category', 'help', false);
    expect((await forum.as.bob.get('/unread')).text).not.toContain(note);
  });

  test('is listed on the page of its category or tag, and in search', async () => {
    expect(await listed('ada', '/c/help')).toEqual(['In a muted category']);
    expect(await listed('ada', '/t/keel')).toEqual(['With a muted tag']);
    await forum.app.calm();
    expect((await forum.as.ada.get('/search?q=muted')).text).toContain('In a <mark>muted</mark> category');
  });

  test('is not unread', async () => {
    const { discussions } = (await forum.as.ada.get('/api/unread')).body;
    expect(discussions.map(({ title }: any) => title)).toEqual(['Of interest']);
    const inCategory = (await forum.as.ada.get('/api/discussions?category_id=help')).body.discussions;
    expect(inCategory[0]).toMatchObject({ title: 'In a muted category', unread_count: 0 });
  });

  test('leaves no gaps in the pages of lists', async () => {
    const importer = forum.app.app.service(Importer);
    const categories = forum.app.app.service(Categories);
    const bring = async (title: string, categoryId: string, count: number) => {
      const at = (n: number) => new Date(forum.app.clock.now() + n);
      const author = { authorId: forum.ids.bob };
      const post = { ...author, content: title, html: `<p>${title}</p>` };
      await importer.importDiscussions(
        Array.from({ length: count }, (_, n) => ({
          title: `${title} ${n}`,
          categoryId,
          createdAt: at(n),
          ...author,
          posts: [{ ...post, createdAt: at(n) }],
        })),
      );
    };
    const { id: help = '' } = categories.all().find(({ slug }) => slug === 'help') ?? {};
    const { id: general = '' } = categories.all().find(({ slug }) => slug === 'general') ?? {};
    await bring('Heard', general, 25);
    await bring('Unheard', help, 60);
    const first = expectStatus(await forum.as.ada.get('/?sort=newest'), 200).text;
    expect(await listed('ada', '/?sort=newest')).toEqual(Array.from({ length: 20 }, (_, n) => `Heard ${24 - n}`));
    const [, next = ''] = /rel="next" href="([^"]*)"/.exec(first) ?? [];
    const rest = await listed('ada', next.replaceAll('&amp;', '&'));
    expect(rest.slice(0, 5)).toEqual(Array.from({ length: 5 }, (_, n) => `Heard ${4 - n}`));
    expect(rest).not.toContainEqual(expect.stringContaining('Unheard'));
    // With a muted category, pages are still numbered.
    await mute('root', 'category', 'general');
    expect((await listed('root', '/?sort=newest'))[0]).toBe('Unheard 59');
    expect((await forum.as.root.get('/?sort=newest')).text).toContain('href="/?sort=newest&amp;page=4"');
    expect((await forum.as.root.get('/?sort=newest&page=5')).status).toBe(404);
    await mute('root', 'category', 'general', false);
  });
});

describe('notifications about muted subjects', () => {
  test('are not sent for a muted category or tag, except for mentions', async () => {
    expectStatus(
      await forum.as.bob.post('/api/subscriptions/follow', {
        kind: 'member',
        subject_id: forum.ids.ada,
        following: true,
      }),
      200,
    );
    await mute('bob', 'category', 'help');
    const { id } = await begin('bob', 'My own question', 'help');
    const before = await notified('bob');
    await begin('ada', 'Started there', 'help');
    await forum.reply('ada', id, 'A plain reply');
    expect(await notified('bob')).toEqual(before);
    await forum.reply('ada', id, 'Look, @bob');
    expect(await notified('bob')).toEqual(['mention: My own question', ...before]);
    await mute('bob', 'category', 'help', false);
    await forum.reply('ada', id, 'Another reply');
    expect((await notified('bob'))[0]).toBe('reply: My own question');
  });

  test('are not sent for an ignored member, not even for mentions', async () => {
    const { id } = await begin('bob', 'Asked openly');
    const before = await notified('bob');
    await mute('bob', 'member', forum.ids.mia);
    const { id: postId } = await forum.reply('mia', id, 'Look, @bob');
    await forum.as.mia.post('/api/reactions/toggle', { post_id: postId, reaction: 'like' });
    const [first] = (await forum.as.bob.get(`/api/discussions/${id}/posts`)).body.posts;
    await forum.as.mia.post('/api/reactions/toggle', { post_id: first.id, reaction: 'like' });
    expect(await notified('bob')).toEqual(before);
    await forum.reply('ada', id, 'Heard all the same');
    expect((await notified('bob'))[0]).toBe('reply: Asked openly');
  });

  test('are still sent for a moderator’s actions, even if ignored', async () => {
    expectStatus(await forum.as.mia.submit('/mod/members/bob/warn', { reason: 'Mind the tone' }), 303);
    expect((await notified('bob'))[0]).toContain('Mind the tone');
  });
});

describe('posts of an ignored member', () => {
  test('are collapsed for the member who ignores them only', async () => {
    const { id, number, slug } = await begin('ada', 'A talk');
    await forum.reply('mia', id, 'Said by mia');
    const page = async (name: Name) => (await forum.as[name].get(`/d/${number}-${slug}`)).text;
    const folded = /<details class="post-ignored"><summary>Post by mia, whom you ignore<\/summary><\/details>/g;
    expect((await page('bob')).match(folded)).toHaveLength(1);
    expect(await page('bob')).toContain('Said by mia');
    expect(await page('root')).not.toContain('post-ignored"');
    await mute('bob', 'member', forum.ids.mia, false);
    expect(await page('bob')).not.toMatch(folded);
  });
});

describe('muting', () => {
  test('is one of three levels on the page of a category, tag or member, without JavaScript', async () => {
    const form = { kind: 'member', subject_id: forum.ids.bob, level: 'muted' };
    expect((await forum.as.root.get('/u/bob')).text).toMatch(/value="muted" aria-pressed="false"[^]*>Ignored</);
    const sent = await forum.as.root.submit('/follows', form);
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/u/bob']);
    expect((await forum.as.root.get('/u/bob')).text).toMatch(/value="muted" aria-pressed="true"/);
    const category = { kind: 'category', subject_id: 'help', level: 'muted' };
    await forum.as.root.submit('/follows', category);
    expect((await forum.as.root.get('/c/help')).text).toContain('<span>Muted</span>');
    await forum.as.root.submit('/follows', { ...category, level: 'following' });
    expect((await forum.as.root.get('/c/help')).text).toContain('<span>Following</span>');
    expect(await mutes('root')).toEqual([expect.objectContaining({ kind: 'member', name: 'bob', url: '/u/bob' })]);
  });

  test('is available in the menu of a post, and on its author’s card', async () => {
    const { number, slug } = await begin('mia', 'Hers');
    const { text } = await forum.as.ada.get(`/d/${number}-${slug}`);
    const [menu = ''] = /\/p\/[\w-]+\/menu/.exec(text) ?? [];
    expect((await forum.as.root.get(menu)).text).toContain('<span>Ignore mia</span>');
    expect((await forum.as.ada.get(menu)).text).toContain('<span>Stop ignoring mia</span>');
    expect((await forum.as.mia.get(menu)).text).not.toContain('action="/follows"');
    expect((await forum.as.root.get('/u/mia/card')).text).toContain('>Ignore</button>');
    expect((await forum.as.root.get('/members')).text).not.toContain('action="/follows"');
    const form = { kind: 'member', subject_id: forum.ids.mia, level: 'muted', return_to: `/d/${number}/1` };
    expect((await forum.as.root.submit('/follows', form)).headers.get('location')).toBe(`/d/${number}/1`);
    for (const elsewhere of ['//elsewhere.test', '/.//elsewhere.test', '/\\elsewhere.test', 'https://elsewhere.test'])
      expect((await forum.as.root.submit('/follows', { ...form, return_to: elsewhere })).headers.get('location')).toBe(
        '/',
      );
    await mute('root', 'member', forum.ids.mia, false);
  });

  test('is ended by a button in the settings, which list everything muted', async () => {
    const { text } = await forum.as.ada.get('/settings/muted');
    expect([...text.matchAll(/value="normal" aria-label="([^"]*)"/g)].map(([, label]) => label)).toEqual([
      'Stop ignoring mia',
      'Unmute keel',
      'Unmute Help',
    ]);
    const end = { kind: 'member', subject_id: forum.ids.mia, level: 'normal', return_to: '/settings/muted' };
    expect((await forum.as.ada.submit('/follows', end)).headers.get('location')).toBe('/settings/muted');
    expect((await mutes('ada')).map(({ kind }) => kind)).toEqual(['tag', 'category']);
    expect((await forum.guest.get('/settings/muted')).status).toBe(303);
  });

  test('replaces following, and ending one does not affect the other', async () => {
    const follow = (following: boolean) =>
      forum.as.root.post('/api/subscriptions/follow', { kind: 'category', subject_id: 'general', following });
    await follow(true);
    await mute('root', 'category', 'general');
    expect((await forum.as.root.get('/api/users/follows')).body.follows).not.toContainEqual(
      expect.objectContaining({ name: 'General' }),
    );
    expect((await follow(false)).body).toMatchObject({ following: false });
    expect(await mutes('root')).toContainEqual(expect.objectContaining({ name: 'General' }));
    await mute('root', 'category', 'general', false);
    expect(await mutes('root')).not.toContainEqual(expect.objectContaining({ name: 'General' }));
  });

  test('is listed in pages on request, like following', async () => {
    for (const category of ['general', 'help']) await mute('mia', 'category', category);
    const [all, bob] = [await mutes('mia'), forum.as.bob];
    const first = (await forum.as.mia.get('/api/users/mutes?limit=1')).body;
    const rest = (await forum.as.mia.get(`/api/users/mutes?limit=1&cursor=${first.next_cursor}`)).body;
    expect(first).toMatchObject({ mutes: [all[0]], count: 1, hasMore: true });
    expect(rest).toEqual({ success: true, mutes: [all[1]], count: 1, hasMore: false, next_cursor: null });
    expect((await bob.get('/api/users/follows?offset=1000')).body).toMatchObject({ count: 0, hasMore: false });
    for (const list of ['follows', 'mutes']) expect((await bob.get(`/api/users/${list}?limit=0`)).status).toBe(400);
  });

  test('requires a member, and a subject other than themselves that they can see', async () => {
    expect((await mute('ada', 'category', 'staff')).status).toBe(404);
    expect((await mute('ada', 'member', forum.ids.ada)).status).toBe(404);
    expect((await mute('bad', 'category', 'general')).status).toBe(403);
    expect((await forum.guest.get('/api/users/mutes')).status).toBe(401);
  });

  test('is limited to 500 subjects, with a helpful error', async () => {
    await data().all(sql`insert into follow (user_id, kind, subject_id, is_muted, created_at)
      select ${forum.ids.root}, 'member', gen_random_uuid(), true, now() from generate_series(1, 500)`);
    const refused = await mute('root', 'category', 'general');
    expect([refused.status, refused.body.error]).toEqual([
      400,
      'You have muted 500 categories, tags and members; unmute one first',
    ]);
  });

  test('stays within the limit under concurrent requests', async () => {
    const names = ['ada', 'bob', 'mia', 'bad'] as const;
    // Repeated, to make the requests overlap.
    for (let round = 0; round < 4; round++) {
      await data().all(sql`delete from follow where user_id = ${forum.ids.root}`);
      await data().all(sql`insert into follow (user_id, kind, subject_id, is_muted, created_at)
        select ${forum.ids.root}, 'member', gen_random_uuid(), true, now() from generate_series(1, 499)`);
      await Promise.all(names.map(() => data().all(sql`select pg_sleep(0.01)`)));
      const answers = await Promise.all(names.map((name) => mute('root', 'member', forum.ids[name])));
      expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400, 400, 400]);
    }
    await data().all(sql`delete from follow where user_id = ${forum.ids.root}`);
  });

  test('ends when its subject is deleted', async () => {
    const shed = await forum.app.app.service(Categories).save({ name: 'Shed' });
    await mute('ada', 'category', shed.slug);
    await forum.as.root.submit('/admin/categories/delete', { id: shed.id });
    expect((await mutes('ada')).map(({ name }) => name)).toEqual(['keel', 'Help']);
  });
});

describe('the number of statements per page', () => {
  test('does not grow with the number of muted subjects, or for other members', async () => {
    const cost = async (name: Name) => {
      await forum.as[name].get('/');
      await begin('root', `Fresh ${crypto.randomUUID()}`);
      return forum.app.statements(() => forum.as[name].get('/'));
    };
    await mute('bob', 'category', 'announcements');
    const little = await cost('bob');
    await mute('bob', 'tag', 'keel');
    await mute('bob', 'member', forum.ids.mia);
    expect(await cost('bob')).toBe(little);
    expect(await cost('bob')).toBeLessThanOrEqual((await cost('mia')) + 1);
  });
});
