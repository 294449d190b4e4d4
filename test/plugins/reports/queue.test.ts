import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { leastOf } from 'parley-forum/testing';
import { settled } from '../audit/settled.ts';
import { useForum, type Name } from '../discussions/forum.ts';

const forum = useForum({ 'reports.rate_limit': 1_000 });
let postId: string;
let id: string;

const report = async (name: Name, target: string): Promise<string> =>
  (await forum.as[name].post('/api/reports', { post_id: target, reason: 'abuse', note: 'See there' })).body.report.id;
const post = (name: Name, path: string, form: Record<string, string> = {}, of = id) =>
  forum.as[name].submit(`/mod/reports/${of}${path}`, form);
const shown = async (name: Name = 'mia', of = id) => (await forum.as[name].get(`/mod/reports/${of}`)).text;
const claimed = async () => (await forum.as.mia.get('/api/reports?limit=1')).body.reports[0].claimed_by?.username;

beforeEach(async () => {
  ({ postId } = await forum.start('ada', 'Storm'));
  id = await report('bob', postId);
});

describe('the author of a reported post', () => {
  const facts = (text: string): readonly string[] =>
    [...text.matchAll(/<p class="meta">Joined[\s\S]*?<\/p>/g)].map(([one]) => one.replaceAll(/<[^>]*>|\s+/g, ' '));
  const queue = async (name: Name = 'mia') => facts((await forum.as[name].get('/mod/reports')).text);

  test('is shown with when they joined, how much they wrote, and what is against them', async () => {
    const discussion = await forum.start('bob', 'Mutiny');
    const about = await report('ada', discussion.postId);
    expect((await queue())[0]).toMatch(/\d+ posts? · no upheld reports or sanctions/);
    await post('mia', '', { status: 'resolved' }, about);
    await forum.as.mia.submit('/mod/members/bob/warn', { reason: 'Rude' });
    await forum.as.mia.submit('/mod/members/bob/suspend', { reason: 'Rude', days: '2' });
    await settled(forum.app);
    const next = await report('ada', discussion.postId);
    const expected = /1 report upheld · 1 warning · 1 suspension .*Suspended until/;
    expect((await queue())[0]).toMatch(expected);
    expect(facts(await shown('mia', next))[0]).toMatch(expected);
    await forum.as.mia.submit('/mod/members/bob/release', { reason: 'Over' });
    expect((await queue())[0]).not.toContain('Suspended until');
  });

  test('is not shown with the number of posts that the moderator may not read', async () => {
    const board = await forum.app.app.service(Categories).save({ name: 'Board', view: ['admin'], create: ['admin'] });
    await report('ada', (await forum.start('root', 'Open')).postId);
    const count = async (): Promise<string> => / (\d+) posts? /.exec((await queue())[0]!)![1]!;
    const before = await count();
    await forum.start('root', 'Behind closed doors', board.id);
    expect(await count()).toBe(before);
  });

  test('takes as many SQL statements for many reports as for few', async () => {
    const least = () => leastOf(() => forum.app.statements(() => forum.as.mia.get('/mod/reports')));
    const few = await least();
    for (const [who, reporter] of [
      ['bob', 'ada'],
      ['root', 'ada'],
      ['ada', 'bob'],
    ] as const)
      await report(reporter, (await forum.start(who, `By ${who}`)).postId);
    expect(await least()).toBe(few);
  });
});

