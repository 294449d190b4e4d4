import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, type Client } from 'parley-forum/testing';
import { FULL, inFull } from '../kit/full.ts';
import { makeTestPlace, type TestPlace } from '../kit/database.ts';
import { makeSite, type OwnSite } from './fixtures/own-site.ts';
import { failed, readAll } from './fixtures/readers.ts';
import { parley, parleyWith, startServer, type ServerProcess } from './fixtures/server-process.ts';

const PASSWORD = 'Plain-Sailing-42';
const CONNECTIONS = 32;
/** Milliseconds of reading while the plugin misbehaves, and between two requests of each client. */
const [WHILE, REST] = FULL ? [10_000, 0] : [1_000, 50];
const LIMITS = [
  'api.rate_limit_user',
  'api.rate_limit_ip',
  'posts.rate_limit',
  'discussions.rate_limit',
  'pages.rate_limit',
  'login.attempt_rate_limit',
];

let place: TestPlace;
let site: OwnSite;
let server: ServerProcess;
let root: Client;
let discussion: { readonly id: string; readonly number: number };
const guest = (): Client => createClient(server.url);

beforeAll(async () => {
  place = await makeTestPlace();
  site = await makeSite(join(import.meta.dirname, 'fixtures/saboteur'), {
    ...Object.fromEntries(LIMITS.map((key) => [key, 1_000_000])),
    'hooks.deadline': 500,
    'hooks.setup': 2_000,
  });
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
  server = await startServer(place, undefined, { DRAIN_SECONDS: '1', PARLEY_SITE: site.folder });
  root = guest();
  await root.login('root', PASSWORD);
  ({ discussion } = (
    await root.post('/api/discussions', { title: 'Still here?', content: 'Yes', category_id: 'general' })
  ).body);
});
afterAll(async () => {
  await server?.end('SIGKILL').catch(() => undefined);
  await site?.[Symbol.asyncDispose]();
  await place?.remove();
});

const json = { accept: 'application/json' };
const about = async (id: string): Promise<any> =>
  (await root.get('/admin/plugins', json)).body.plugins.find((plugin: { id: string }) => plugin.id === id);
const lines = (): readonly any[] =>
  server.output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as unknown);
const setMode = async (mode: string): Promise<void> =>
  expect((await guest().post(`/saboteur/${encodeURIComponent(mode)}`)).status).toBe(303);
const turn = (on: boolean): Promise<{ readonly status: number }> =>
  root.post(`/admin/plugins/${on ? 'enable' : 'disable'}`, { id: 'saboteur' }, json);

/** The number of known failures of the plugin, including those in which it blocked the process. */
async function troubles(): Promise<number> {
  const { tasks, blocks } = await about('saboteur');
  return tasks.reduce((sum: number, { failures }: { failures: number }) => sum + failures, blocks?.count ?? 0);
}

/**
 * 32 clients read while `work` runs, and one writes; resolves to what was wrong and to the status codes of the
 * writes.
 */
async function inUse(
  work: () => Promise<unknown>,
): Promise<{ readonly wrong: readonly string[]; readonly written: readonly number[] }> {
  const clients = Array.from({ length: CONNECTIONS }, (_, at) => (at % 4 === 0 ? root : guest()));
  const readers = readAll({
    clients,
    rest: REST,
    paths: ['/', `/d/${discussion.number}-still-here`, '/api/discussions', '/ask-saboteur'],
    wrong: (answer, path) =>
      failed(answer) ?? (answer.status === 200 || path === '/ask-saboteur' ? undefined : answer.text.slice(0, 200)),
  });
  const written: number[] = [];
  const end = performance.now() + WHILE;
  await work();
  do {
    written.push(
      (await root.post('/api/posts', { discussion_id: discussion.id, content: `Written at ${performance.now()}` }))
        .status,
    );
    await sleep(50);
  } while (performance.now() < end);
  return { wrong: await readers.stop(), written: [...new Set(written)] };
}

