import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Categories } from 'parley-forum/plugins/discussions';
import { reportHandled } from 'parley-forum/ports/moderation';
import { reportCreated } from 'parley-forum/plugins/reports';
import { leastOf } from 'parley-forum/testing';
import { install, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const raised: { readonly action: string; readonly report: any }[] = [];
let post: string;
let hidden: string;

const send = (name: Name, postId: string, more: object = {}) =>
  forum.as[name].post('/api/reports', { post_id: postId, reason: 'spam', ...more });
const handle = (name: Name, id: string, status: string, note?: string) =>
  forum.as[name].put(`/api/reports/${id}`, { status, ...(note !== undefined && { note }) });
const list = async (query = '', name: Name = 'mia') => (await forum.as[name].get(`/api/reports${query}`)).body;
const fresh = async () => (await forum.start('ada', 'Somewhat off')).postId;

beforeAll(async () => {
  await install(
    forum.app,
    definePlugin({
      id: 'test-reports',
      setup(_services, plugin) {
        plugin.on(reportCreated, ({ report }) => void raised.push({ action: reportCreated.id, report }));
        plugin.on(reportHandled, ({ report }) => void raised.push({ action: reportHandled.id, report }));
      },
    }),
  );
  post = await fresh();
  hidden = (await forum.start('mia', 'Among us', 'staff')).postId;
});

describe('reporting a post', () => {
  test('stores it, and raises its event once', async () => {
    const answer = await send('bob', post, { reason: 'off_topic', note: ' Look at this. ' });
    expect(answer.status).toBe(201);
    const { report } = answer.body;
    expect(report).toMatchObject({
      post_id: post,
      reason: 'off_topic',
      note: 'Look at this.',
      status: 'open',
      reporter: { id: forum.ids.bob, username: 'bob' },
      handled_by: null,
      handled_at: null,
      handled_note: '',
    });
    expect(raised).toEqual([
      {
        action: 'report.created',
        report: { id: report.id, post_id: post, reason: 'off_topic', created_at: report.created_at },
      },
    ]);
    const again = await send('bob', post, { reason: 'abuse' });
    expect(again.body).toEqual(answer.body);
    expect(raised).toHaveLength(1);
    expect((await send('ada', post)).body.report.id).not.toBe(report.id);
  });

  test('several times concurrently creates one report', async () => {
    const [target, before] = [await fresh(), raised.length];
    const answers = await Promise.all([1, 2, 3, 4].map(() => send('bob', target)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.report.id)).size).toBe(1);
    expect(raised.length).toBe(before + 1);
  });

  test('requires a member, a post they can see, and a known reason', async () => {
    await forum.guest.csrf();
    expect((await forum.guest.post('/api/reports', { post_id: post, reason: 'spam' })).status).toBe(401);
    expect((await send('bad', post)).status).toBe(403);
    for (const id of [hidden, '00000000-0000-7000-8000-000000000000', 'xyz']) {
      const { status, body } = await send('bob', id);
      expect([status, body.error]).toEqual([404, 'There is no such post']);
    }
    for (const wrong of [
      { reason: 'spam' },
      { post_id: post },
      { post_id: post, reason: 'ugly' },
      { post_id: post, reason: 'spam', note: 'x'.repeat(2_001) },
    ]) {
      expect((await forum.as.bob.post('/api/reports', wrong)).status).toBe(400);
    }
    const unprotected = await forum.as.bob.request('POST', '/api/reports', {
      json: { post_id: post, reason: 'spam' },
      headers: { 'x-csrf-token': '' },
    });
    expect([unprotected.status, unprotected.body.code]).toEqual([403, 'csrf_failed']);
  });
});

