import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';

let first: TestForum;
let second: TestForum;
let authorization: string;
let discussion: string;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  await first.app
    .service(Accounts)
    .create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD, groupId: 'member' });
  const client = first.client();
  await client.login('ada', PASSWORD);
  authorization = `Bearer ${(await client.post('/settings/security/api-token', undefined, { accept: 'application/json' })).body.token}`;
  discussion = (await client.post('/api/discussions', { title: 'Shared', content: 'x', category_id: 'general' })).body
    .discussion_id;
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
});

/** Calls each process in turn. */
const each = <T>(count: number, call: (app: TestForum) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => call(at % 2 ? first : second)));

test('two processes share one limit exactly, for guests and for members', async () => {
  const settings = { 'api.rate_limit_ip': 40, 'api.rate_limit_user': 30 };
  await first.app.settings.set(settings);
  await expect
    .poll(async () => (await second.client().get('/api/version')).headers.get('x-ratelimit-limit'), { timeout: 5_000 })
    .toBe('40');
  for (const [limit, headers] of [
    [40, {}],
    [30, { authorization }],
  ] as const) {
    // Earlier calls count too.
    const { headers: seen } = await first.client().get('/api/version', headers);
    const left = Number(seen.get('x-ratelimit-remaining'));
    const answers = await each(60, (app) => app.client().get('/api/version', headers));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(left);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(60 - left);
    const remaining = answers
      .filter(({ status }) => status === 200)
      .map((answer) => Number(answer.headers.get('x-ratelimit-remaining')))
      .toSorted((a, b) => a - b);
    expect(remaining).toEqual(Array.from({ length: left }, (_, at) => at));
    expect(new Set(answers.map((answer) => answer.headers.get('x-ratelimit-limit')))).toEqual(new Set([String(limit)]));
  }
  await first.app.settings.reset(Object.keys(settings));
  await first.app.settings.set({ 'api.rate_limit_user': 100_000, 'api.rate_limit_ip': 100_000 });
  await expect
    .poll(async () => (await second.client().get('/api/version', { authorization })).status, { timeout: 5_000 })
    .toBe(200);
});

test('a request with a key that reaches both processes at once is executed by one of them', async () => {
  for (let round = 0; round < 10; round++) {
    const headers = { authorization, 'idempotency-key': `round ${round}` };
    const answers = await each(6, (app) =>
      app.client().post('/api/posts', { discussion_id: discussion, content: `round ${round}` }, headers),
    );
    expect(
      new Set(answers.map(({ status, text }) => `${status} ${text}`)).size,
      answers.map(({ text }) => text).join('\n'),
    ).toBe(1);
    expect(answers[0]?.status).toBe(201);
  }
  const { body } = await second.client().get(`/api/discussions/${discussion}/posts?limit=100`);
  expect(body.posts.map(({ content }: { content: string }) => content)).toEqual([
    'x',
    ...Array.from({ length: 10 }, (_, round) => `round ${round}`),
  ]);
});

test('a starting process leaves another’s cache alone, and disabling a plugin purges what it contributed to', async () => {
  await using here = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = here.app.environment;
  const guest = here.client();
  const read = (): Promise<number> => here.statements(() => guest.get('/api/discussions'));
  expect([await read(), await read()]).toEqual([1, 0]);
  await using there = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  expect(await read()).toBe(0);
  await here.app.service(Accounts).create({ username: 'bob', email: 'bob@forum.test', password: PASSWORD });
  const bob = here.client();
  await bob.login('bob', PASSWORD);
  await bob.post('/api/discussions', { title: 'Kept', content: 'x', category_id: 'general' });
  const kept = async (): Promise<object> => (await guest.get('/api/discussions')).body.discussions[0];
  expect(await kept()).toHaveProperty('tags');
  await there.app.plugins.disable('tags');
  await expect.poll(kept, { timeout: 5_000 }).not.toHaveProperty('tags');
  await there.app.plugins.enable('tags');
  await expect.poll(kept, { timeout: 5_000 }).toHaveProperty('tags');
});
