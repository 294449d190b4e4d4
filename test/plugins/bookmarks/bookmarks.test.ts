import { describe, expect, test, vi } from 'vitest';
import { Settings, sql } from 'parley-forum';
import { leastOf, type Client } from 'parley-forum/testing';
import { chosenTime } from '../../../plugins/bookmarks/site-time.ts';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const NOW = Date.parse('2026-01-15T12:00:00Z');
const inMinutes = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();

const keep = async (name: Name, body: object): Promise<any> =>
  expectStatus(await forum.as[name].post('/api/bookmarks', body), 201).body.bookmark;
const listed = async (client: Client, query = ''): Promise<any> =>
  expectStatus(await client.get(`/api/bookmarks${query}`), 200).body;
const titles = async (name: Name, query = ''): Promise<string[]> =>
  (await listed(forum.as[name], query)).bookmarks.map(({ discussion }: any) => discussion.title);
const page = async (path: string, name: Name): Promise<string> =>
  expectStatus(await forum.as[name].get(path), 200).text;

describe('a bookmark', () => {
  test('marks a post or a discussion once, with a note and a reminder', async () => {
    const { id, number, postId } = await forum.start('ada', 'Anchors');
    const made = await keep('bob', {
      discussion_id: String(number),
      note: '  Chain first\r\n',
      remind_at: inMinutes(60),
    });
    expect(made).toEqual({
      id: made.id,
      note: 'Chain first',
      remind_at: inMinutes(60),
      reminded_at: null,
      created_at: inMinutes(0),
      post: {
        id: postId,
        number: 1,
        excerpt: 'About Anchors',
        url: `http://forum.test/d/${number}/1`,
        author: { id: forum.ids.ada, username: 'ada', display_name: null, avatar_url: null },
        created_at: inMinutes(0),
      },
      discussion: { id, number, title: 'Anchors', url: `http://forum.test/d/${number}-anchors` },
    });
    expect(await keep('bob', { post_id: postId })).toEqual(made);
    expect((await keep('bob', { post_id: postId, note: '' })).note).toBe('');
    expect((await listed(forum.as.bob)).bookmarks.map((one: any) => one.id)).toEqual([made.id]);
  });

  test('is shown on the post to its owner only', async () => {
    const { id, postId, number } = await forum.start('ada', 'Seen by me');
    const { id: bookmark } = await keep('mia', { post_id: postId });
    const fieldFor = async (client: Client) => (await client.get(`/api/discussions/${id}`)).body.posts[0].bookmark?.id;
    expect([await fieldFor(forum.as.mia), await fieldFor(forum.as.bob), await fieldFor(forum.guest)]).toEqual([
      bookmark,
      undefined,
      undefined,
    ]);
    expect(await page(`/d/${number}-seen-by-me`, 'mia')).toContain(`href="/bookmarks/${bookmark}"`);
    expect(await page(`/d/${number}-seen-by-me`, 'bob')).not.toContain(bookmark);
    expect(await page(`/p/${postId}/menu`, 'mia')).toContain('Remove bookmark');
    expect((await forum.guest.get(`/d/${number}-seen-by-me`)).text).not.toContain('bookmark-badge');
  });

  test('is changed and removed by its owner only', async () => {
    const { postId } = await forum.start('ada', 'Changed');
    const { id } = await keep('bob', { post_id: postId, note: 'Before', remind_at: inMinutes(5) });
    for (const body of [{ note: 'Hers' }, undefined]) {
      const answer = await (body
        ? forum.as.ada.put(`/api/bookmarks/${id}`, body)
        : forum.as.ada.delete(`/api/bookmarks/${id}`));
      expect(answer.status).toBe(404);
    }
    await forum.as.ada.submit('/bookmarks/remove', { 'ids[]': id });
    const changed = await forum.as.bob.put(`/api/bookmarks/${id}`, { note: 'After' });
    expect(changed.body.bookmark).toMatchObject({ note: 'After', remind_at: inMinutes(5) });
    expect((await forum.as.bob.put(`/api/bookmarks/${id}`, { remind_at: null })).body.bookmark.remind_at).toBeNull();
    expect((await forum.as.bob.delete(`/api/bookmarks/${id}`)).status).toBe(200);
    expect((await forum.as.bob.delete(`/api/bookmarks/${id}`)).status).toBe(404);
  });

  test.each([
    ['neither a post nor a discussion', {}, 404],
    ['a note that is too long', { note: 'x'.repeat(501) }, 400],
    ['a reminder in the past', { remind_at: inMinutes(0) }, 400],
    ['a reminder too far in the future', { remind_at: '2040-01-01T00:00:00Z' }, 400],
    ['a reminder that is not a time', { remind_at: 'tomorrow' }, 400],
  ])('is refused with %s', async (_what, body, status) => {
    const { postId } = await forum.start('ada', 'Refused');
    const about = 'note' in body || 'remind_at' in body ? { post_id: postId } : {};
    expect((await forum.as.bob.post('/api/bookmarks', { ...about, ...body })).status).toBe(status);
  });

  test('is refused beyond the maximum per member, and beyond the rate limit', async () => {
    const [first, second] = [await forum.start('ada', 'First'), await forum.start('ada', 'Second')];
    const settings = forum.app.app.service(Settings);
    await settings.set({ 'bookmarks.most': 1 });
    await keep('root', { post_id: first.postId });
    const refused = await forum.as.root.post('/api/bookmarks', { post_id: second.postId });
    expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining('1 bookmarks')]);
    await keep('root', { post_id: first.postId, note: 'Still mine' });
    await settings.reset(['bookmarks.most']);
    await settings.set({ 'bookmarks.rate_limit': 1 });
    const statuses = await Promise.all(
      [1, 2, 3].map(async () => (await forum.as.bad.post('/api/bookmarks', { post_id: first.postId })).status),
    );
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 429, 429]);
    expect((await forum.as.bad.submit(`/p/${first.postId}/bookmark`, { kept: 'true' })).status).toBe(429);
    await settings.reset(['bookmarks.rate_limit']);
  });
});