describe('the list', () => {
  test('is for moderators only, newest first, in pages, by status', async () => {
    expect((await forum.guest.get('/api/reports')).status).toBe(401);
    expect((await forum.as.bob.get('/api/reports')).status).toBe(403);
    const ids: string[] = [];
    for (let count = 0; count < 3; count++) ids.unshift((await send('bob', await fresh())).body.report.id);
    const first = await list('?limit=2');
    expect(first).toMatchObject({ success: true, count: 2, hasMore: true, reports: [{ id: ids[0] }, { id: ids[1] }] });
    expect((await list(`?limit=1&cursor=${first.next_cursor}`)).reports).toMatchObject([{ id: ids[2] }]);
    expect((await list('?limit=1&offset=2')).reports).toMatchObject([{ id: ids[2] }]);
    await handle('mia', ids[1]!, 'dismissed');
    expect((await list('?status=dismissed')).reports).toMatchObject([{ id: ids[1], status: 'dismissed' }]);
    expect((await list('?status=open')).reports.map(({ id }: { id: string }) => id)).not.toContain(ids[1]);
    expect(await list('?offset=100000')).toMatchObject({ reports: [], count: 0, hasMore: false, next_cursor: null });
    for (const query of ['?status=lost', '?limit=0', '?cursor=nonsense', '?offset=-1'])
      expect((await forum.as.mia.get(`/api/reports${query}`)).status).toBe(400);
  });

  test('runs the same number of statements for many reports as for few', async () => {
    const least = (query: string) => leastOf(() => forum.app.statements(() => list(query)));
    expect(await least('?limit=100')).toBe(await least('?limit=1'));
  });

  test('leaves out what a moderator may not see, even after a move', async () => {
    const group = await forum.app.app.service(Access).saveGroup({ name: 'Insiders', level: 'member' });
    const secret = await forum.app.app
      .service(Categories)
      .save({ name: 'Insiders', view: [group.id], create: 'staff', reply: 'staff' });
    const { id, postId } = await forum.start('ada', 'Goes away');
    const { report } = (await send('bob', postId)).body;
    expect((await list()).reports[0].id).toBe(report.id);
    expect((await forum.as.root.put(`/api/discussions/${id}`, { category_id: secret.id })).status).toBe(200);
    expect((await list()).reports[0].id).not.toBe(report.id);
    expect((await handle('mia', report.id, 'resolved')).status).toBe(404);
    expect((await list('', 'root')).reports[0].id).toBe(report.id);
  });

  test('keeps reports of deleted posts', async () => {
    const { id } = await forum.start('ada', 'Has a bad reply');
    const reply = await forum.reply('ada', id, 'Bad');
    const { report } = (await send('bob', reply.id)).body;
    await forum.as.mia.delete(`/api/posts/${reply.id}`);
    expect((await list()).reports[0].id).toBe(report.id);
    expect((await forum.as.mia.get('/mod/reports')).text).toContain('The post is deleted');
  });
});

describe('handling a report', () => {
  test('records who handled it and why, once', async () => {
    const { report } = (await send('bob', await fresh())).body;
    const before = raised.length;
    const answer = await handle('mia', report.id, 'resolved', 'Warned them.');
    expect([answer.status, answer.body.report]).toEqual([
      200,
      {
        ...report,
        status: 'resolved',
        handled_by: { id: forum.ids.mia, username: 'mia', display_name: null, avatar_url: null },
        handled_at: expect.any(String),
        handled_note: 'Warned them.',
      },
    ]);
    expect(raised.slice(before)).toEqual([
      {
        action: 'report.handled',
        report: {
          id: report.id,
          lead_id: report.id,
          post_id: report.post_id,
          discussion_id: report.discussion_id,
          reporter_id: forum.ids.bob,
          author_id: forum.ids.ada,
          outcome: 'resolved',
          handler_id: forum.ids.mia,
          note: 'Warned them.',
          handled_at: expect.any(String),
        },
      },
    ]);
    expect((await handle('root', report.id, 'resolved')).body).toEqual(answer.body);
    expect((await handle('root', report.id, 'dismissed')).status).toBe(409);
    expect(raised.length).toBe(before + 1);
  });

  test('allows the post to be reported again', async () => {
    const target = await fresh();
    const { report } = (await send('bob', target)).body;
    await handle('mia', report.id, 'dismissed');
    expect((await send('bob', target)).body.report).toMatchObject({ status: 'open' });
    expect((await send('bob', target)).body.report.id).not.toBe(report.id);
  });

  test('requires a moderator, an existing report, and an outcome', async () => {
    const { report } = (await send('bob', await fresh())).body;
    await forum.guest.csrf();
    expect((await forum.guest.put(`/api/reports/${report.id}`, { status: 'resolved' })).status).toBe(401);
    expect((await handle('bob', report.id, 'resolved')).status).toBe(403);
    for (const id of ['00000000-0000-7000-8000-000000000000', 'xyz'])
      expect((await handle('mia', id, 'resolved')).status).toBe(404);
    for (const status of ['open', 'done', '']) expect((await handle('mia', report.id, status)).status).toBe(400);
  });
});

