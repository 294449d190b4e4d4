import { beforeEach, describe, expect, test } from 'vitest';
import { Data, sql } from 'parley-forum';
import { leastOf } from 'parley-forum/testing';
import { useMessageReports } from './forum.ts';

const { forum, write, send, report, handle, list, page } = useMessageReports();
const data = () => forum.app.app.service(Data);
let message: { readonly id: string; readonly conversation: string };

const author = (name: 'ada' | 'bob' | 'mia') =>
  expect.objectContaining({ id: forum.ids[name], username: name }) as object;
const idsOf = ({ reports }: { readonly reports: readonly { readonly id: string }[] }) => reports.map(({ id }) => id);

beforeEach(async () => {
  message = await write('ada', ['bob'], 'You are a **barnacle**');
});

describe('reporting a message', () => {
  test('stores a copy of it and returns it', async () => {
    const answer = await send('bob', message.id, { reason: 'abuse', note: ' Look at this. ' });
    expect(answer.status).toBe(201);
    expect(answer.body.report).toEqual({
      id: expect.any(String),
      message_id: message.id,
      message: {
        author: author('ada'),
        content: 'You are a **barnacle**',
        html: '<p dir="auto">You are a <strong>barnacle</strong></p>\n',
        is_deleted: false,
        created_at: '2026-01-15T12:00:00.000Z',
      },
      reason: 'abuse',
      note: 'Look at this.',
      status: 'open',
      reporter: author('bob'),
      created_at: '2026-01-15T12:00:00.000Z',
      handled_by: null,
      handled_at: null,
      handled_note: '',
    });
    const again = await send('bob', message.id, { reason: 'spam', note: 'Once more' });
    expect([again.status, again.body]).toEqual([201, answer.body]);
    expect((await list()).reports[0]).toEqual(answer.body.report);
  });

  test('several times at once creates one report', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => send('bob', message.id)));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.report.id)).size).toBe(1);
    const rows = await data().all(sql`select id from message_report where message_id = ${message.id}`);
    expect(rows).toHaveLength(1);
  });

  test('requires being a current participant of the conversation', async () => {
    await forum.guest.csrf();
    const body = { message_id: message.id, reason: 'spam' };
    expect((await forum.guest.post('/api/message-reports', body)).status).toBe(401);
    expect((await send('bad', message.id)).status).toBe(403);
    for (const name of ['mia', 'root'] as const) {
      const { status, body: refused } = await send(name, message.id);
      expect([status, refused.error]).toEqual([404, 'There is no such message']);
      expect((await forum.as[name].get(`/messages/report/${message.id}`)).status).toBe(404);
      expect((await forum.as[name].submit(`/messages/report/${message.id}`, { reason: 'spam' })).status).toBe(404);
    }
    for (const id of ['00000000-0000-7000-8000-000000000000', 'xyz', message.conversation])
      expect((await send('bob', id)).status).toBe(404);
    await forum.as.bob.delete(`/api/conversations/${message.conversation}`);
    expect((await send('bob', message.id)).status).toBe(404);
    const unprotected = await forum.as.bob.request('POST', '/api/message-reports', {
      json: body,
      headers: { 'x-csrf-token': '' },
    });
    expect([unprotected.status, unprotected.body.code]).toEqual([403, 'csrf_failed']);
  });

  test('is refused for one’s own and erased messages, and requires a known reason', async () => {
    const own = await send('ada', message.id);
    expect([own.status, own.body.error]).toEqual([403, 'You wrote this message yourself']);
    expect((await forum.as.ada.get(`/messages/report/${message.id}`)).status).toBe(404);
    for (const wrong of [
      { reason: 'spam' },
      { message_id: message.id },
      { message_id: message.id, reason: 'ugly' },
      { message_id: message.id, reason: 'spam', note: 'x'.repeat(2_001) },
    ])
      expect((await forum.as.bob.post('/api/message-reports', wrong)).status).toBe(400);
    await data().all(sql`update conversation_message set content = '', html = '' where id = ${message.id}`);
    expect((await send('bob', message.id)).status).toBe(404);
    expect((await forum.as.bob.get(`/messages/report/${message.id}`)).status).toBe(404);
    expect(await page('bob', `/messages/${message.conversation}`)).not.toContain('/messages/report/');
  });

  test('keeps the message as it was, even when everyone has left the conversation', async () => {
    const { id } = await report('bob', message.id);
    for (const name of ['ada', 'bob'] as const)
      expect((await forum.as[name].delete(`/api/conversations/${message.conversation}`)).status).toBe(200);
    expect(await data().all(sql`select id from conversation_message where id = ${message.id}`)).toEqual([]);
    expect((await list()).reports[0]).toMatchObject({ id, message: { content: 'You are a **barnacle**' } });
    expect(await page('mia', '/mod/message-reports')).toContain('<strong>barnacle</strong>');
  });
});