describe('the list of bookmarks', () => {
  test('has a total order, and is read in pages', async () => {
    const made: string[] = [];
    for (const [at, title] of ['One', 'Two', 'Three', 'Four'].entries()) {
      const { postId } = await forum.start('bob', title);
      const reminder = at === 2 ? { remind_at: inMinutes(30) } : {};
      made.push((await keep('ada', { post_id: postId, note: `Rope ${at}`, ...reminder })).id);
    }
    // The clock is stopped, so all were created at the same time.
    expect(await titles('ada')).toEqual(['Four', 'Three', 'Two', 'One']);
    expect(await titles('ada', '?sort=oldest')).toEqual(['One', 'Two', 'Three', 'Four']);
    expect(await titles('ada', '?sort=reminder')).toEqual(['Three', 'One', 'Two', 'Four']);
    for (const sort of ['newest', 'oldest', 'reminder']) {
      const found: string[] = [];
      for (let cursor = ''; ;) {
        const answer = await listed(forum.as.ada, `?limit=1&sort=${sort}${cursor && `&cursor=${cursor}`}`);
        found.push(...answer.bookmarks.map(({ id }: any) => id));
        if (!answer.hasMore) break;
        cursor = answer.next_cursor;
      }
      expect(found.toSorted()).toEqual(made.toSorted());
    }
    expect(await titles('ada', '?limit=2&offset=1')).toEqual(['Three', 'Two']);
    const { next_cursor: cursor } = await listed(forum.as.ada, '?limit=1&sort=oldest');
    expect((await forum.as.ada.get(`/api/bookmarks?sort=newest&cursor=${cursor}`)).status).toBe(400);
  });

  test('is searched in notes, titles and texts for all words', async () => {
    expect(await titles('ada', '?q=ROPE%201')).toEqual(['Two']);
    expect(await titles('ada', '?q=three')).toEqual(['Three']);
    expect(await titles('ada', '?q=about%20rope%20four')).toEqual(['Four']);
    for (const q of ['rope%25', 'r_pe', 'rope%20nothing', '%5C']) expect(await titles('ada', `?q=${q}`)).toEqual([]);
  });

  test('is searched only in the beginnings of texts, and for a limited number of words', async () => {
    const { id } = await forum.start('bob', 'A long one');
    const post = await forum.reply('bob', id, `beginning ${'and so on '.repeat(1_000)} end`);
    await keep('ada', { post_id: post.id });
    const count = async (q: string) => (await listed(forum.as.ada, `?q=${encodeURIComponent(q)}`)).count;
    expect([await count('beginning'), await count('end'), await count(`${'so '.repeat(8)}end`)]).toEqual([1, 0, 1]);
  });

  test('omits what is no longer visible, does not count it, and shows it again later', async () => {
    const [moved, gone] = [await forum.start('ada', 'Moved away'), await forum.start('ada', 'Deleted')];
    const { id: reply } = await forum.reply('ada', gone.id, 'A reply');
    for (const postId of [moved.postId, gone.postId, reply]) await keep('bad', { post_id: postId });
    const shown = async () => [await titles('bad'), /(\d+) bookmarks?</.exec(await page('/bookmarks', 'bad'))?.[1]];
    const before = await titles('bad');
    await forum.as.mia.put(`/api/discussions/${moved.id}`, { category_id: 'staff' });
    await forum.as.mia.delete(`/api/posts/${reply}`);
    expect(await shown()).toEqual([before.filter((title) => title !== 'Moved away').slice(1), '2']);
    await forum.as.mia.delete(`/api/discussions/${gone.id}`);
    expect((await listed(forum.as.bad)).bookmarks.map(({ post }: any) => post.id)).not.toContain(gone.postId);
    const hidden = await keep('mia', { post_id: moved.postId });
    expect(hidden.discussion.title).toBe('Moved away');
    await forum.as.mia.post(`/api/discussions/${gone.id}/restore`, {});
    await forum.as.mia.post(`/api/posts/${reply}/restore`, {});
    await forum.as.mia.put(`/api/discussions/${moved.id}`, { category_id: 'general' });
    expect(await titles('bad')).toEqual(before);
  });

  test('takes as many statements for many bookmarks as for one', async () => {
    const asked = (path: string) => leastOf(() => forum.app.statements(() => forum.as.ada.get(path)));
    expect(await asked('/api/bookmarks?limit=4')).toBe(await asked('/api/bookmarks?limit=1'));
    const { id } = await forum.start('ada', 'Long');
    for (let at = 0; at < 6; at++) await keep('ada', { post_id: (await forum.reply('bob', id, `Reply ${at}`)).id });
    const read = (limit: number) =>
      leastOf(async () => {
        await forum.app.app.cache.purge(`discussion:${id}`);
        return forum.app.statements(() => forum.as.ada.get(`/api/discussions/${id}?limit=${limit}`));
      });
    expect(await read(7)).toBe(await read(2));
    await Promise.all(
      (await listed(forum.as.ada)).bookmarks.map(({ id: one }: any) => forum.as.ada.delete(`/api/bookmarks/${one}`)),
    );
  });
});