describe('while a plugin misbehaves, every page is served and all other writes succeed:', () => {
  test.for([
    'promise rejects',
    'promise rejects with a circle',
    'promise rejects without a stack',
    'action hangs',
    'action throws',
    'action blocks',
    'filter hangs',
    'filter throws',
    'query hangs',
    'query throws',
    'slot hangs',
    'slot throws',
    'slot blocks',
  ])('%s', async (mode) => {
    const before = await troubles();
    const { wrong, written } = await inUse(() => setMode(mode));
    expect(wrong).toEqual([]);
    // While the process is blocked for seconds, Redis appears unresponsive to it.
    const answers = mode.endsWith('blocks') ? [201, 503] : [201];
    expect(written.filter((status) => !answers.includes(status))).toEqual([]);
    // While the process is constantly busy, no plugin is blamed for being late.
    for (const path of ['/', '/ask-saboteur']) await root.get(path);
    await expect.poll(troubles, { timeout: 10_000 }).toBeGreaterThan(before);
    await setMode('well');
    await root.post('/admin/plugins/release', { id: 'saboteur' }, json);
    expect(await about('saboteur')).toMatchObject({ state: 'active' });
  });

  test.for(['list throws', ...inFull('list hangs')])('%s: pages and records do without it', async (mode) => {
    await setMode(mode);
    const [typing, ...read] = await Promise.all([
      root.post('/api/typing-indicator/typing', { discussion_id: discussion.id }),
      ...[
        '/api/users/search?q=root',
        '/api/presence/members?usernames=root',
        '/',
        '/c/general',
        '/u/root',
        '/members?sort=last_seen',
        '/online',
        '/notifications',
        '/settings/notifications',
        '/drafts',
        '/admin/statistics',
      ].map((path) => root.get(path)),
      guest().login('root', PASSWORD),
    ]);
    const answers = [typing, ...read].filter((answer) => answer !== undefined);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers[1]?.body.users).toMatchObject([{ username: 'root' }]);
    // Whether members hide is unknown, so nobody is shown.
    expect(answers[2]?.body.usernames).toEqual([]);
    await setMode('well');
    await root.post('/admin/plugins/release', { id: 'saboteur' }, json);
  });

  test('change hangs: the account stays as it was, and others can write', async () => {
    await setMode('change hangs');
    const change = { current_password: PASSWORD, password: `${PASSWORD}!`, password_confirmation: `${PASSWORD}!` };
    const answers = [
      root.post('/settings/security/password', change),
      root.post('/api/posts', { discussion_id: discussion.id, content: 'Meanwhile' }),
    ];
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([500, 201]);
    expect((await about('saboteur')).tasks).toContainEqual(
      expect.objectContaining({ task: 'listener of account changes', failures: 1, quarantined: false }),
    );
    await setMode('well');
    await guest().login('root', PASSWORD);
  });

  test('job hangs', async () => {
    expect(await inUse(() => setMode('job hangs'))).toEqual({ wrong: [], written: [201] });
    await setMode('well');
  });

  test('check hangs or throws: only what it checks is refused, with 503', async () => {
    for (const mode of ['check hangs', 'check throws'])
      expect(await inUse(() => setMode(mode)), mode).toEqual({ wrong: [], written: [503] });
    expect((await about('saboteur')).tasks).toContainEqual(
      expect.objectContaining({ task: 'filter discussion.draft', refusing: true }),
    );
    await setMode('well');
    await expect
      .poll(async () => (await root.post('/api/posts', { discussion_id: discussion.id, content: 'Again' })).status, {
        timeout: 10_000,
      })
      .toBe(201);
  });

  test('undo hangs: it can still be disabled and enabled', async () => {
    const switched = async (): Promise<void> => {
      await setMode('undo hangs');
      for (const on of [false, true]) expect((await turn(on)).status).toBe(200);
    };
    expect(await inUse(switched)).toEqual({ wrong: [], written: [201] });
    await setMode('well');
  });

  test('setup hangs: it stays off after its deadline with this reason, and can be enabled again', async () => {
    const switched = async (): Promise<void> => {
      await setMode('setup hangs');
      expect((await turn(false)).status).toBe(200);
      expect(await turn(true)).toMatchObject({
        status: 409,
        body: { error: expect.stringContaining('its setup did not finish within 2000 ms') },
      });
    };
    expect(await inUse(switched)).toEqual({ wrong: [], written: [201] });
    expect((await turn(true)).status).toBe(200);
  });

  test.for([
    ['timer throws', 'timer throws, as told'],
    ['timer throws a text', 'timer throws a text, as told'],
    ['timer throws a circle', 'timer throws a circle, as told ← the other one'],
    ['timer throws what cannot be printed', 'a value that cannot be printed was thrown'],
    ['connection fails', 'connect ECONNREFUSED 127.0.0.1:1'],
  ] as const)(
    '%s: the plugin is disabled and shown with the reason, the log names it, and the process survives',
    async ([mode, problem]) => {
      expect(await inUse(() => setMode(mode))).toEqual({ wrong: [], written: [201] });
      expect(await about('saboteur')).toMatchObject({ state: 'failed', problem });
      expect((await root.get('/admin')).text).toContain(problem);
      expect(lines()).toContainEqual(
        expect.objectContaining({
          plugin: 'saboteur',
          msg: expect.stringContaining('it is switched off in this process'),
        }),
      );
      expect((await turn(true)).status).toBe(200);
      expect(await about('saboteur')).toMatchObject({ state: 'active' });
    },
  );
});

