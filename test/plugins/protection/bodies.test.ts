import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Request } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { readBody } from '../../../plugins/protection/body.ts';

const PASSWORD = 'Correct-horse-7';
const FORM = 'application/x-www-form-urlencoded';
const MIB = 1024 * 1024;
/** Milliseconds within which an unblocked process responds, even on a busy machine. */
const PROMPT = 2_500;

let forum: TestForum;
beforeAll(async () => {
  forum = await startForum({ realClock: true });
  await forum.app.service(Accounts).create({ username: 'mira', email: 'mira@example.org', password: PASSWORD });
});
afterAll(() => forum[Symbol.asyncDispose]());

const fill = (piece: string, length = MIB): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);

/** A guest's form as a browser sends it, with or without the cookie of the page that contains it. */
async function send(
  path: string,
  body: string,
  { client, headers = {} }: { client?: Client; headers?: Record<string, string> } = {},
): Promise<number> {
  const cookie = client && [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(forum.url + path, {
    method: 'POST',
    redirect: 'manual',
    body,
    headers: { 'content-type': FORM, ...(cookie && { cookie }), ...headers },
  })
    // The server may close the connection before everything is sent.
    .catch(() => ({ status: 413, text: () => '' }));
  await response.text();
  return response.status;
}

async function visitor(): Promise<Client> {
  const client = forum.client();
  await client.csrf();
  return client;
}

/** The longest response time of `/healthz` while `work` runs. */
async function heldUp(work: Promise<unknown>): Promise<number> {
  let longest = 0;
  const under = new Set([work]);
  void work.finally(() => under.clear());
  while (under.size > 0) {
    const before = performance.now();
    expect((await fetch(`${forum.url}/healthz`)).status).toBe(200);
    longest = Math.max(longest, performance.now() - before);
  }
  return longest;
}

/**
 * Sends request headers that announce a body, but no body: resolves to the status line of the response, if any.
 */
const sendHead = (path: string, headers: readonly string[], timeout = 20_000): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port, hostname } = new URL(forum.url);
    const head = [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      `Content-Type: ${FORM}`,
      'Content-Length: 50000',
      ...headers,
      '',
      '',
    ];
    const socket = connect(Number(port), hostname, () => socket.write(head.join('\r\n')));
    const silent = setTimeout(() => (socket.destroy(), resolve('no answer')), timeout);
    socket.once(
      'data',
      (data: Buffer) => (clearTimeout(silent), socket.destroy(), resolve(data.toString().split('\r\n', 1)[0]!)),
    );
    socket.once('error', reject);
  });

describe('a form', () => {
  const spiteful: Readonly<Record<string, string>> = {
    'a&a&a': fill('a&'),
    'a=&a=': fill('a=&'),
    '&&&': fill('&'),
    'a[]=&a[]=': fill('a[]=&'),
    'a[0][0][0]': `a${fill('[0]')}=1`,
    '[[[': fill('['),
    'a[[[': `a${fill('[')}=1`,
    '%%%': fill('%'),
    '%25%25': `a=${fill('%25')}`,
    '%5B%5B': `a${fill('%5B')}`,
    'a[999]': fill('a[999][999][999]=&'),
    '+++': `a=${fill('+')}`,
    '===': fill('='),
  };

  test('sent by eight guests at once, of 1 MiB and hostile, does not block the process', async () => {
    const client = await visitor();
    for (const [name, body] of Object.entries(spiteful)) {
      for (const path of ['/login', '/d/1/reply']) {
        const answers = Promise.all(Array.from({ length: 8 }, () => send(path, body, { client })));
        expect(await heldUp(answers), `${name} at ${path}`).toBeLessThan(PROMPT);
        for (const status of await answers) expect([400, 401, 403, 404, 413], `${name} at ${path}`).toContain(status);
      }
    }
  }, 180_000);

  test('without a long text may have 64 KiB, and as many fields as people fill in', async () => {
    const client = await visitor();
    expect(await send('/login', `identifier=${fill('x', 65 * 1024)}`, { client })).toBe(413);
    expect(await send('/login', fill('a&', 60_000), { client })).toBe(413);
    expect(await send('/login', fill('a=1&', 1_000), { client })).toBe(403);
  });

  test('that is too long, without a Content-Length, gets the error page', async () => {
    const client = await visitor();
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { hostname, port } = new URL(forum.url);
    const text = await new Promise<string>((resolve) => {
      let answer = '';
      const socket = connect(Number(port), hostname).on('data', (data: Buffer) => (answer += data.toString()));
      for (const end of ['close', 'error']) socket.on(end, () => resolve(answer));
      const body = fill('x', 65 * 1024);
      const head = [
        'POST /login HTTP/1.1',
        `Host: ${hostname}:${port}`,
        `Content-Type: ${FORM}`,
        `Cookie: ${cookie}`,
        'Transfer-Encoding: chunked',
        '',
        '',
      ];
      socket.write(head.join('\r\n'));
      socket.write(`${body.length.toString(16)}\r\n${body}\r\n`);
    });
    expect(text).toContain(' 413 ');
    expect(text).toContain('data-scheme');
    expect(forum.lines.filter(({ message }) => message === 'the error page failed too')).toEqual([]);
  });

  test('with a long text may have the longest text with every character percent-encoded', async () => {
    const client = forum.client();
    await client.login('mira', PASSWORD);
    const answer = await client.submit('/new', {
      title: 'A long one',
      content: 'ü'.repeat(30_000),
      category_id: 'general',
    });
    expect(answer.status).toBe(303);
  });

  test('is refused before its body is read when no token can be valid', async () => {
    const client = await visitor();
    const cookie = `Cookie: ${[...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')}`;
    for (const path of ['/login', '/register', '/logout']) {
      expect(await sendHead(path, []), `${path} without a cookie`).toContain(' 403 ');
      expect(await sendHead(path, [cookie, 'Origin: https://evil.example']), `${path} from elsewhere`).toContain(
        ' 403 ',
      );
      expect(await sendHead(path, [cookie, 'Sec-Fetch-Site: cross-site']), `${path} from elsewhere`).toContain(' 403 ');
      expect(await sendHead(path, [cookie], 500), `${path} as it should be`).toBe('no answer');
    }
    expect(await sendHead('/api/discussions', [])).toContain(' 401 ');
    expect(await sendHead('/settings/profile', []), 'a page of members').toMatch(/ 40[13] /);
  });

  test('with an expired token is returned with its values', async () => {
    const client = await visitor();
    const answer = await client.request('POST', '/login', {
      form: { _csrf: 'old', identifier: 'mira-as-typed', password: 'x' },
    });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('mira-as-typed');
  });
});

