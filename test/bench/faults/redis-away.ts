import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { openProxy } from '../../plugins/cache/redis-proxy.ts';
import { Findings, within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal, wordOf } from './journal.ts';
import { JSON_ONLY, PASSWORD } from './prepared.ts';
import type { Scenario } from './scenario.ts';
import { canStartRedis, startRedis, type OwnServer } from './servers.ts';

const WRITERS = 3;
/** Seconds within which everything is as before once Redis is back. */
const BACK = 10;
/** Only Redis knows who is here. */
const WHO_IS_HERE = /^\/(?:online|api\/presence)/;

/** How it goes away. */
interface Manner {
  readonly id: string;
  readonly name: string;
  readonly how: string;
  /** A Redis that is hurt in this manner by `stop`. */
  open(): Promise<OwnServer>;
}

const gone = ({ how, open, ...manner }: Manner): Scenario => ({
  ...manner,
  leftOut({ database }) {
    if (database === 'embedded') return 'the embedded database serves one process, which needs no Redis';
    return canStartRedis ? undefined : 'there is no redis-server';
  },
  async run(ground) {
    const rounds = ground.long ? 5 : 1;
    const found = new Findings();
    await using redis = await open();
    await using forum = await Forum.open(await ground.forums.next(), { REDIS_URL: redis.url });
    const journal = new Journal(forum, ground);
    const over = new AbortController();
    const writing = journal.write(WRITERS, over.signal);
    const member = await forum.member();
    let slowest = 0;
    for (let round = 0; round < rounds; round++) {
      found.equal((await member.get('/settings/security')).status, 200, 'a page for members only, before');
      const stream = await openStream(forum);
      await redis.stop();
      await whileAway(forum, member, found);
      await sleep(ground.long ? 8_000 : 500);
      found.check(await heardSince(stream, forum), 'a stream was not told of a post while Redis was away');
      await redis.start();
      slowest = Math.max(slowest, (await afterwards(forum, member, found)) ?? Infinity);
      stream.end();
    }
    over.abort();
    await writing;
    found.equal([...journal.refused], [], 'what writers with a token were refused');
    const tried =
      `${rounds} times ${how} while ${WRITERS} members wrote by token (${journal.answered.size} posts, none refused); ` +
      'guests and a member with a session kept reading; login, logout and writing by session: 503 with Retry-After; a stream continued; ' +
      `normal operation ${slowest.toFixed(1)} s after Redis was back, with the same session`;
    return { tried, lost: [...found.lost, ...(await journal.lost())] };
  },
});

/** Redis is killed while guests and members read and write, stays away, and comes back. */
export const redisAway = gone({
  id: 'redis-away',
  name: 'Redis gone while serving',
  how: 'killed and started',
  open: startRedis,
});
/** Redis stops answering without closing connections, like a machine that has vanished, and is reachable again. */
export const redisSilent = gone({
  id: 'redis-silent',
  name: 'Redis silent',
  how: 'unreachable without closing a connection, then reachable again,',
  open: silenced,
});

async function silenced(): Promise<OwnServer> {
  const redis = await startRedis();
  const line = await openProxy(redis.url);
  const close = async (): Promise<void> => {
    line.close();
    await redis[Symbol.asyncDispose]();
  };
  return {
    url: line.url,
    stop: async () => line.freeze(),
    start: async () => line.mend(),
    [Symbol.asyncDispose]: close,
  };
}

type Member = Awaited<ReturnType<Forum['member']>>;

async function whileAway(forum: Forum, member: Member, found: Findings): Promise<void> {
  for (const path of [
    '/',
    '/d/1-journal-0',
    '/categories',
    '/online',
    '/api/discussions',
    '/api/presence/stats',
    '/feed/rss',
    '/healthz',
  ]) {
    const { status } = await forum.guest().get(path);
    found.check(
      status === 200 || (status === 503 && WHO_IS_HERE.test(path)),
      `GET ${path} of a guest answered ${status}`,
    );
  }
  for (const path of ['/', '/api/discussions', '/settings/security', '/api/notifications']) {
    found.equal(
      (await member.get(path, path.startsWith('/api') ? {} : { accept: 'text/html' })).status,
      200,
      `GET ${path} of a member with a session`,
    );
  }
  found.equal(
    [(await forum.guest().get('/readyz')).status, (await forum.guest().get('/readyz?strict')).status],
    [200, 503],
    'GET /readyz, and asked strictly',
  );
  const guest = forum.guest();
  await guest.csrf('/login');
  const login = await guest.request('POST', '/login', {
    headers: JSON_ONLY,
    json: { identifier: 'root', password: PASSWORD },
  });
  const post = await member.post('/api/posts', { discussion_id: forum.discussions[0], content: 'By session' });
  const logout = await member.request('POST', '/logout', { form: {}, headers: JSON_ONLY });
  for (const [what, { status, headers }] of Object.entries({ login, post, logout })) {
    found.equal(
      [status, Number(headers.get('retry-after')) > 0],
      [503, true],
      `${what} by session: status, whether it says when to come back`,
    );
  }
}

/** Seconds until everything is as before. */
async function afterwards(forum: Forum, member: Member, found: Findings): Promise<number | undefined> {
  const ready = async (): Promise<boolean> => (await forum.guest().get('/readyz?strict')).status === 200;
  const took = await within(
    BACK,
    async () => (await ready()) && (await member.post('/api/presence/update', { page: '/' })).status === 200,
  );
  found.check(took !== undefined, `not everything was as before after ${BACK} s`);
  found.equal((await member.get('/settings/security')).status, 200, 'the session of before, afterwards');
  await forum.member().catch((error: unknown) => found.check(false, String(error)));
  return took;
}

interface OpenStream {
  readonly heard: () => string;
  end(): void;
}

async function openStream(forum: Forum): Promise<OpenStream> {
  const abort = new AbortController();
  const response = await fetch(`${forum.url}/api/live`, {
    headers: { authorization: `Bearer ${forum.prepared.token}` },
    signal: abort.signal,
  });
  let text = '';
  void (async () => {
    for await (const chunk of response.body!) text += Buffer.from(chunk as Uint8Array).toString();
  })().catch(() => undefined);
  return { heard: () => text, end: () => abort.abort() };
}

async function heardSince({ heard }: OpenStream, forum: Forum): Promise<boolean> {
  const content = `Said while Redis was away ${wordOf(randomBytes(6).toString('hex'))}`;
  const response = await forum.call('/api/posts', {
    method: 'POST',
    body: { discussion_id: forum.discussions[0], content },
  });
  await response.text();
  return (await within(10, async () => heard().includes(content))) !== undefined;
}