describe('pages', () => {
  test('add and remove a bookmark without JavaScript', async () => {
    const { number, postId } = await forum.start('ada', 'Without script');
    const sent = await forum.as.mia.submit(`/p/${postId}/bookmark`, { kept: 'true' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/d/${number}/1`]);
    expect(await titles('mia')).toContain('Without script');
    await forum.as.mia.submit(`/p/${postId}/bookmark`, { kept: 'false' });
    expect(await titles('mia')).not.toContain('Without script');
    const hidden = await forum.start('mia', 'Staff only', 'staff');
    expect((await forum.as.bob.submit(`/p/${hidden.postId}/bookmark`, { kept: 'true' })).status).toBe(404);
    expect((await forum.guest.submit(`/p/${postId}/bookmark`, { kept: 'true' })).status).toBe(401);
  });

  test('change note and reminder in the site’s time zone, and show a refused form again', async () => {
    const settings = forum.app.app.service(Settings);
    await settings.set({ 'site.timezone': 'Europe/Berlin' });
    const { postId } = await forum.start('ada', 'By form');
    const { id } = await keep('bob', { post_id: postId });
    const long = `${'é'.repeat(498)}\r\n!`;
    const saved = await forum.as.bob.submit(`/bookmarks/${id}`, { note: long, remind_at: '2026-07-01T09:00' });
    expect([saved.status, saved.headers.get('location')]).toEqual([303, '/bookmarks']);
    expect((await listed(forum.as.bob)).bookmarks.find((one: any) => one.id === id)).toMatchObject({
      note: long.replace('\r', ''),
      remind_at: '2026-07-01T07:00:00.000Z',
    });
    expect(await page(`/bookmarks/${id}`, 'bob')).toContain('value="2026-07-01T09:00"');
    const refused = await forum.as.bob.submit(`/bookmarks/${id}`, { note: 'Kept text', remind_at: '2020-01-01T09:00' });
    expect([
      refused.status,
      refused.text.includes('Kept text'),
      refused.text.includes('must be in the future'),
    ]).toEqual([400, true, true]);
    // What the field cannot express is kept unless edited: seconds, and which of the two hours when clocks go back.
    for (const remind_at of ['2026-10-25T01:30:00.000Z', '2026-10-26T01:30:45.123Z']) {
      expectStatus(await forum.as.bob.put(`/api/bookmarks/${id}`, { remind_at }), 200);
      const [, shown = ''] =
        /name="remind_at"[^>]* value="([^"]*)"/.exec((await forum.as.bob.get(`/bookmarks/${id}`)).text) ?? [];
      expect(shown).toMatch(/T02:30$/);
      expectStatus(await forum.as.bob.submit(`/bookmarks/${id}`, { note: 'Touched', remind_at: shown }), 303);
      expect((await listed(forum.as.bob)).bookmarks.find((one: any) => one.id === id)).toMatchObject({
        note: 'Touched',
        remind_at,
      });
    }
    await forum.as.bob.submit(`/bookmarks/${id}`, { note: '', remind_at: '' });
    expect((await listed(forum.as.bob)).bookmarks.find((one: any) => one.id === id).remind_at).toBeNull();
    await settings.reset(['site.timezone']);
  });

  test('offer ready choices of a reminder, in the morning of the member’s time zone', async () => {
    const { postId } = await forum.start('ada', 'Chosen');
    const { id } = await keep('bob', { post_id: postId, remind_at: inMinutes(60) });
    // It is the 16th there already.
    expectStatus(await forum.as.bob.put(`/api/users/${forum.ids.bob}`, { timezone: 'Pacific/Auckland' }), 200);
    const form = await page(`/bookmarks/${id}`, 'bob');
    for (const [choice, label, day] of [
      ['tomorrow', 'Tomorrow morning', 'Sat, Jan 17'],
      ['week', 'Next week', 'Fri, Jan 23'],
      ['month', 'In a month', 'Mon, Feb 16'],
    ])
      expect(form).toMatch(new RegExp(`name="remind" value="${choice}">${label} <small[^>]*>${day}<`));
    // Enter in a field presses the first button, which keeps to the date in the field.
    expect(/<form[^>]*\/bookmarks\/[^>]*>[^]*?(<button[^>]*>)/.exec(form)?.[1]).toBe(
      '<button class="hidden" tabindex="-1" aria-hidden="true">',
    );
    for (const [remind, expected] of [
      ['tomorrow', '2026-01-16T20:00:00.000Z'],
      ['week', '2026-01-22T20:00:00.000Z'],
      ['month', '2026-02-15T20:00:00.000Z'],
    ] as const) {
      const sent = { note: `For ${remind}`, remind_at: '2026-07-01T09:00', remind };
      expect((await forum.as.bob.submit(`/bookmarks/${id}`, sent)).status).toBe(303);
      expect((await listed(forum.as.bob)).bookmarks.find((one: any) => one.id === id)).toMatchObject({
        note: `For ${remind}`,
        remind_at: expected,
      });
    }
    expect((await forum.as.bob.submit(`/bookmarks/${id}`, { note: 'x', remind: 'never' })).status).toBe(400);
    expectStatus(await forum.as.bob.put(`/api/users/${forum.ids.bob}`, { timezone: null }), 200);
  });

  test.each([
    ['2026-01-31T08:00:00Z', '2026-02-28T09:00'],
    ['2027-12-31T08:00:00Z', '2028-01-31T09:00'],
    ['2028-01-30T08:00:00Z', '2028-02-29T09:00'],
  ])('know the last day of a month that is shorter: a month after %s is %s', (now, then) => {
    expect(chosenTime('month', new Date(now), 'UTC')).toBe(then);
  });

  test('remove several at once, and show what to do when there are none', async () => {
    const ids: string[] = [];
    for (const title of ['Three of them', 'Two of them', 'One of them'])
      ids.push((await keep('root', { post_id: (await forum.start('ada', title)).postId })).id);
    expect((await forum.as.root.submit('/bookmarks/remove', {})).status).toBe(303);
    expect((await forum.as.root.get('/bookmarks')).text).toMatch(/class="notice info"[^]*?Nothing selected/);
    const all = (await listed(forum.as.root)).bookmarks.map(({ id }: any) => id);
    expect(all).toEqual(expect.arrayContaining(ids));
    const body = new URLSearchParams(all.map((id: string) => ['ids[]', id]));
    body.set('_csrf', await forum.as.root.csrf());
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const sent = await forum.as.root.request('POST', '/bookmarks/remove', {
      body: new TextEncoder().encode(body.toString()),
      headers,
    });
    expect(sent.status).toBe(303);
    const empty = await page('/bookmarks', 'root');
    expect(empty).toMatch(/<a href="\/">All<\/a>.*<a href="\/bookmarks" aria-current="page">Bookmarks<\/a>/s);
    expect(await page('/', 'root')).toContain('<a href="/bookmarks">Bookmarks</a>');
    expect(empty).toContain(`${all.length} bookmarks removed`);
    expect(empty).toContain('No bookmarks yet');
    expect((await forum.guest.get('/bookmarks')).headers.get('location')).toMatch(/^\/login/);
  });
});

const OWN = sql`listener = 'bookmarks/job:remind'`;

describe('a reminder', () => {
  const reminders = async (name: Name): Promise<any[]> =>
    (await forum.as[name].get('/api/notifications?limit=100')).body.notifications.filter(
      ({ type }: any) => type === 'bookmark_reminder',
    );
  const soon = (milliseconds: number): string => new Date(NOW + milliseconds).toISOString();

  test('is sent at its time, once, even if the bookmark was changed', async () => {
    const { postId, number, id } = await forum.start('ada', 'Remembered');
    const { id: bookmark } = await keep('bob', { post_id: postId, remind_at: soon(60_000) });
    await forum.as.bob.put(`/api/bookmarks/${bookmark}`, { remind_at: soon(150) });
    await forum.as.bob.put(`/api/bookmarks/${bookmark}`, { note: 'Only the note' });
    await vi.waitFor(async () => expect(await reminders('bob')).toHaveLength(1), 10_000);
    expect((await reminders('bob'))[0]).toMatchObject({
      title: 'Remembered',
      url: `http://forum.test/d/${number}/1`,
      discussion_id: id,
      count: 1,
    });
    const [found] = (await listed(forum.as.bob)).bookmarks.filter((one: any) => one.id === bookmark);
    expect(found).toMatchObject({ remind_at: null, reminded_at: inMinutes(0), note: 'Only the note' });
  });

  test('is not sent if it was removed, or if the post is not visible', async () => {
    const [kept, dropped, hidden, last] = [
      await forum.start('ada', 'Taken back'),
      await forum.start('ada', 'Dropped'),
      await forum.start('ada', 'Hidden meanwhile'),
      await forum.start('ada', 'The last'),
    ];
    const at = { remind_at: inMinutes(60) };
    const first = await keep('mia', { post_id: kept.postId, ...at });
    const second = await keep('mia', { post_id: dropped.postId, ...at });
    await keep('ada', { post_id: hidden.postId, ...at });
    await forum.as.mia.put(`/api/bookmarks/${first.id}`, { remind_at: null });
    await forum.as.mia.delete(`/api/bookmarks/${second.id}`);
    await forum.as.mia.put(`/api/discussions/${hidden.id}`, { category_id: 'staff' });
    await keep('mia', { post_id: last.postId, ...at });
    await runDue();
    expect((await reminders('mia')).map(({ post_id: id }) => id)).toEqual([last.postId]);
    expect(await reminders('ada')).toEqual([]);
  });
});

