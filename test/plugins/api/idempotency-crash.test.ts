import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from 'parley-forum/testing';
import { parley, startServer, type ServerProcess } from '../../core/fixtures/server-process.ts';
import { makeTestPlace, type TestPlace } from '../../kit/database.ts';

const ROUNDS = process.env['PARLEY_FULL'] === '1' ? 10 : 2;
const WRITERS = 6;
const PASSWORD = 'Plain-Sailing-42';

let place: TestPlace;
let server: ServerProcess;
let token = '';
let discussion = '';
let sent = 0;
/** What was sent and never answered, by key. */
const unanswered = new Map<string, string>();
const answered = new Map<string, string>();

beforeAll(async () => {
  place = await makeTestPlace();
  await parley(
    place,
    'install',
    '--admin-username',
    'root',
    '--admin-email',
    'root@forum.test',
    '--admin-password',
    PASSWORD,
  );
  server = await startServer(place);
  const client = createClient(server.url);
  await client.login('root', PASSWORD);
  const json = { accept: 'application/json' };
  await client.post('/admin/settings/save', { 'api.rate_limit_user': 1_000_000, 'posts.rate_limit': 1_000_000 }, json);
  token = (await client.post('/settings/security/api-token', undefined, json)).body.token;
  discussion = (await client.post('/api/discussions', { title: 'A journal', content: 'begin', category_id: 'general' }))
    .body.discussion_id;
}, 120_000);
afterAll(async () => {
  await server?.end('SIGKILL').catch(() => undefined);
  await place?.remove();
});

async function send(key: string, content: string): Promise<void> {
  unanswered.set(key, content);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key };
  const response = await fetch(`${server.url}/api/posts`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ discussion_id: discussion, content }),
  });
  const answer = (await response.json()) as { post: { id: string } };
  expect(response.status, JSON.stringify(answer)).toBe(201);
  unanswered.delete(key);
  answered.set(content, answer.post.id);
}

/** Writes one reply after the other until the server is gone. */
async function write(): Promise<void> {
  for (;;) {
    const number = ++sent;
    try {
      await send(`key ${number}`, `entry ${number}`);
    } catch (error) {
      if (error instanceof TypeError) return;
      throw error;
    }
  }
}

test('what a killed server did not answer is sent again with its key, and everything is there exactly once', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const enough = answered.size + 10 + Math.floor(Math.random() * 40);
    const writers = Array.from({ length: WRITERS }, write);
    await expect.poll(() => answered.size, { interval: 5, timeout: 60_000 }).toBeGreaterThan(enough);
    await sleep(Math.random() * 20);
    await server.end('SIGKILL');
    await Promise.all(writers);
    expect(unanswered.size).toBeGreaterThan(0);
    server = await startServer(place);
    for (const [key, content] of unanswered) await send(key, content);
  }
  const found: string[] = [];
  for (let more = true; more;) {
    const response = await fetch(
      `${server.url}/api/discussions/${discussion}/posts?limit=100&offset=${found.length + 1}`,
      { headers: { authorization: `Bearer ${token}` } },
    );
    const page = (await response.json()) as { posts: { id: string; content: string }[]; hasMore: boolean };
    for (const { id, content } of page.posts) expect(answered.get(content)).toBe(id);
    found.push(...page.posts.map(({ content }) => content));
    more = page.hasMore;
  }
  expect(found.toSorted()).toEqual([...answered.keys()].toSorted());
}, 300_000);