test('afterwards no other plugin has failed or was quarantined', async () => {
  const { plugins } = (await root.get('/admin/plugins', json)).body as { plugins: readonly any[] };
  const others = plugins.filter(({ id }) => id !== 'saboteur');
  expect(others.filter(({ state, problem }) => state !== 'active' || problem !== undefined)).toEqual([]);
  expect(
    others.flatMap(({ id, tasks }) =>
      tasks.filter((task: any) => task.quarantined || task.refusing).map((task: any) => [id, task.task]),
    ),
  ).toEqual([]);
});

test('an exception without a plugin to blame: the process drains, and exits with code 70', async () => {
  await setMode('nobody throws');
  await expect.poll(async () => (await guest().get('/readyz')).status).toBe(503);
  expect((await guest().get('/')).status).toBe(200);
  expect(await server.ended).toEqual({ code: 70, signal: null });
  expect(lines()).toContainEqual(
    expect.objectContaining({ level: 50, msg: expect.stringContaining('no plugin is responsible') }),
  );
});

describe('while its module is loaded', () => {
  const environment = {
    DRAIN_SECONDS: '0',
    get PARLEY_SITE() {
      return site.folder;
    },
  };

  test.for([
    ['throws', 'failed', 'module throws, as told'],
    ...inFull(['rejects', 'active', undefined] as const),
  ] as const)('it %s: the server starts, and the log names it', async ([module, state, problem]) => {
    server = await startServer(place, undefined, { ...environment, SABOTEUR_MODULE: module });
    root = guest();
    await root.login('root', PASSWORD);
    expect(await about('saboteur')).toMatchObject({ state, ...(problem && { problem }) });
    expect(lines()).toContainEqual(
      expect.objectContaining({
        level: 50,
        plugin: 'saboteur',
        error: expect.objectContaining({ message: `module ${module}, as told` }),
      }),
    );
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test.runIf(FULL)('commands still work', async () => {
    for (const module of ['throws', 'rejects'])
      await parleyWith({ ...environment, SABOTEUR_MODULE: module }, place, 'plugin', 'disable', 'saboteur');
    server = await startServer(place, undefined, environment);
    root = guest();
    await root.login('root', PASSWORD);
    expect(await about('saboteur')).toMatchObject({ wanted: false, state: 'off' });
  });
});