describe('a report', () => {
  test('has a page with the post, the reporter, their note, and the possible actions', async () => {
    const text = await shown();
    for (const words of [
      'About Storm',
      'See there',
      `href="/p/${postId}/delete"`,
      `href="/p/${postId}/edit"`,
      'value="lock"',
      '/mod/members/ada',
    ])
      expect(text).toContain(words);
    expect((await forum.as.mia.get('/mod/reports')).text).toContain(`href="/mod/reports/${id}"`);
    await forum.as.mia.delete(`/api/posts/${postId}`);
    expect(await shown()).toContain('The post is deleted');
  });

  test('is claimed by one moderator, who is shown to the others, and can be released', async () => {
    const [first, second] = await Promise.all([post('mia', '/claim'), post('root', '/claim')]);
    expect([first.status, second.status].toSorted((a, b) => a - b)).toEqual([303, 409]);
    const [winner, other] = first.status === 303 ? (['mia', 'root'] as const) : (['root', 'mia'] as const);
    expect(await claimed()).toBe(winner);
    expect((await post(winner, '/claim')).status).toBe(303);
    expect(await shown(other)).toContain(`<bdi>${winner}</bdi>`);
    expect((await post(other, '/release')).status).toBe(303);
    expect(await claimed()).toBeUndefined();
    expect((await post(other, '/claim')).status).toBe(303);
  });

  test('does not reveal to the reporter who claimed it, and can be handled by any moderator', async () => {
    await post('mia', '/claim');
    const again = await forum.as.bob.post('/api/reports', { post_id: postId, reason: 'abuse' });
    expect(again.body.report).toMatchObject({ id, claimed_by: null, claimed_at: null });
    expect((await post('root', '', { status: 'resolved', note: 'Done' })).status).toBe(303);
    expect((await post('mia', '/claim')).status).toBe(409);
    expect((await post('mia', '', { status: 'dismissed' })).status).toBe(409);
    expect(await shown()).toContain('Done');
  });

  test('takes notes from moderators only, oldest first', async () => {
    for (const content of ['Asked <i>ada</i>', 'No answer yet'])
      expect((await post('mia', '/notes', { content })).status).toBe(303);
    const text = await shown('root');
    expect(text.indexOf('Asked &lt;i&gt;ada&lt;/i&gt;')).toBeLessThan(text.indexOf('No answer yet'));
    for (const content of [' ', 'x'.repeat(2_001)]) expect((await post('mia', '/notes', { content })).status).toBe(400);
    expect((await forum.as.mia.get('/api/reports')).text).not.toContain('No answer yet');
  });
});

describe('reports of the same post', () => {
  const card = async (name: Name = 'mia') =>
    (await forum.as[name].get('/mod/reports')).text
      .split('<article')
      .filter((part) => part.includes('About Storm') && part.includes(id))
      .join('');
  const notified = async (name: Name) =>
    (await forum.as[name].get('/api/notifications')).body.notifications.filter(
      ({ type }: { type: string }) => type === 'report_handled',
    ).length;

  test('are one card with all notes, and are handled together with one log entry, notifying each reporter', async () => {
    const counts = [await notified('bob'), await notified('root')];
    const other = await report('root', postId);
    const elsewhere = await report('bob', (await forum.start('ada', 'Calm')).postId);
    const text = await card();
    expect([
      text.match(/Reporter’s note:/g)?.length,
      text.includes(other),
      text.includes('1 other report of this post'),
    ]).toEqual([2, true, true]);
    expect(
      (await forum.as.mia.get('/mod/reports')).text.match(new RegExp(`action="/mod/reports/(${id}|${other})"`, 'g')),
    ).toHaveLength(1);
    expect((await post('mia', '', { status: 'resolved', note: 'Taken down' })).status).toBe(303);
    const { reports } = (await forum.as.mia.get('/api/reports?limit=3')).body;
    expect(reports.map((one: any) => [one.id, one.status, one.handled_note])).toEqual([
      [elsewhere, 'open', ''],
      [other, 'resolved', 'Taken down'],
      [id, 'resolved', 'Taken down'],
    ]);
    expect((await post('mia', '', { status: 'dismissed' }, other)).status).toBe(409);
    await vi.waitUntil(
      async () => (await notified('bob')) === counts[0]! + 1 && (await notified('root')) === counts[1]! + 1,
      {
        timeout: 20_000,
      },
    );
    await forum.app.calm();
    const log = (await forum.as.mia.get('/mod/log')).text;
    expect([log.split(id).length, log.split(other).length]).toEqual([2, 1]);
    expect(await shown('mia', other)).toContain(`/mod/reports/${id}`);
  });

  test('are handled or claimed all together, or not at all', async () => {
    const other = await report('root', postId);
    const data = forum.app.app.service(Data);
    await data.all(
      sql.raw(
        `create function refuse() returns trigger language plpgsql as 'begin if new.id = ''${other}'' then raise exception ''not this one''; end if; return new; end'`,
      ),
    );
    await data.all(sql.raw('create trigger refuse before update on report for each row execute function refuse()'));
    expect((await post('mia', '', { status: 'resolved' })).status).toBe(500);
    expect((await post('mia', '/claim')).status).toBe(500);
    await data.all(sql.raw('drop trigger refuse on report'));
    const { reports } = (await forum.as.mia.get('/api/reports?limit=2')).body;
    expect(reports.map((one: any) => [one.status, one.claimed_by])).toEqual([
      ['open', null],
      ['open', null],
    ]);
  });

  test('are claimed and released together, including later ones', async () => {
    const earlier = await report('root', postId);
    expect((await post('mia', '/claim')).status).toBe(303);
    const later = await forum.as.mia.post('/api/reports', { post_id: postId, reason: 'spam' });
    expect(later.body.report.claimed_by).toBeNull();
    const claims = async () =>
      (await forum.as.root.get('/api/reports?limit=3')).body.reports.map((one: any) => [
        one.id,
        one.claimed_by?.username,
      ]);
    expect(await claims()).toEqual([
      [later.body.report.id, 'mia'],
      [earlier, 'mia'],
      [id, 'mia'],
    ]);
    expect((await post('root', '/claim', {}, earlier)).status).toBe(409);
    expect((await post('root', '/release', {}, earlier)).status).toBe(303);
    expect(await claims()).toEqual([
      [later.body.report.id, undefined],
      [earlier, undefined],
      [id, undefined],
    ]);
  });

  test('show that the post was edited since, with a link to its history', async () => {
    const history = `href="/p/${postId}/history"`;
    expect([(await card()).includes(history), (await shown()).includes(history)]).toEqual([false, false]);
    forum.app.clock.advance(60_000);
    await forum.as.ada.put(`/api/posts/${postId}`, { content: 'About Storm, but kindly' });
    for (const text of [await card(), await shown()])
      expect([text.includes('Edited after it was reported.'), text.includes(history)]).toEqual([true, true]);
    expect((await forum.as.mia.get(`/p/${postId}/history`)).status).toBe(200);
  });
});