describe('JSON', () => {
  const post = async (body: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${forum.url}/api/markdown/parse`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    return { status: response.status, text: await response.text() };
  };

  test('of 1 MiB does not block the process, whatever it contains', async () => {
    const zeros = `${fill('0,', MIB - 100)}0`;
    const bodies = {
      'lists in lists': fill('['),
      'closed lists in lists': fill('[', MIB / 2) + fill(']', MIB / 2),
      'objects in objects': fill('{"a":'),
      values: `[${zeros}]`,
      'values and a prototype': `["__proto__",${zeros}]`,
      keys: `{${Array.from({ length: 80_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
      'a list for a text': `{"content":[${zeros}]}`,
      quotes: fill('"\\"'),
    };
    for (const [name, body] of Object.entries(bodies)) {
      const answers = Promise.all(Array.from({ length: 8 }, () => post(body)));
      expect(await heldUp(answers), name).toBeLessThan(PROMPT);
      for (const { status, text } of await answers) {
        expect([400, 413], name).toContain(status);
        expect(text.length, name).toBeLessThan(20_000);
      }
    }
  });

  test('with many errors gets at most a hundred in the response', async () => {
    const client = forum.client();
    await client.login('mira', PASSWORD);
    const { status, body } = await client.post('/api/notifications/mark-read', {
      ids: Array.from({ length: 900 }, () => 1),
    });
    expect(status).toBe(400);
    expect(body.details).toHaveLength(100);
  });
});

describe('forms from one address', () => {
  test('are rate-limited per minute, before their bodies are read', async () => {
    await using own = await startForum({ settings: { 'pages.rate_limit': 3 } });
    const client = own.client();
    await client.csrf();
    for (let n = 0; n < 3; n++) expect((await client.submit('/appearance', { scheme: 'dark' })).status).toBe(303);
    const page = await client.submit('/appearance', { scheme: 'dark' });
    expect([page.status, page.headers.get('content-type')]).toEqual([429, expect.stringContaining('text/html')]);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    const json = await client.request('POST', '/appearance', {
      form: { _csrf: 'x' },
      headers: { accept: 'application/json' },
    });
    expect([json.status, json.body.code]).toEqual([429, 'rate_limited']);
    expect((await client.get('/')).status).toBe(200);
  });
});

test('a body in very many chunks is refused without blocking the process or exhausting its memory', async () => {
  const { port, hostname } = new URL(forum.url);
  const head = `POST /api/webhooks HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const memory = process.memoryUsage().rss;
  const answers = Promise.all(
    Array.from({ length: 4 }, async () => {
      const socket = connect(Number(port), hostname, () => socket.write(head + '1\r\n0\r\n'.repeat(200_000)));
      const [data] = (await once(socket, 'data')) as [Buffer];
      socket.on('error', () => undefined).destroy();
      return data.toString().split('\r\n', 1)[0];
    }),
  );
  expect(await heldUp(answers)).toBeLessThan(PROMPT);
  expect(new Set(await answers)).toEqual(new Set(['HTTP/1.1 400 Bad Request']));
  expect(process.memoryUsage().rss - memory).toBeLessThan(150 * MIB);
});

test('long bodies that arrive at once are parsed one per turn of the event loop', async () => {
  let turns = 0;
  const over = new AbortController();
  const count = (): void => {
    turns++;
    if (!over.signal.aborted) setImmediate(count);
  };
  setImmediate(count);
  const body = Buffer.from(JSON.stringify({ content: fill('x', 100_000) }));
  const parsed = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const headers = { 'content-type': 'application/json', 'content-length': String(body.length) };
      await readBody(Object.assign(Readable.from([body]), { headers }) as unknown as Request, {
        form: false,
        longText: true,
      });
      return turns;
    }),
  );
  over.abort();
  expect(new Set(parsed).size).toBe(6);
});
