import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from 'parley-forum/testing';
import { makeTestPlace, type TestPlace } from '../kit/database.ts';
import { parley, startServer, type ServerProcess } from './fixtures/server-process.ts';

const FULL = process.env['PARLEY_FULL'] === '1';
const ROUNDS = FULL ? 20 : 3;
const WRITERS = 6;
const DISCUSSIONS = 3;
const PASSWORD = 'Plain-Sailing-42';

interface Post {
  readonly id: string;
  readonly discussion_id: string;
  readonly number: number;
  readonly content: string;
}

let place: TestPlace;
let server: ServerProcess;
let token = '';
/** Everything that was ever answered with 201. */
const answered: Post[] = [];
const discussions: string[] = [];
let sent = 0;

const authorised = (): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});
async function get(path: string): Promise<any> {
  const answer = await fetch(server.url + path, { headers: authorised() });
  expect(answer.status, path).toBe(200);
  return answer.json();
}

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
  const limits = {
    'api.rate_limit_user': 1_000_000,
    'api.rate_limit_ip': 1_000_000,
    'posts.rate_limit': 1_000_000,
    'discussions.rate_limit': 1_000_000,
  };
  const { status, text: problem } = await client.post('/admin/settings/save', limits, json);
  if (status !== 200) throw new Error(`the limits cannot be raised: ${problem}`);
  token = (await client.post('/settings/security/api-token', undefined, json)).body.token;
  for (let at = 0; at < DISCUSSIONS; at++) {
    const { body } = await client.post('/api/discussions', {
      title: `Log number ${at}`,
      content: `begin ${at}`,
      category_id: 'general',
    });
    discussions.push(body.discussion_id);
    answered.push({ id: body.post_id, discussion_id: body.discussion_id, number: 1, content: `begin ${at}` });
  }
}, 120_000);
afterAll(async () => {
  await server?.end('SIGKILL').catch(() => undefined);
  await place?.remove();
});

async function created(response: Response): Promise<Post> {
  const text = await response.text();
  expect(response.status, text).toBe(201);
  return (JSON.parse(text) as { post: Post }).post;
}
/** What a connection says whose server was killed; an answer that is wrong is another matter. */
function gone(error: unknown): undefined {
  if (!(error instanceof TypeError)) throw error;
}

/** Writes one reply after the other until the server is gone. */
async function write(): Promise<void> {
  for (;;) {
    const content = `entry ${++sent}`;
    const body = JSON.stringify({ discussion_id: discussions[sent % DISCUSSIONS], content });
    const post = await fetch(`${server.url}/api/posts`, { method: 'POST', headers: authorised(), body })
      .then(created)
      .catch(gone);
    if (!post) return;
    answered.push(post);
  }
}

async function postsOf(discussion: string): Promise<Post[]> {
  const posts: Post[] = [];
  for (let more = true; more;) {
    const page = await get(`/api/discussions/${discussion}/posts?limit=100&offset=${posts.length}`);
    posts.push(...page.posts);
    more = page.hasMore;
  }
  return posts;
}

/** Everything answered is there once, numbers have no gap, and what is counted is what is there. */
async function expectWhole(): Promise<void> {
  let total = 0;
  for (const discussion of discussions) {
    const posts = await postsOf(discussion);
    total += posts.length;
    expect(posts.map(({ number }) => number)).toEqual(posts.map((_, at) => at + 1));
    expect(new Set(posts.map(({ content }) => content)).size).toBe(posts.length);
    const there = new Map(posts.map((post) => [post.id, post]));
    expect(there.size).toBe(posts.length);
    const own = answered.filter((post) => post.discussion_id === discussion);
    for (const { id, number, content } of own) expect(there.get(id)).toMatchObject({ number, content });
    expect((await get(`/api/discussions/${discussion}`)).discussion).toMatchObject({
      reply_count: posts.length - 1,
      participant_count: 1,
    });
  }
  expect((await get('/api/categories/general')).category).toMatchObject({
    discussion_count: DISCUSSIONS,
    post_count: total,
  });
  const { discussion } = await get(`/api/discussions/${discussions[0]}`);
  expect((await get(`/api/users/${discussion.author.id}`)).user).toMatchObject({
    discussion_count: DISCUSSIONS,
    post_count: total,
  });
}

describe('a server that is killed while members write', () => {
  test.each(Array.from({ length: ROUNDS }, (_, at) => at + 1))(
    'has every answered post once, without gaps and rightly counted, after restart %i',
    async () => {
      const before = answered.length;
      const enough = before + 5 + Math.floor(Math.random() * 60);
      const writers = Array.from({ length: WRITERS }, write);
      await expect.poll(() => answered.length, { interval: 5, timeout: 60_000 }).toBeGreaterThan(enough);
      // Somewhere inside a request, wherever that is.
      await sleep(Math.random() * 30);
      expect(await server.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
      await Promise.all(writers);
      server = await startServer(place);
      await expectWhole();
    },
    120_000,
  );
});

/** A request whose headers the server has read and whose body it waits for. */
async function begin(
  content: string,
): Promise<{ readonly finish: () => Promise<{ readonly status: number | undefined; readonly post: Post }> }> {
  const under: ClientRequest = request(`${server.url}/api/posts`, {
    method: 'POST',
    headers: { ...authorised(), expect: '100-continue' },
    agent: false,
  });
  under.flushHeaders();
  await once(under, 'continue');
  const answering = once(under, 'response') as Promise<[IncomingMessage]>;
  // Told by `finish`; until then nobody listens.
  answering.catch(() => undefined);
  return {
    async finish() {
      under.end(JSON.stringify({ discussion_id: discussions[0], content }));
      const [answer] = await answering;
      return { status: answer.statusCode, post: JSON.parse(await text(answer)).post };
    },
  };
}

describe('npm start, told to stop as a whole process group while requests are under way', () => {
  test('finishes them, takes no new ones even on kept connections, ends with 0, and has what it answered', async () => {
    await server.end('SIGTERM');
    server = await startServer(place, ['npm', 'start']);
    const underWay = await Promise.all(Array.from({ length: 8 }, (_, at) => begin(`last ${at}`)));
    server.signal('SIGTERM');
    await expect
      .poll(
        () =>
          fetch(`${server.url}/healthz`).then(
            ({ status }) => status,
            () => 'refused',
          ),
        { timeout: 5_000 },
      )
      .toBe('refused');
    for (const { status, post } of await Promise.all(underWay.map(({ finish }) => finish()))) {
      expect(status).toBe(201);
      answered.push(post);
    }
    expect(await server.ended).toEqual({ code: 0, signal: null });
    server = await startServer(place);
    await expectWhole();
  }, 60_000);
});