describe('reports are off limits', () => {
  test('to members, guests and banned members', async () => {
    for (const path of ['', '/claim', '/release', '/notes']) {
      for (const name of ['bob', 'bad'] as const)
        expect((await post(name, path, { status: 'resolved', content: 'x' })).status).toBe(403);
      expect((await forum.guest.submit(`/mod/reports/${id}${path}`, { status: 'resolved', content: 'x' })).status).toBe(
        401,
      );
    }
    expect((await forum.as.bob.get(`/mod/reports/${id}`)).status).toBe(403);
    for (const other of ['xyz', '00000000-0000-7000-8000-000000000000'])
      expect((await post('mia', '/claim', {}, other)).status).toBe(404);
  });

  test('to moderators on their own posts, who do not see the reporter either', async () => {
    const own = await report('bob', (await forum.start('mia', 'Mine')).postId);
    expect((await forum.as.mia.get('/api/reports')).text).not.toContain(own);
    expect((await forum.as.mia.get('/mod/reports')).text).not.toContain(own);
    expect((await forum.as.mia.get(`/mod/reports/${own}`)).status).toBe(404);
    expect((await forum.as.mia.put(`/api/reports/${own}`, { status: 'dismissed' })).status).toBe(404);
    for (const path of ['', '/claim', '/notes'])
      expect((await post('mia', path, { status: 'dismissed', content: 'x' }, own)).status).toBe(404);
    expect((await forum.as.root.put(`/api/reports/${own}`, { status: 'dismissed' })).status).toBe(200);
    const another = await forum.app.app
      .service(Accounts)
      .create({ username: 'max', email: 'max@forum.test', password: 'Plain-Sailing-42', groupId: 'moderator' });
    const client = forum.app.client();
    await client.login(another.username, 'Plain-Sailing-42');
    expect((await client.get('/api/reports?limit=100')).text).toContain(own);
  });
});