describe('without JavaScript', () => {
  test('a post is reported from its menu', async () => {
    const { id, number, postId } = await forum.start('ada', 'Read me');
    const reply = await forum.reply('bob', id, 'Buy things');
    const menu = async (post: string): Promise<string> => (await forum.as.ada.get(`/p/${post}/menu`)).text;
    expect(await menu(reply.id)).toContain(`href="/p/${reply.id}/report"`);
    expect(await menu(postId)).not.toContain('/report"');
    expect((await forum.guest.get(`/p/${reply.id}/menu`)).headers.get('location')).toContain('/login');
    expect((await forum.as.ada.get(`/p/${reply.id}/report`)).text).toContain('It is against the law');
    const refused = await forum.as.ada.submit(`/p/${reply.id}/report`, { note: 'Why would I say' });
    expect([refused.status, refused.text.includes('Why would I say')]).toEqual([400, true]);
    const sent = await forum.as.ada.submit(`/p/${reply.id}/report`, { reason: 'spam', note: '' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/d/${number}/2`]);
    expect((await forum.guest.get(`/p/${reply.id}/report`)).headers.get('location')).toContain('/login');
    expect((await forum.as.bob.get(`/p/${hidden}/report`)).status).toBe(404);
  });

  test('moderators work through the open reports', async () => {
    const { report } = (await send('bob', await fresh(), { note: '<b>bold</b>' })).body;
    const { text } = await forum.as.mia.get('/mod/reports');
    expect(text).toContain(`action="/mod/reports/${report.id}"`);
    expect(text).toContain('&lt;b&gt;bold&lt;/b&gt;');
    const done = await forum.as.mia.submit(`/mod/reports/${report.id}`, { status: 'resolved', note: 'Done' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/mod/reports']);
    expect((await forum.as.mia.get('/mod/reports?status=resolved')).text).toContain('Done');
    expect((await forum.as.root.submit(`/mod/reports/${report.id}`, { status: 'dismissed' })).text).toContain(
      'This report was already resolved',
    );
    expect((await forum.as.bob.get('/mod/reports')).status).toBe(403);
    expect((await forum.as.mia.get('/')).text).toContain('href="/mod/reports"');
    expect((await forum.as.bob.get('/')).text).not.toContain('href="/mod/reports"');
  });
});

test('a report moves with its post, and is visible to those who can see the post there', async () => {
  const { id: category } = await forum.app.app
    .service(Categories)
    .save({ name: 'Owners', view: ['admin'], create: ['admin'], reply: ['admin'] });
  const [from, hiddenPlace] = [await forum.start('ada', 'Reported here'), await forum.start('root', 'Away', category)];
  const reply = await forum.reply('ada', from.id, 'Somewhat off');
  const { id } = (await send('bob', reply.id)).body.report;
  const found = async (name: Name): Promise<boolean> =>
    (await list('?limit=100', name)).reports.some((one: any) => one.id === id);
  expect([await found('mia'), await found('root')]).toEqual([true, true]);
  const body = { post_ids: [reply.id], discussion_id: hiddenPlace.id };
  expect((await forum.as.root.post(`/api/discussions/${from.id}/move-posts`, body)).status).toBe(200);
  expect([await found('mia'), await found('root')]).toEqual([false, true]);
  expect((await handle('mia', id, 'dismissed')).status).toBe(404);
  await forum.app.app.kernel.disable('reports');
  const back = { post_ids: [reply.id], discussion_id: from.id };
  expect((await forum.as.root.post(`/api/discussions/${hiddenPlace.id}/move-posts`, back)).status).toBe(200);
  await forum.app.app.kernel.enable('reports');
  expect(await found('mia')).toBe(true);
});
