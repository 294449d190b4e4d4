import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createClient } from 'parley-forum/testing';
import { FULL } from '../../kit/full.ts';
import { parley, startServer, type ServerProcess } from '../../core/fixtures/server-process.ts';
import { makeTestPlace, type TestPlace } from '../../kit/database.ts';
import { JSON_ONLY } from './forum.ts';
import { startReceiver, verify, type Receiver } from './receiver.ts';

const ROUNDS = FULL ? 100 : 2;
const PASSWORD = 'Plain-Sailing-42';
/** Milliseconds within which an interrupted delivery is sent again. */
const AGAIN = 60_000;

let place: TestPlace;
let server: ServerProcess;
let receiver: Receiver;
let token = '';
let secret = '';
let count = 0;
/** The number of received requests whose signatures have been verified. */
let verified = 0;
/** The titles of all discussions created with 201. */
const answered: string[] = [];

beforeAll(async () => {
  place = await makeTestPlace();
  receiver = await startReceiver();
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
  await client.post(
    '/admin/settings/save',
    { 'discussions.rate_limit': 1_000_000, 'api.rate_limit_user': 1_000_000, 'webhooks.retry_delays': [1, 1, 1, 1] },
    JSON_ONLY,
  );
  token = (await client.post('/settings/security/api-token', undefined, JSON_ONLY)).body.token;
  const { body, status, text } = await client.post(
    '/admin/webhooks/save',
    { name: 'Witness', url: receiver.url, events: ['discussion.created'] },
    JSON_ONLY,
  );
  if (status !== 201) throw new Error(text);
  secret = body.secret;
});
afterAll(async () => {
  await server?.end('SIGKILL').catch(() => undefined);
  await receiver?.[Symbol.asyncDispose]();
  await place?.remove();
});

/** Starts a discussion, if the server is still running. */
async function start(): Promise<void> {
  const title = `Event ${++count}`;
  const body = JSON.stringify({ title, content: 'Something happened', category_id: 'general' });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}/api/discussions`, { method: 'POST', headers, body }).then(
    ({ status }) => status,
    () => undefined,
  );
  if (answer === 201) answered.push(title);
}
const titles = (): ReadonlySet<string> => new Set(receiver.received.map(({ body }) => body.data.discussion.title));

/** All requests have valid signatures, and repeated ones are identical. */
function expectTrue(): void {
  // Verified soon after arrival: signatures expire after five minutes.
  for (const request of receiver.received.slice(verified)) verify(secret, request);
  verified = receiver.received.length;
  const pairs = new Set(
    receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body.data.discussion.title}`),
  );
  expect(pairs.size).toBe(titles().size);
}

/** Between sending and recording: the receiver has the request, but it is not recorded yet. */
async function whileSending(): Promise<void> {
  const before = receiver.received.length;
  receiver.reply = {};
  await start();
  await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(before), { timeout: AGAIN, interval: 1 });
}
/** Between the commit and the request, or at any other point. */
async function whileWriting(): Promise<void> {
  receiver.reply = { status: 200, after: Math.random() * 10 };
  const writing = Promise.all(Array.from({ length: 4 }, () => start()));
  await Promise.race([writing, sleep(40 + Math.random() * 200)]);
  await sleep(Math.random() * 20);
}

describe('a killed server', () => {
  test.each(Array.from({ length: ROUNDS }, (_, at) => at + 1))(
    'has sent every event soon after restart %i',
    async (round) => {
      await (round % 2 === 0 ? whileSending() : whileWriting());
      await server.end('SIGKILL');
      receiver.reply = { status: 200 };
      server = await startServer(place);
      await vi.waitFor(() => expect(answered.filter((title) => !titles().has(title))).toEqual([]), {
        timeout: AGAIN,
        interval: 20,
      });
      expectTrue();
    },
    150_000,
  );
});
