import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startReceiver } from '../../plugins/webhooks/receiver.ts';
import { Findings, within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal } from './journal.ts';
import { JSON_ONLY } from './prepared.ts';
import type { Scenario } from './scenario.ts';

const LIMIT = 200;
/** Requests sent at once against that limit, half to each process. */
const REQUESTS = 400;
/** Seconds of a window of that limit, a minute, in which they have all been answered, on a busy machine too. */
const ROOM = 20;
/** Seconds within which every process has followed a change, and the work of a dead one is taken over. */
const [FOLLOWED, TAKEN_OVER] = [2, 60];
/** Webhooks whose deliveries are pending when a process is killed. */
const WEBHOOKS = 8;

/** Two processes on one database and one Redis count together, agree, and one goes on when the other is killed. */
export const twoProcesses: Scenario = {
  id: 'two-processes',
  name: 'Two processes, one killed',
  leftOut: ({ database, redis }) =>
    database === 'embedded' ? 'it serves one process' : redis === undefined ? 'no Redis is named' : undefined,
  async run(ground) {
    const found = new Findings();
    await using receiver = await startReceiver();
    await using forum = await Forum.open(await ground.forums.next(), { REDIS_URL: ground.redis! });
    const first = forum.server;
    const second = await forum.start();
    const urls = [first.url, second.url];
    const through = await countTogether(forum, urls, found);
    await agree(forum, urls, found);
    await hold(forum, first.url, receiver.url);
    const journal = new Journal(forum, ground);
    const over = new AbortController();
    // Requests to the webhooks hang, so that they are pending when their process is killed.
    receiver.reply = {};
    const writing = journal.write(4, over.signal, () => urls);
    found.check(
      (await within(30, async () => receiver.open.now >= WEBHOOKS && journal.answered.size > 20)) !== undefined,
      'the webhooks were not told',
    );
    await first.end('SIGKILL');
    receiver.reply = { status: 204 };
    const answered = journal.answered.size;
    found.check(
      (await within(5, async () => journal.answered.size > answered + 10)) !== undefined,
      'the other process did not go on',
    );
    over.abort();
    await writing;
    if (!ground.long) await expireLeases(forum.prepared.place.url!);
    const sent = (): ReadonlySet<string> =>
      new Set(receiver.received.map(({ path, body: { data } }) => `${path} ${data.post.id}`));
    const expected = [...journal.answered.values()].flatMap(({ id }) =>
      Array.from({ length: WEBHOOKS }, (_, at) => `/hook/${at} ${id}`),
    );
    const undelivered = (): number => expected.filter((one) => !sent().has(one)).length;
    const took = await within(TAKEN_OVER, async () => undelivered() === 0);
    found.check(took !== undefined, `${undelivered()} of ${expected.length} deliveries were not taken over`);
    const later = ground.long && took !== undefined ? ` ${took.toFixed(0)} s later` : '';
    const tried =
      `${REQUESTS} calls at both against a limit of ${LIMIT}: ${through} accepted; ` +
      `presence, typing and the state of a plugin were the same in both within ${FOLLOWED} s; one killed with pending deliveries: ` +
      `the other kept answering, ${expected.length} deliveries of ${journal.answered.size} posts complete${later}`;
    return { tried, lost: [...found.lost, ...(await journal.lost())] };
  },
};

/** A limit lets exactly as many through as it says, whoever they ask. */
async function countTogether(forum: Forum, urls: readonly string[], found: Findings): Promise<number> {
  const admin = await forum.member();
  await admin.post('/admin/settings/save', { 'api.rate_limit_ip': LIMIT }, JSON_ONLY);
  await within(FOLLOWED, async () => {
    const seen = await Promise.all(urls.map((url) => forum.guest(url).get('/api/version')));
    return seen.every(({ headers }) => headers.get('x-ratelimit-limit') === String(LIMIT));
  });
  const left = await leftInWindow(forum);
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, (_, at) => forum.guest(urls[at % 2]).get('/api/version')),
  );
  const through = answers.filter(({ status }) => status === 200).length;
  found.equal(through, left, `accepted calls of ${REQUESTS}`);
  await admin.post('/admin/settings/save', { 'api.rate_limit_ip': 1_000_000 }, JSON_ONLY);
  return LIMIT - left + through;
}

/** What a guest has left, once there is time enough to use it up. */
async function leftInWindow(forum: Forum): Promise<number> {
  const { headers } = await forum.guest().get('/api/version');
  const rest = Number(headers.get('x-ratelimit-reset')) * 1_000 - Date.now();
  if (rest > ROOM * 1_000) return Number(headers.get('x-ratelimit-remaining'));
  await sleep(rest + 1_000);
  return leftInWindow(forum);
}

/** Who is here, who is writing, and which plugins run, is the same in both. */
async function agree(forum: Forum, urls: readonly string[], found: Findings): Promise<void> {
  const [here = '', there = ''] = urls;
  const member = await forum.member(here);
  await member.get('/');
  const same = async (path: string, url: string): Promise<string> => {
    const text = await (await forum.call(path, { url })).text();
    return text.replace(/"(request_id|last_seen_at)":"[^"]*"/g, '');
  };
  for (const path of [
    '/api/presence/stats',
    '/api/presence/visitors',
    `/api/typing-indicator/status?discussion_id=${forum.discussions[0]}`,
  ]) {
    await forum.call('/api/typing-indicator/typing', {
      method: 'POST',
      body: { discussion_id: forum.discussions[0] },
      url: here,
    });
    const took = await within(FOLLOWED, async () => (await same(path, here)) === (await same(path, there)));
    found.check(took !== undefined, `${path} differs: ${await same(path, here)} and ${await same(path, there)}`);
  }
  const seen = await same(`/api/typing-indicator/status?discussion_id=${forum.discussions[0]}`, there);
  found.check(seen.includes('"root"'), 'who writes at one process is not seen at the other');
  for (const [action, status] of [
    ['disable', 404],
    ['enable', 200],
  ] as const) {
    await member.post(`/admin/plugins/${action}`, { id: 'feeds' }, JSON_ONLY);
    const took = await within(FOLLOWED, async () => {
      const answers = await Promise.all(urls.map((url) => forum.guest(url).get('/feed/rss')));
      return answers.every((answer) => answer.status === status);
    });
    found.check(took !== undefined, `a plugin's ${action} was not followed within ${FOLLOWED} s`);
  }
}

async function hold(forum: Forum, url: string, receiver: string): Promise<void> {
  const admin = await forum.member(url);
  for (let at = 0; at < WEBHOOKS; at++) {
    const { status, text } = await admin.post(
      '/admin/webhooks/save',
      { name: `Witness ${at}`, url: `${receiver}/${at}`, events: ['post.created'] },
      JSON_ONLY,
    );
    if (status !== 201) throw new Error(text);
  }
}

/** Half a minute passes for the leases of the dead process's work. */
async function expireLeases(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`update job set run_at = now() where owner is not null;
    delete from job_pause`);
  await client.end();
}
