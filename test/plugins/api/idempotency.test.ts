import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { definePlugin, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { postCreated } from 'parley-forum/plugins/discussions';
import { markdownHtml } from 'parley-forum/plugins/markdown';
import type { Client } from 'parley-forum/testing';
import { Idempotency } from '../../../plugins/api/idempotency.ts';
import { onServer } from '../../kit/database.ts';
import { install, PASSWORD, useForum } from '../discussions/forum.ts';

const forum = useForum();
let discussion: string;
let count = 0;
const key = (): { 'idempotency-key': string } => ({ 'idempotency-key': `request ${++count}` });
const reply = (client: Client, content: string, headers: Record<string, string>) =>
  client.post('/api/posts', { discussion_id: discussion, content }, headers);
const texts = async (): Promise<string[]> =>
  (await forum.guest.get(`/api/discussions/${discussion}/posts?limit=100`)).body.posts.map(
    (post: { content: string }) => post.content,
  );
const times = async (content: string): Promise<number> => (await texts()).filter((text) => text === content).length;

beforeAll(async () => {
  ({ id: discussion } = await forum.start('ada', 'Once is enough'));
});

describe('a creating request with an Idempotency-Key', () => {
  test('is executed once, and gets the same response again, byte for byte', async () => {
    const headers = key();
    const first = await reply(forum.as.ada, 'once', headers);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    const at = first.headers.get('location')!;
    expect((await forum.guest.get(at)).body.post.content).toBe('once');
    for (let again = 0; again < 3; again++) {
      const answer = await reply(forum.as.ada, 'once', headers);
      expect(answer.headers.get('location')).toBe(at);
      expect([answer.status, answer.text, answer.headers.get('idempotency-replayed')]).toEqual([
        201,
        first.text,
        'true',
      ]);
    }
    expect(await times('once')).toBe(1);
    expect(
      forum.happened.filter(({ action, payload }) => action === 'post.created' && payload.post.content === 'once'),
    ).toHaveLength(1);
  });

  test('starts one discussion, from JSON and from a form, and lists show it at once', async () => {
    const headers = key();
    const body = { title: 'Only one', content: 'x', category_id: 'general' };
    await forum.guest.get('/api/discussions');
    const first = await forum.as.ada.post('/api/discussions', body, headers);
    const shown = async (): Promise<number> =>
      (await forum.guest.get('/api/discussions')).body.discussions.filter(
        ({ title }: { title: string }) => title === 'Only one',
      ).length;
    expect([first.status, await shown()]).toEqual([201, 1]);
    const { body: found } = await forum.guest.get(first.headers.get('location')!);
    expect(found.discussion.title).toBe('Only one');
    const again = await forum.as.ada.request('POST', '/api/discussions', {
      form: { ...body, _csrf: await forum.as.ada.csrf('/') },
      headers,
    });
    expect([again.status, again.text, await shown()]).toEqual([201, first.text, 1]);
  });

  test('gets the same response as one without a key, new tags included', async () => {
    const start = (title: string, headers?: Record<string, string>) =>
      forum.as.ada.post(
        '/api/discussions',
        { title, content: 'x', category_id: 'general', tags: [`about ${title}`] },
        headers,
      );
    const [plain, keyed] = [await start('plain'), await start('keyed', key())];
    expect(keyed.body.discussion.tags).toEqual([
      expect.objectContaining({ name: plain.body.discussion.tags[0].name.replace('plain', 'keyed') }),
    ]);
    const shape = (record: object): string[] =>
      Object.entries(record).map(([name, value]) => `${name}: ${typeof value}`);
    expect(shape(keyed.body.discussion)).toEqual(shape(plain.body.discussion));
    expect((await forum.guest.get('/api/tags')).body.tags.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['about keyed', 'about plain']),
    );
  });

  test('is the same whether a session or a bearer token identifies the caller', async () => {
    const {
      body: { token },
    } = await forum.as.bob.post('/settings/security/api-token', undefined, { accept: 'application/json' });
    const headers = key();
    const first = await reply(forum.guest, 'by token', { ...headers, authorization: `Bearer ${token}` });
    const again = await reply(forum.as.bob, 'by token', headers);
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect(await times('by token')).toBe(1);
  });

  test('with another body or another path is refused with 409 and changes nothing', async () => {
    const headers = key();
    await reply(forum.as.ada, 'first', headers);
    const other = await reply(forum.as.ada, 'second', headers);
    expect([other.status, other.body.code, other.body.error]).toEqual([
      409,
      'idempotency_key_reused',
      expect.stringContaining('use a new key'),
    ]);
    const elsewhere = await forum.as.ada.post(
      '/api/discussions',
      { title: 'T', content: 'first', category_id: 'general' },
      headers,
    );
    expect([elsewhere.status, await times('second')]).toEqual([409, 0]);
  });

  test('belongs to its caller; another caller’s request with the same key is another request', async () => {
    const headers = key();
    const statuses = [await reply(forum.as.ada, 'mine', headers), await reply(forum.as.bob, 'yours', headers)].map(
      ({ status }) => status,
    );
    expect([statuses, await times('mine'), await times('yours')]).toEqual([[201, 201], 1, 1]);
  });

  test('that was refused can be sent again, corrected', async () => {
    const headers = key();
    expect((await reply(forum.as.ada, ' ', headers)).status).toBe(400);
    expect(
      (await forum.as.ada.post('/api/posts', { discussion_id: crypto.randomUUID(), content: 'x' }, headers)).status,
    ).toBe(404);
    expect((await reply(forum.as.ada, 'corrected', headers)).status).toBe(201);
    expect(await times('corrected')).toBe(1);
  });

  test('sent several times at once is executed once', async () => {
    const headers = key();
    const answers = await Promise.all(Array.from({ length: 8 }, () => reply(forum.as.ada, 'all at once', headers)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect([answers[0]?.status, await times('all at once')]).toEqual([201, 1]);
  });

  test('is answered again after its post is deleted, but not to callers who may not write', async () => {
    const headers = key();
    const first = await reply(forum.as.ada, 'short-lived', headers);
    await forum.as.ada.delete(`/api/posts/${first.body.post.id}`);
    expect((await reply(forum.as.ada, 'short-lived', headers)).text).toBe(first.text);
    expect((await reply(forum.as.bad, 'anything', headers)).status).toBe(403);
    expect((await reply(forum.guest, 'anything', headers)).status).toBe(401);
  });

  test('is stored together with what it created, in one transaction', async () => {
    const { data } = forum.app.app;
    const rows: unknown[] = [];
    const watcher = definePlugin({
      id: 'test-watcher',
      setup: (_services, plugin) =>
        plugin.on(
          postCreated,
          async ({ post }) => {
            rows.push(
              ...(await data.all(
                sql<{
                  status: number;
                  answer: string;
                }>`select status, answer from api_answer where answer like ${`%${post.id}%`}`,
              )),
            );
          },
          // The response waits for it.
          { awaited: true },
        ),
    });
    await install(forum.app, watcher);
    const answer = await reply(forum.as.bob, 'atomic', key());
    expect(rows).toEqual([{ status: 201, answer: answer.text }]);
    await forum.app.app.kernel.disable('test-watcher');
  });

  test.each(['', 'x'.repeat(256), 'naïve'])('is refused if the key is "%s"', async (value) => {
    const answer = await reply(forum.as.ada, 'never', { 'idempotency-key': value });
    expect([answer.status, answer.body.details[0].field]).toEqual([400, 'Idempotency-Key']);
    expect(await times('never')).toBe(0);
  });

  test('accepts keys of every allowed length', async () => {
    expect((await reply(forum.as.ada, 'short key', { 'idempotency-key': '.' })).status).toBe(201);
    expect((await reply(forum.as.ada, 'long key', { 'idempotency-key': '~'.repeat(255) })).status).toBe(201);
  });
});

test.runIf(onServer)('many members who send such a request at once leave connections for others', async () => {
  const { promise: rendered, resolve: render } = Promise.withResolvers<void>();
  let begun = 0;
  const slow = definePlugin({
    id: 'test-slow',
    setup: (_services, plugin) =>
      plugin.on(markdownHtml, async (html, { source }) => {
        if (source !== 'takes long') return html;
        begun++;
        await rendered;
        return html;
      }),
  });
  await install(forum.app, slow);
  // More than there are database connections.
  const members = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const [username, password] = [`Writer-${index}`, PASSWORD];
      await forum.app.app.service(Accounts).create({ username, email: `${username}@example.org`, password });
      const client = forum.app.client();
      await client.login(username, password);
      return client;
    }),
  );
  const replies = members.map((client) => reply(client, 'takes long', key()));
  await vi.waitFor(() => expect(begun).toBeGreaterThan(0), { timeout: 5_000 });
  const read = await Promise.race([forum.guest.get('/api/discussions?limit=37'), delay(2_500)]);
  render();
  expect(read).toMatchObject({ status: 200 });
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual(members.map(() => 201));
  await forum.app.app.kernel.disable('test-slow');
});