describe('the list', () => {
  test('is for moderators, sorted newest first, paginated and filtered by status', async () => {
    expect((await forum.guest.get('/api/message-reports')).status).toBe(401);
    expect((await forum.as.bob.get('/api/message-reports')).status).toBe(403);
    const ids: string[] = [];
    for (let count = 0; count < 3; count++)
      ids.unshift((await report('bob', (await write('ada', ['bob'], `Number ${count}`)).id)).id);
    const first = await list('?limit=2');
    expect([first.count, first.hasMore, idsOf(first)]).toEqual([2, true, ids.slice(0, 2)]);
    expect(idsOf(await list(`?limit=1&cursor=${first.next_cursor}`))).toEqual([ids[2]]);
    expect(idsOf(await list('?limit=1&offset=2'))).toEqual([ids[2]]);
    await handle('mia', ids[1]!, 'dismissed');
    expect((await list('?status=dismissed')).reports[0]).toMatchObject({ id: ids[1], status: 'dismissed' });
    expect(idsOf(await list('?status=open'))).not.toContain(ids[1]);
    expect(await list('?offset=100000')).toMatchObject({ reports: [], count: 0, hasMore: false, next_cursor: null });
    for (const query of ['?status=lost', '?limit=0', '?cursor=nonsense', '?offset=-1'])
      expect((await forum.as.mia.get(`/api/message-reports${query}`)).status).toBe(400);
  });

  test('has a limited size, however long the messages are', async () => {
    const { id } = await report('bob', message.id);
    await data().all(sql`insert into message_report
        (id, message_id, author_id, content, html, image_rule, sent_at, reporter_id, reason, note, created_at)
      select gen_random_uuid(), gen_random_uuid(), author_id, 'x', repeat('<p>y</p>', 25000), image_rule, sent_at,
        null, 'other', 'Long', created_at
      from message_report, generate_series(1, 5) where id = ${id}`);
    const some = await list('?status=open');
    expect([some.count < 5, some.hasMore]).toEqual([true, true]);
    expect((await list(`?status=open&cursor=${some.next_cursor}`)).count).toBeGreaterThan(0);
    expect((await page('mia', '/mod/message-reports')).length).toBeLessThan(300_000);
    await data().all(sql`delete from message_report where note = 'Long'`);
  });

  test('and the pages take as many SQL statements for many reports as for few', async () => {
    const least = (path: string) => leastOf(() => forum.app.statements(() => forum.as.mia.get(path)));
    const paths = ['/mod/message-reports', '/mod/message-reports?status=resolved', '/api/message-reports?limit=100'];
    for (const status of ['open', 'resolved'])
      for (const { id } of (await list(`?status=${status}&limit=100`)).reports) {
        await handle('mia', id);
        await data().all(sql`delete from message_report where id = ${id}`);
      }
    const one = await report('bob', message.id);
    await handle('mia', (await report('bob', (await write('ada', ['bob'], 'Handled')).id)).id);
    const few: number[] = [];
    for (const path of [...paths, `/mod/message-reports/${one.id}`]) few.push(await least(path));
    for (let at = 0; at < 6; at++) {
      const many = await write('ada', ['bob', 'root'], `Many ${at}`);
      await report('bob', many.id);
      await report('root', many.id);
      if (at % 2) await handle('mia', (await list('?limit=1')).reports[0].id);
    }
    const found: number[] = [];
    for (const path of [...paths, `/mod/message-reports/${one.id}`]) found.push(await least(path));
    expect(found).toEqual(few);
  });
});

describe('handling a report', () => {
  test('records by whom and why, once, for all open reports of the message', async () => {
    const both = await write('ada', ['bob', 'root'], 'To both of you');
    const [one, other] = [await report('bob', both.id), await report('root', both.id, { note: 'Me, too' })];
    const elsewhere = await report('bob', message.id);
    const answer = await handle('mia', one.id, 'resolved', ' Warned them. ');
    expect([answer.status, answer.body.report]).toEqual([
      200,
      {
        ...one,
        status: 'resolved',
        handled_by: author('mia'),
        handled_at: '2026-01-15T12:00:00.000Z',
        handled_note: 'Warned them.',
      },
    ]);
    const { reports } = await list('?status=resolved&limit=2');
    expect(reports.map((found: any) => [found.id, found.handled_note])).toEqual([
      [other.id, 'Warned them.'],
      [one.id, 'Warned them.'],
    ]);
    expect(idsOf(await list('?status=open'))).toContain(elsewhere.id);
    expect((await handle('root', other.id, 'resolved')).body.report.handled_by).toEqual(author('mia'));
    expect((await handle('root', one.id, 'dismissed')).status).toBe(409);
  });

  test('lets the message be reported again', async () => {
    const { id } = await report('bob', message.id);
    expect((await handle('mia', id, 'dismissed')).status).toBe(200);
    const again = await report('bob', message.id);
    expect([again.status, again.id === id]).toEqual(['open', false]);
  });

  test('requires a moderator, an existing report and an outcome', async () => {
    const { id } = await report('bob', message.id);
    await forum.guest.csrf();
    expect((await forum.guest.put(`/api/message-reports/${id}`, { status: 'resolved' })).status).toBe(401);
    expect((await handle('bob', id)).status).toBe(403);
    for (const unknown of ['00000000-0000-7000-8000-000000000000', 'xyz'])
      expect((await handle('mia', unknown)).status).toBe(404);
    for (const status of ['open', 'done', '']) expect((await handle('mia', id, status)).status).toBe(400);
    expect((await list()).reports[0]).toMatchObject({ id, status: 'open' });
  });
});

