import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { createClient, type Client } from 'parley-forum/testing';
import { readEnvironment } from '../../config/environment.ts';
import { ServerProcess } from '../../core/host/process.ts';
import { Setup } from '../../core/host/setup.ts';
import { SITE } from '../../core/host/site.ts';
import { makeTestPlace, testLog, type TestPlace } from '../kit/database.ts';
import { plain, plainPlugin } from './fixtures/plain.ts';

/** More than run at once while the processor is busy. */
const MANY = 24;

let place: TestPlace;
let running: ServerProcess;
let visitor: Client;
let came = 0;
const enough = new AbortController();

/** Keeps the processor busy until the test ends it. */
const busy = definePlugin({
  id: 'busy',
  setup(_services, plugin) {
    plugin.route(plain, { method: 'get', path: '/works', can: 'public' })(async () => {
      while (!enough.signal.aborted) {
        for (const until = performance.now() + 2; performance.now() < until;);
        await nextTurn();
      }
      return 'done';
    });
  },
});
const setup = definePlugin({
  id: 'setup',
  provides: { setup: Setup },
  setup: () => ({ setup: { begin: () => ({ notice: '', gate: (_req, _res, next) => next() }) } }),
});

beforeAll(async () => {
  place = await makeTestPlace();
  const variables = {
    DATA_DIR: place.folder,
    PORT: '0',
    BASE_URL: 'http://forum.test',
    SECRET_KEY: 'x'.repeat(32),
    ...(place.url !== undefined && { DATABASE_URL: place.url }),
  };
  running = new ServerProcess({
    read: async () => ({
      site: SITE,
      environment: readEnvironment(variables),
      configuration: { plugins: [], required: [], settings: {} },
      log: testLog,
      plugins: [plainPlugin, busy, setup],
      around: (req, _res, answer) => {
        if (req.url === '/works') came++;
        answer();
      },
    }),
    print: () => undefined,
    failed: (error) => {
      throw error;
    },
  });
  visitor = createClient(`http://127.0.0.1:${await running.open()}`);
});
afterAll(async () => {
  await running?.close();
  await place?.remove();
});

test('on reopening, waiting requests are answered by the old instance, new ones immediately', async () => {
  const earlier = Array.from({ length: MANY }, () => visitor.get('/works'));
  await expect.poll(() => came, { interval: 1 }).toBe(MANY);
  const reopened = running.reopen((_req, res) => void res.status(503).send('one moment'));
  const meanwhile = await Promise.all(Array.from({ length: MANY }, () => visitor.get('/works')));
  expect(new Set(meanwhile.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['503 one moment']));
  expect((await visitor.get('/healthz')).status).toBe(200);
  enough.abort();
  const answers = await Promise.all(earlier);
  expect(new Set(answers.map(({ status, body }) => `${status} ${body as string}`))).toEqual(new Set(['200 done']));
  await reopened;
  expect(await visitor.get('/works')).toMatchObject({ status: 200, body: 'done' });
});