test('requests that create nothing ignore the header', async () => {
  const headers = key();
  const {
    body: { post },
  } = await reply(forum.as.ada, 'to be edited', headers);
  for (const content of ['one', 'two'])
    expect((await forum.as.ada.put(`/api/posts/${post.id}`, { content }, headers)).body.post.content).toBe(content);
  expect((await forum.guest.get(`/api/posts/${post.id}`, { 'idempotency-key': '' })).status).toBe(200);
});

test('a response is stored for a day, then expires and is deleted', async () => {
  const { data } = forum.app.app;
  const {
    body: { token },
  } = await forum.as.ada.post('/settings/security/api-token', undefined, { accept: 'application/json' });
  const headers = { ...key(), authorization: `Bearer ${token}` };
  await reply(forum.guest, 'daily', headers);
  forum.app.clock.advance(23 * 3_600_000);
  expect((await reply(forum.guest, 'daily', headers)).headers.get('idempotency-replayed')).toBe('true');
  forum.app.clock.advance(3_600_000);
  expect((await reply(forum.guest, 'daily', headers)).headers.get('idempotency-replayed')).toBeNull();
  expect(await times('daily')).toBe(2);

  forum.app.clock.advance(23 * 3_600_000);
  const kept = () => data.all(sql<{ key: string }>`select key from api_answer`);
  await new Idempotency(data, forum.app.clock).deleteExpired();
  expect(await kept()).toEqual([{ key: headers['idempotency-key'] }]);
  forum.app.clock.advance(3_600_000);
  await new Idempotency(data, forum.app.clock).deleteExpired();
  expect(await kept()).toEqual([]);
});
