import { createHmac, randomBytes } from 'node:crypto';
import { sign, verify } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { webhookReceived, type ReceivedWebhook } from 'parley-forum/plugins/webhooks';
import { startForum, type TestForum } from 'parley-forum/testing';
import { signedHeaders } from '../../../plugins/webhooks/signatures.ts';
import { install } from '../discussions/forum.ts';

const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const KEY = Buffer.from(SECRET.slice(6), 'base64');
const HOUR = 3_600_000;

let app: TestForum;
const heard: ReceivedWebhook[] = [];
beforeAll(async () => {
  app = await startForum({ realClock: true });
  await install(
    app,
    definePlugin({
      id: 'test-listener',
      setup: (_services, plugin) => plugin.on(webhookReceived, (received) => void heard.push(received)),
    }),
  );
});
afterAll(() => app[Symbol.asyncDispose]());
beforeEach(() => void heard.splice(0));

const post = (body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${app.url}/api/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
const hex = (body: string | Buffer, key = KEY): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;
const TEXT = JSON.stringify({ action: 'opened', number: 7 });

let count = 0;
/** The headers that the published library sends. */
function standard(
  body = TEXT,
  { id = `msg_${++count}`, at = new Date(app.clock.now()), secret = SECRET } = {},
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}

describe('POST /api/webhooks without a configured secret', () => {
  test.each([{}, { 'x-forum-signature': 'sha256=' }, { 'x-forum-signature': hex(TEXT, Buffer.alloc(0)) }])(
    'refuses every request (%o)',
    async (headers) => {
      const answer = await post(TEXT, headers);
      expect([answer.status, await answer.json()]).toEqual([
        401,
        expect.objectContaining({ success: false, error: expect.any(String) }),
      ]);
      expect(heard).toEqual([]);
    },
  );
});

describe('POST /api/webhooks', () => {
  beforeAll(() => app.app.settings.set({ 'webhooks.inbound_secret': SECRET }));

  test.each(['x-forum-signature', 'x-hub-signature-256', 'X-Forum-Signature'])(
    'accepts a signature in %s, without a CSRF token',
    async (name) => {
      const answer = await post(TEXT, { [name]: hex(TEXT), 'x-github-event': 'issues', cookie: 'a=b' });
      expect([answer.status, await answer.json()]).toEqual([200, { success: true }]);
      expect(heard).toEqual([
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          payload: { action: 'opened', number: 7 },
          headers: expect.objectContaining({ 'x-github-event': 'issues' }),
          receivedAt: expect.stringMatching(/Z$/),
        },
      ]);
      expect(heard[0]!.headers).not.toHaveProperty('cookie');
    },
  );

  test('accepts a signature of the published library, and uses its message id', async () => {
    const headers = standard();
    expect((await post(TEXT, headers)).status).toBe(200);
    expect(heard.map(({ id }) => id)).toEqual([headers['webhook-id']]);
  });

  test('accepts one valid signature among several', async () => {
    const { 'webhook-signature': good, ...headers } = standard();
    expect((await post(TEXT, { ...headers, 'webhook-signature': `v1,AAAA v1a,AAAA ${good}` })).status).toBe(200);
  });

  test('verifies the raw bytes, whatever their content type', async () => {
    const body = ' {"a" :\t"\\u00e9 é"}\n';
    const answer = await fetch(`${app.url}/api/webhooks`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain', 'x-forum-signature': hex(body) },
      body,
    });
    expect(answer.status).toBe(200);
    expect(heard[0]!.payload).toEqual({ a: 'é é' });
  });

  test.each<[string, () => Record<string, string>]>([
    ['a missing signature', () => ({})],
    ['a wrong signature', () => ({ 'x-forum-signature': hex(`${TEXT} `) })],
    ['a truncated signature', () => ({ 'x-forum-signature': hex(TEXT).slice(0, -2) })],
    ['a signature without its prefix', () => ({ 'x-forum-signature': hex(TEXT).slice(7) })],
    ['another secret', () => ({ 'x-forum-signature': hex(TEXT, randomBytes(32)) })],
    ['another algorithm', () => ({ 'x-hub-signature': `sha1=${createHmac('sha1', KEY).update(TEXT).digest('hex')}` })],
    ['another id', () => ({ ...standard(), 'webhook-id': 'msg_other' })],
    [
      'another timestamp',
      () => ({ ...standard(), 'webhook-timestamp': String(Math.floor(app.clock.now() / 1_000) - 1) }),
    ],
    ['a missing id', () => ({ ...standard(), 'webhook-id': undefined as unknown as string })],
    [
      'an invalid signature together with a valid one of the body alone',
      () => ({
        ...standard(TEXT, { secret: `whsec_${randomBytes(32).toString('base64')}` }),
        'x-forum-signature': hex(TEXT),
      }),
    ],
    ['a timestamp too old', () => standard(TEXT, { at: new Date(app.clock.now() - 302_000) })],
    ['a timestamp too far in the future', () => standard(TEXT, { at: new Date(app.clock.now() + 302_000) })],
    [
      'an old timestamp with a signature of the body',
      () => ({
        'x-forum-signature': hex(TEXT),
        'webhook-timestamp': String(Math.floor(app.clock.now() / 1_000) - 302),
      }),
    ],
    ['an invalid timestamp', () => ({ 'x-forum-signature': hex(TEXT), 'webhook-timestamp': 'now' })],
  ])('refuses %s', async (_what, headers) => {
    const given = Object.fromEntries(Object.entries(headers()).filter(([, value]) => value !== undefined));
    const answer = await post(TEXT, given);
    expect([answer.status, ((await answer.json()) as any).success]).toEqual([401, false]);
    expect(heard).toEqual([]);
  });

  test.each([290, -290])('tolerates a clock skew of %i seconds', async (seconds) => {
    expect((await post(TEXT, standard(TEXT, { at: new Date(app.clock.now() + seconds * 1_000) }))).status).toBe(200);
  });

  test.each(['', '{', 'plain text', '\uFEFFnot', Buffer.from([0x22, 0xff, 0x22])])(
    'reports a signed body that is not JSON (%j)',
    async (body) => {
      const answer = await post(body, { 'x-forum-signature': hex(body) });
      expect([answer.status, ((await answer.json()) as any).code]).toEqual([400, 'validation_failed']);
      expect(heard).toEqual([]);
    },
  );

  test('refuses an oversized body without reading it', async () => {
    const body = `"${'x'.repeat(1_100_000)}"`;
    expect((await post(body, { 'x-forum-signature': hex(body) })).status).toBe(413);
  });

  test('accepts an id again within 24 hours, but emits it once', async () => {
    const id = 'msg_again';
    for (const after of [0, 1_000, 12 * HOUR]) {
      app.clock.advance(after);
      const answer = await post(TEXT, standard(TEXT, { id }));
      expect([answer.status, await answer.json()]).toEqual([200, { success: true }]);
    }
    expect(heard).toHaveLength(1);
    await Promise.all(Array.from({ length: 8 }, () => post(TEXT, standard(TEXT, { id: 'msg_at_once' }))));
    expect(heard).toHaveLength(2);
    app.clock.advance(12 * HOUR);
    await post(TEXT, standard(TEXT, { id }));
    expect(heard).toHaveLength(3);
  });

  test('accepts GitHub’s requests, signed with the secret as shown, and each delivery once', async () => {
    const headers = {
      'x-hub-signature-256': await sign(SECRET, TEXT),
      'x-github-event': 'issues',
      'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    };
    for (let time = 0; time < 3; time++) {
      const answer = await post(TEXT, headers);
      expect([answer.status, await answer.json()]).toEqual([200, { success: true }]);
    }
    expect(heard.map(({ id, headers: { 'x-github-event': event } }) => [id, event])).toEqual([
      [headers['x-github-delivery'], 'issues'],
    ]);
    expect((await post(`${TEXT} `, headers)).status).toBe(401);
    expect((await post(TEXT, { ...headers, 'x-hub-signature-256': await sign(SECRET.slice(6), TEXT) })).status).toBe(
      401,
    );
    expect((await post(TEXT, { ...headers, 'x-github-delivery': 'x'.repeat(256) })).status).toBe(400);
  });

  test.each(['x-forum-signature', 'x-hub-signature-256'])(
    'accepts signatures with the secret’s text or bytes in %s, and one valid value among several',
    async (name) => {
      const [wrong, text, bytes] = [hex(TEXT, randomBytes(32)), hex(TEXT, Buffer.from(SECRET)), hex(TEXT)];
      for (const value of [text, bytes, `${wrong},${bytes}`, `${text}, ${wrong}`, `,${bytes},`])
        expect([value, (await post(TEXT, { [name]: value })).status]).toEqual([value, 200]);
      for (const value of [`${wrong},${wrong}`, ',', bytes.replace('=', ','), `${bytes}${wrong}`])
        expect([value, (await post(TEXT, { [name]: value })).status]).toEqual([value, 401]);
    },
  );

  test('is listed in the API description', async () => {
    const { paths } = (await app.client().get('/api/openapi.json')).body;
    expect(paths['/api/webhooks'].post).toMatchObject({
      security: [{}],
      requestBody: { content: { 'application/json': {} } },
    });
  });

  test('accepts this forum’s own webhooks, even during a secret rotation', async () => {
    const keys = [randomBytes(32), KEY];
    const headers = signedHeaders({
      service: 'Forum',
      keys,
      eventId: 'own',
      deliveryId: 'own-1',
      event: 'x',
      body: TEXT,
      at: app.clock.now(),
    });
    expect((await post(TEXT, headers)).status).toBe(200);
    expect(heard.map(({ id }) => id)).toEqual(['own']);
    const {
      'X-Forum-Signature': signatures,
      'webhook-id': _id,
      'webhook-timestamp': _at,
      'webhook-signature': _standard,
      ...others
    } = headers;
    expect((await post(TEXT, { ...others, 'X-Forum-Signature': signatures! })).status).toBe(200);
  });

  test('signatures verify in published libraries, and include the old secret during a rotation', async () => {
    const outgoing = {
      service: 'Forum',
      eventId: 'own',
      deliveryId: 'own-1',
      event: 'x',
      body: TEXT,
      at: app.clock.now(),
    };
    const signature = signedHeaders({ ...outgoing, keys: [KEY] })['X-Forum-Signature']!;
    // The library accepts only text secrets; these bytes are text.
    const ascii = signedHeaders({ ...outgoing, keys: [Buffer.from('0123456789abcdef01234567')] })['X-Forum-Signature']!;
    expect([signature, await verify('0123456789abcdef01234567', TEXT, ascii)]).toEqual([hex(TEXT), true]);
    const old = randomBytes(32);
    expect(signedHeaders({ ...outgoing, keys: [KEY, old] })['X-Forum-Signature']!.split(',')).toEqual([
      hex(TEXT),
      hex(TEXT, old),
    ]);
  });
});