test('a reminder that is due while its post is deleted is sent once the post is restored', async () => {
  const about = [await forum.start('ada', 'A post of it is gone'), await forum.start('ada', 'It is gone as a whole')];
  const reply = await forum.reply('ada', about[0]!.id, 'Gone for a while');
  const posts: readonly string[] = [reply.id, about[1]!.postId];
  for (const id of posts) await keep('bob', { post_id: id, remind_at: inMinutes(60) });
  const paths = [`/api/posts/${reply.id}`, `/api/discussions/${about[1]!.id}`];
  const reminded = async (): Promise<string[]> =>
    (await forum.as.bob.get('/api/notifications?limit=100')).body.notifications
      .filter(({ type, post_id: id }: any) => type === 'bookmark_reminder' && posts.includes(id))
      .map(({ post_id: id }: any) => id)
      .toSorted();
  for (const path of paths) await forum.as.mia.delete(path);
  await dueNow();
  const waiting = () =>
    forum.app.app.data.all(sql`select 1 from job where ${OWN} and run_at > now() + interval '1 hour'`);
  await vi.waitFor(async () => expect(await waiting()).toHaveLength(2), 10_000);
  expect(await reminded()).toEqual([]);
  for (const path of paths) await forum.as.mia.post(`${path}/restore`);
  await runDue();
  expect(await reminded()).toEqual(posts.toSorted());
});

/** Runs every pending reminder as if it were due. */
async function runDue(): Promise<void> {
  await dueNow();
  const { data } = forum.app.app;
  await vi.waitFor(async () => expect(await data.all(sql`select 1 from job where ${OWN}`)).toEqual([]), 10_000);
}
async function dueNow(): Promise<void> {
  const { data, jobs } = forum.app.app;
  await data.all(sql`update job set run_at = now() where ${OWN}`);
  await jobs.retry('bookmarks/job:remind');
}
