import { beforeEach, describe, expect, test, vi } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Discussions } from 'parley-forum/plugins/discussions';
import { EventLog } from 'parley-forum/plugins/events';
import { expectStatus, PASSWORD, useForum } from '../discussions/forum.ts';
import { settled } from '../events/settled.ts';
import { listen } from './listen.ts';

const forum = useForum({ 'live.streams': 3 });
// Streams of a test must not receive earlier events.
beforeEach(() => settled(forum.app));
const quiet = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 150));

describe('a stream', () => {
  test('sends the same events as webhooks, with their position in the log as id', async () => {
    await using stream = await listen(forum.app, forum.as.ada);
    expect([stream.status, stream.headers.get('content-type'), stream.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no-cache, no-transform',
    ]);
    const { id } = await forum.start('bob', 'Told at once');
    const post = await forum.reply('bob', id, 'Hear, hear');
    await stream.until(2);
    expect(stream.names()).toEqual(['discussion.created', 'post.created']);
    const { events } = (await forum.guest.get('/api/events?limit=100')).body;
    const { position, ...received } = events.at(-1);
    expect(stream.heard[1]).toEqual({ event: 'post.created', id: String(position), data: received });
    expect(received.data.post.id).toBe(post.id);
    expect(stream.retry).toBeGreaterThan(0);
  });

  test('sends each viewer only what they may see', async () => {
    await using staff = await listen(forum.app, forum.as.mia);
    await using member = await listen(forum.app, forum.as.ada);
    await using guest = await listen(forum.app, undefined);
    await forum.start('mia', 'For staff', 'staff');
    await forum.start('mia', 'For all');
    for (const stream of [member, guest]) await stream.until(1);
    await staff.until(2);
    const titles = (stream: typeof staff) => stream.heard.map(({ data }) => data.data.discussion.title);
    expect([titles(staff), titles(member), titles(guest)]).toEqual([
      ['For staff', 'For all'],
      ['For all'],
      ['For all'],
    ]);
    // However few events were sent, all of them resume from the same position.
    expect(new Set([staff.last, member.last, guest.last]).size).toBe(1);
  });

  test('sends moderators only reports of other members’ posts, whoever else is listening', async () => {
    const accounts = forum.app.app.service(Accounts);
    const values = { username: 'nia', email: 'nia@forum.test', password: PASSWORD, groupId: 'moderator' };
    await accounts.create(values);
    const nia = forum.app.client();
    await nia.login('nia', PASSWORD);
    await settled(forum.app);
    // Both in one group: it makes no difference for which of the two visibility is checked first.
    await using first = await listen(forum.app, forum.as.mia);
    await using second = await listen(forum.app, nia);
    await using administrator = await listen(forum.app, forum.as.root);
    const reported: string[] = [];
    for (const client of [forum.as.mia, nia]) {
      const body = { title: 'A moderator writes', content: 'Judge me', category_id: 'general' };
      const { post_id: postId } = expectStatus(await client.post('/api/discussions', body), 201).body;
      expectStatus(await forum.as.ada.post('/api/reports', { post_id: postId, reason: 'other' }), 201);
      reported.push(postId);
    }
    await administrator.until(4);
    await Promise.all([first.until(3), second.until(3)]);
    const heard = (stream: typeof first) =>
      stream.heard.filter(({ event }) => event === 'report.created').map(({ data }) => data.data.report.post_id);
    expect([heard(administrator), heard(first), heard(second)]).toEqual([reported, [reported[1]], [reported[0]]]);
    const positions = (stream: typeof first) => stream.heard.map(({ id }) => Number(id));
    for (const stream of [first, second])
      expect(positions(stream)).toEqual(positions(stream).toSorted((a, b) => a - b));
  });

  test('can be filtered by discussion, by its id or number, and by event', async () => {
    const one = await forum.start('ada', 'The one');
    const other = await forum.start('ada', 'The other');
    await settled(forum.app);
    await using byId = await listen(forum.app, undefined, `?discussion_id=${one.id}`);
    await using byNumber = await listen(forum.app, undefined, `?discussion_id=${one.number}&events=post.created`);
    await forum.reply('bob', other.id, 'Not here');
    const reply = await forum.reply('bob', one.id, 'Here');
    await forum.as.bob.put(`/api/posts/${reply.id}`, { content: 'Here it is' });
    // Events of a post that has been deleted by then are not sent.
    await byId.until(2);
    await forum.as.bob.delete(`/api/posts/${reply.id}`);
    await forum.reply('bob', one.id, 'Once more');
    await byId.until(4);
    await byNumber.until(2);
    expect(byId.names()).toEqual(expect.arrayContaining(['post.created', 'post.deleted']));
    expect(byId.heard.every(({ data }) => data.data.post.discussion_id === one.id)).toBe(true);
    expect(new Set(byNumber.names())).toEqual(new Set(['post.created']));
  });

  test('sends a move of posts to streams filtered by either discussion', async () => {
    const [from, to] = [await forum.start('ada', 'From here'), await forum.start('ada', 'To there')];
    const { id } = await forum.reply('bob', from.id, 'Moves');
    await settled(forum.app);
    await using left = await listen(forum.app, undefined, `?discussion_id=${from.id}`);
    await using reached = await listen(forum.app, undefined, `?discussion_id=${to.id}`);
    const body = { post_ids: [id], discussion_id: to.id };
    expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/move-posts`, body), 200);
    for (const stream of [left, reached]) {
      await stream.until(1);
      expect(stream.heard[0]!.data.data.posts).toEqual([{ id, from_number: 2, number: 2 }]);
    }
  });

  test('does not reveal whether a discussion exists that the caller may not see', async () => {
    const hidden = await forum.start('mia', 'Behind the door', 'staff');
    const of = async (id: string): Promise<unknown> => {
      const { status, body } = await forum.as.ada.get(`/api/live?discussion_id=${id}`);
      return [status, body.error];
    };
    expect(await of(hidden.id)).toEqual([404, 'There is no such discussion']);
    expect(await of(String(hidden.number))).toEqual(await of('999999'));
    expect(await of('nonsense')).toEqual(await of(hidden.id));
  });

  test.each(['events=a b', 'after=-1', 'after=x'])('refuses %s', async (query) => {
    expect((await forum.guest.get(`/api/live?${query}`)).status).toBe(400);
  });

  test('is refused for an invalid token, and opens for the owner of a valid one', async () => {
    await using bad = await listen(forum.app, undefined, '', { authorization: 'Bearer parley_nothing' });
    expect(bad.status).toBe(401);
    const { token } = expectStatus(
      await forum.as.mia.request('POST', '/settings/security/api-token', {
        json: { password: 'Plain-Sailing-42' },
        headers: { accept: 'application/json' },
      }),
      200,
    ).body;
    await using good = await listen(forum.app, undefined, '', { authorization: `Bearer ${token}` });
    await forum.start('mia', 'By token', 'staff');
    await good.until(1);
    expect(good.heard[0]!.data.data.discussion.title).toBe('By token');
    await forum.as.mia.request('POST', '/settings/security/api-token/revoke', {
      json: { password: 'Plain-Sailing-42' },
      headers: { accept: 'application/json' },
    });
    await forum.start('mia', 'After the token', 'staff');
    await expect.poll(() => good.ended).toBe(true);
    expect(good.heard).toHaveLength(1);
  });

  test('answers HEAD without a body, and other methods with 405', async () => {
    const head = await forum.guest.request('HEAD', '/api/live');
    expect([head.status, head.headers.get('content-type'), head.text]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ]);
    expect((await forum.as.ada.post('/api/live')).status).toBe(405);
  });

  test('is limited in number per member, and per IP address for guests', async () => {
    const open = await Promise.all(Array.from({ length: 3 }, () => listen(forum.app, forum.as.bob)));
    await using more = await listen(forum.app, forum.as.bob);
    expect([open.map(({ status }) => status), more.status, more.headers.get('retry-after')]).toEqual([
      [200, 200, 200],
      429,
      '60',
    ]);
    await using another = await listen(forum.app, forum.as.ada);
    expect(another.status).toBe(200);
    open[0]!.close();
    await expect
      .poll(async () => {
        await using again = await listen(forum.app, forum.as.bob);
        return again.status;
      })
      .toBe(200);
    for (const stream of open) stream.close();
    const guests = await Promise.all(Array.from({ length: 3 }, () => listen(forum.app, undefined)));
    expect((await forum.guest.get('/api/live')).status).toBe(429);
    for (const stream of guests) stream.close();
  });

  test('that is aborted before it opens does not count towards the limit', async () => {
    const { id } = await forum.start('bob', 'Looked up slowly');
    const discussions = forum.app.app.service(Discussions);
    const find = discussions.find.bind(discussions);
    const left = Array.from({ length: 3 }, () => ({
      asked: Promise.withResolvers<void>(),
      gone: new AbortController(),
    }));
    let calls = 0;
    const found = Promise.withResolvers<void>();
    const slowly = vi.spyOn(discussions, 'find').mockImplementation(async (...all) => {
      left[calls++]?.asked.resolve();
      await found.promise;
      return find(...all);
    });
    for (const { asked, gone } of left) {
      const asking = fetch(`${forum.app.url}/api/live?discussion_id=${id}`, { signal: gone.signal });
      await asked.promise;
      gone.abort();
      await expect(asking).rejects.toThrow('aborted');
    }
    await quiet();
    slowly.mockRestore();
    found.resolve();
    await quiet();
    await using stream = await listen(forum.app, undefined);
    expect(stream.status).toBe(200);
  });
});

describe('a reader that reconnects', () => {
  test('receives each missed event once and in order, and then new ones', async () => {
    const { id } = await forum.start('ada', 'Interrupted');
    await settled(forum.app);
    const before = await listen(forum.app, forum.as.ada);
    await forum.reply('bob', id, 'Before');
    await before.until(1);
    before.close();
    for (let n = 0; n < 5; n++) await forum.reply('bob', id, `Missed ${n}`);
    await forum.start('mia', 'Missed by members', 'staff');
    await settled(forum.app);
    await using after = await listen(forum.app, forum.as.ada, '', { 'last-event-id': before.last });
    await forum.reply('bob', id, 'Afterwards');
    await after.until(6);
    expect(after.heard.map(({ data }) => data.data.post.content)).toEqual([
      'Missed 0',
      'Missed 1',
      'Missed 2',
      'Missed 3',
      'Missed 4',
      'Afterwards',
    ]);
    await using byQuery = await listen(forum.app, forum.as.ada, `?after=${before.last}&events=post.created`);
    await byQuery.until(6);
    expect(byQuery.heard.map(({ id: at }) => at)).toEqual(after.heard.map(({ id: at }) => at));
  });

  test('misses nothing during continuous writes', async () => {
    const { id } = await forum.start('ada', 'Busy');
    await settled(forum.app);
    const { newest } = await forum.app.app.service(EventLog).bounds();
    const writer = (async () => {
      for (let n = 0; n < 30; n++) await forum.reply('bob', id, `Word ${n}`);
    })();
    let last = String(newest);
    const words: string[] = [];
    for (let rounds = 0; words.length < 30; rounds++) {
      expect(rounds).toBeLessThan(1_000);
      await using stream = await listen(forum.app, forum.as.ada, '', { 'last-event-id': last });
      await new Promise((resolve) => setTimeout(resolve, 40));
      words.push(...stream.heard.map(({ data }) => data.data.post.content));
      last = stream.last;
      stream.close();
      await expect.poll(() => stream.ended).toBe(true);
    }
    await writer;
    expect(words).toHaveLength(30);
    expect(new Set(words).size).toBe(30);
  });

  test('receives a reset when it missed too much, or sends a position that is not in the log', async () => {
    const { newest } = await forum.app.app.service(EventLog).bounds();
    for (const id of [String(newest + 1_000), 'nonsense', '999999999999999999999']) {
      await using stream = await listen(forum.app, forum.as.ada, '', { 'last-event-id': id });
      await stream.until(1);
      expect(stream.heard).toEqual([{ event: 'reset', id: String(newest), data: { position: newest } }]);
    }
    await forum.app.app.data.all(
      sql`insert into event_log (id, event, created_at, data) select gen_random_uuid(), 'no.such', now(), '{}' from generate_series(1, 1200)`,
    );
    await using stream = await listen(forum.app, forum.as.ada, '', { 'last-event-id': String(newest) });
    await stream.until(1);
    expect(stream.names()).toEqual(['reset']);
    await quiet();
    await forum.start('bob', 'Afterwards');
    await stream.until(2);
    expect(stream.names()).toEqual(['reset', 'discussion.created']);
  });

  test('receives about a megabyte of missed events, and a reset for the rest', async () => {
    const { id } = await forum.start('ada', 'Long letters');
    await settled(forum.app);
    const { newest } = await forum.app.app.service(EventLog).bounds();
    for (let n = 0; n < 30; n++) await forum.reply('bob', id, `${n} ${'word '.repeat(12_000)}`);
    await settled(forum.app);
    await using stream = await listen(forum.app, forum.as.ada, '', { 'last-event-id': String(newest) });
    await expect.poll(() => stream.names().at(-1)).toBe('reset');
    const sent = stream.heard.reduce((sum, { data }) => sum + JSON.stringify(data).length, 0);
    expect(sent).toBeGreaterThan(1024 ** 2);
    expect(sent).toBeLessThan(1.75 * 1024 ** 2);
  });
});