describe('without JavaScript', () => {
  test('a message is reported by the button below it, on a page that shows what moderators will read', async () => {
    const path = `/messages/report/${message.id}`;
    await forum.as.bob.post(`/api/conversations/${message.conversation}/messages`, { content: 'Stop it' });
    const shown = await page('bob', `/messages/${message.conversation}`);
    expect([...shown.matchAll(/href="(\/messages\/report\/[^"]*)"/g)].map(([, href]) => href)).toEqual([path]);
    expect(shown).toContain('aria-label="Report message 1"');
    const form = await page('bob', path);
    for (const words of ['<strong>barnacle</strong>', 'nothing else of the conversation', 'It is against the law'])
      expect(form).toContain(words);
    expect(form).not.toContain('Between us');
    const refused = await forum.as.bob.submit(path, { note: 'Why would I say' });
    expect([refused.status, refused.text.includes('Why would I say')]).toEqual([400, true]);
    const sent = await forum.as.bob.submit(path, { reason: 'abuse', note: 'It hurts' });
    const back = `/messages/${message.conversation}?around=1#message-1`;
    expect([sent.status, sent.headers.get('location')]).toEqual([303, back]);
    expect(await page('bob', back.split('#')[0]!)).toContain('The moderators will look at it');
    expect((await list()).reports[0]).toMatchObject({ message_id: message.id, note: 'It hurts' });
    expect((await forum.guest.get(path)).headers.get('location')).toContain('/login');
  });

  test('moderators work through the open reports', async () => {
    const { id } = await report('bob', message.id, { note: '<b>bold</b>' });
    const text = await page('mia', '/mod/message-reports');
    for (const words of [
      'A message by ada',
      '<strong>barnacle</strong>',
      '&lt;b&gt;bold&lt;/b&gt;',
      `action="/mod/message-reports/${id}"`,
      'data-queue="note"',
      'data-queue="decline"',
      'data-queue="accept"',
    ])
      expect(text).toContain(words);
    const wrong = await forum.as.mia.submit(`/mod/message-reports/${id}`, {
      status: 'resolved',
      note: 'x'.repeat(2_001),
    });
    expect([wrong.status, wrong.text.includes('<strong>barnacle</strong>')]).toEqual([400, true]);
    const done = await forum.as.mia.submit(`/mod/message-reports/${id}`, { status: 'resolved', note: 'Done' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/mod/message-reports']);
    const handled = await page('mia', '/mod/message-reports?status=resolved');
    expect([handled.includes('Done'), handled.includes('data-queue=')]).toEqual([true, false]);
    expect(await page('mia', `/mod/message-reports/${id}`)).toContain('Done');
    const late = await forum.as.root.submit(`/mod/message-reports/${id}`, { status: 'dismissed' });
    expect([late.status, late.text.includes('This report was already resolved')]).toEqual([409, true]);
    expect((await forum.as.mia.get('/mod/message-reports?page=9')).status).toBe(404);
  });

  test('several reports of a message share one card, and a long message has its own page', async () => {
    const long = await write('ada', ['bob', 'root'], `${'A *long* text. '.repeat(1_300)} The very end.`);
    const one = await report('bob', long.id, { note: 'By bob' });
    const { id } = await report('root', long.id, { note: 'By root' });
    const text = await page('mia', '/mod/message-reports');
    expect(text).not.toContain(`id="report-${one.id}"`);
    const card = text.slice(text.indexOf(`id="report-${id}"`)).split('</article>')[0]!;
    for (const words of ['By bob', 'By root', '1 other report of this message', 'Read the full message'])
      expect(card).toContain(words);
    expect(card).not.toContain('The very end.');
    for (const each of [id, one.id])
      expect(await page('mia', `/mod/message-reports/${each}`)).toContain('The very end.');
  });

  test('the menu shows the number of open reports, exact after each report and decision', async () => {
    const number = async (): Promise<number> => {
      const [, item = ''] =
        /<a class="menu-item" href="\/mod\/message-reports">(.*?)<\/a>/s.exec(await page('mia', '/categories')) ?? [];
      return Number(/class="count">(\d+)/.exec(item)?.[1] ?? 0);
    };
    const before = await number();
    const { id } = await report('bob', message.id);
    expect(await number()).toBe(before + 1);
    await forum.app.calm();
    expect(await leastOf(() => forum.app.statements(() => forum.as.mia.get('/categories')))).toBe(0);
    await handle('root', id);
    expect(await number()).toBe(before);
    expect(await page('bob', '/categories')).not.toContain('/mod/message-reports');
  });
});
