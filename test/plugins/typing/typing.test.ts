import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Answer, Client } from 'parley-forum/testing';
import { onServer } from '../../kit/database.ts';
import { useForum } from '../discussions/forum.ts';

const forum = useForum({ 'presence.rate_limit': 100_000 });
let discussion: { id: string; number: number };
let hidden: { id: string; number: number };

const say = (what: 'typing' | 'stop', id: string, client: Client): Promise<Answer> =>
  client.post(`/api/typing-indicator/${what}`, { discussion_id: id });
const status = (id: string, client = forum.guest, query = ''): Promise<Answer> =>
  client.get(`/api/typing-indicator/status?discussion_id=${id}${query}`);
const names = async (id: string, client?: Client): Promise<string[]> =>
  (await status(id, client)).body.typing.map(({ username }: { username: string }) => username);

beforeAll(async () => {
  discussion = await forum.start('ada', 'Busy place');
  hidden = await forum.start('mia', 'Hidden place', 'staff');
});
beforeEach(async () => {
  for (const name of ['ada', 'bob', 'mia'] as const) await say('stop', discussion.id, forum.as[name]);
});

describe('a typing member', () => {
  test('is shown to everyone who can see the discussion, until they stop', async () => {
    const answer = await say('typing', discussion.id, forum.as.bob);
    expect([answer.status, answer.body]).toEqual([200, { success: true }]);
    await say('typing', String(discussion.number), forum.as.ada);
    expect((await status(discussion.id)).body).toEqual({
      success: true,
      typing: [
        { id: forum.ids.ada, username: 'ada', display_name: null },
        { id: forum.ids.bob, username: 'bob', display_name: null },
      ],
      count: 2,
      hasMore: false,
      next_cursor: null,
    });
    expect((await say('stop', discussion.id, forum.as.bob)).status).toBe(200);
    expect(await names(String(discussion.number))).toEqual(['ada']);
  });

  test.skipIf(onServer)('expires eight seconds after the last signal', async () => {
    await say('typing', discussion.id, forum.as.bob);
    forum.app.clock.advance(7_000);
    await say('typing', discussion.id, forum.as.ada);
    expect(await names(discussion.id)).toEqual(['ada', 'bob']);
    forum.app.clock.advance(1_000);
    expect(await names(discussion.id)).toEqual(['ada']);
    forum.app.clock.advance(7_000);
    expect(await names(discussion.id)).toEqual([]);
  });

  test('has stopped once the reply is posted', async () => {
    await say('typing', discussion.id, forum.as.bob);
    await forum.reply('bob', discussion.id, 'Done.');
    expect(await names(discussion.id)).toEqual([]);
  });

  test('is listed in pages, with at most one statement', async () => {
    for (const name of ['ada', 'bob', 'mia'] as const) await say('typing', discussion.id, forum.as[name]);
    const first = (await status(discussion.id, forum.guest, '&limit=2')).body;
    expect(first).toMatchObject({ count: 2, hasMore: true });
    expect((await status(discussion.id, forum.guest, `&limit=2&cursor=${first.next_cursor}`)).body).toMatchObject({
      typing: [{ username: 'mia' }],
      hasMore: false,
    });
    expect(await forum.app.statements(() => status(discussion.id))).toBeLessThanOrEqual(1);
    expect((await status(discussion.id, forum.guest, '&limit=0')).status).toBe(400);
  });
});

describe('a request is refused', () => {
  test('from guests and banned members, except for reading', async () => {
    await forum.guest.csrf();
    expect((await say('typing', discussion.id, forum.guest)).status).toBe(401);
    expect((await say('stop', discussion.id, forum.guest)).status).toBe(401);
    expect((await say('typing', discussion.id, forum.as.bad)).status).toBe(403);
  });

  test('without a CSRF token', async () => {
    const answer = await forum.as.ada.request('POST', '/api/typing-indicator/typing', {
      json: { discussion_id: discussion.id },
      headers: { 'x-csrf-token': '' },
    });
    expect([answer.status, answer.body.code]).toEqual([403, 'csrf_failed']);
  });

  test('without a discussion with 400, and with a hidden or missing one with the same 404', async () => {
    expect((await forum.as.ada.post('/api/typing-indicator/typing', {})).status).toBe(400);
    expect((await forum.as.ada.post('/api/typing-indicator/stop', {})).status).toBe(400);
    expect((await forum.guest.get('/api/typing-indicator/status')).status).toBe(400);
    expect((await forum.guest.get('/api/typing-indicator/status?discussion_id=')).status).toBe(400);
    await say('typing', hidden.id, forum.as.mia);
    expect(await names(hidden.id, forum.as.root)).toEqual(['mia']);
    for (const id of [hidden.id, '00000000-0000-7000-8000-000000000000', '99999', 'xyz']) {
      for (const answer of [
        await status(id),
        await say('typing', id, forum.as.ada),
        await say('stop', id, forum.as.ada),
      ]) {
        expect([answer.status, answer.body.error]).toEqual([404, 'There is no such discussion']);
      }
    }
  });

  test('from members who may not reply', async () => {
    const news = await forum.start('mia', 'News', 'announcements');
    await forum.as.mia.put(`/api/discussions/${news.id}`, { is_locked: true });
    expect((await say('typing', news.id, forum.as.ada)).status).toBe(403);
    expect((await say('stop', news.id, forum.as.ada)).status).toBe(200);
    expect((await say('typing', news.id, forum.as.mia)).status).toBe(200);
  });
});

test('the reply editor has the typing line, the editor of a new discussion does not', async () => {
  const { text } = await forum.as.ada.get(`/d/${discussion.number}-busy-place`);
  expect(text).toContain(`<x-typing class="typing" data-discussion="${discussion.id}" data-one="{first} is writing…"`);
  expect((await forum.as.ada.get('/new')).text).not.toContain('<x-typing');
});
