import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startForum, type TestForum } from 'parley-forum/testing';

let forum: TestForum;
beforeAll(async () => void (forum = await startForum()));
afterAll(() => forum[Symbol.asyncDispose]());

const open = async (url: string): Promise<Socket> => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
};

/** The status line of the response to a request sent verbatim. */
async function raw(url: string, head: readonly string[]): Promise<string> {
  const socket = await open(url);
  socket.write([...head, '', ''].join('\r\n'));
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString().split('\r\n', 1)[0]!;
}

describe('a request', () => {
  test('with two Host headers, none or an invalid one is 400 at any path', async () => {
    for (const path of ['/', '/api/version', '/healthz', '/assets/none.css']) {
      for (const hosts of [
        ['forum.test', 'evil.example'],
        ['forum.test', 'forum.test'],
        [],
        [''],
        ['a b'],
        ['evil.example/'],
        ['user@forum.test'],
        ['forum.test:port'],
        ['a,b'],
      ]) {
        expect(
          await raw(forum.url, [`GET ${path} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`)]),
          `${path} ${hosts.join(' and ')}`,
        ).toContain(' 400 ');
      }
    }
    for (const host of [
      'forum.test',
      'forum.test:8080',
      '127.0.0.1',
      '[::1]:3000',
      'xn--mnchen-3ya.example',
      'my_service',
    ]) {
      expect(await raw(forum.url, ['GET /healthz HTTP/1.1', `HOST: ${host}`]), host).toContain(' 200 ');
    }
    expect(await raw(forum.url, ['GET /healthz HTTP/1.0'])).toContain(' 200 ');
  });

  test('with conflicting lengths, or a length and chunked encoding, is 400', async () => {
    for (const lines of [
      ['Content-Length: 1', 'Content-Length: 2'],
      ['Content-Length: 1', 'Transfer-Encoding: chunked'],
      ['Content-Length: 1, 2'],
      ['Content-Length: -1'],
    ]) {
      expect(
        await raw(forum.url, ['POST /login HTTP/1.1', 'Host: forum.test', ...lines]),
        lines.join(' and '),
      ).toContain(' 400 ');
    }
  });

  test('with as many cookies, parameters and conditions as fit is answered quickly', async () => {
    const many = (piece: string): string => piece.repeat(Math.floor(14_000 / piece.length));
    const headers: readonly Record<string, string>[] = [
      { cookie: many('a=b; ') },
      { cookie: many('parley.sid=x; ') },
      { cookie: many('=;') },
      { 'accept-language': many('a;q=0.1,') },
      { 'accept-language': many('-') },
      { 'accept-encoding': many('gzip ') },
      { accept: many('a/b;q=0.1,') },
      { accept: many('text/html;') },
      { range: `bytes=${many('0-0,')}` },
      { 'if-none-match': many('"a",') },
      { 'if-none-match': many('W/') },
      { 'idempotency-key': many('a') },
      { 'user-agent': many('(') },
    ];
    const paths = [
      '/',
      '/login',
      '/api/discussions',
      '/feed/json',
      `/?${many('a&')}`,
      `/api/discussions?${many('a=&')}`,
      `/search?q=${many('%25')}`,
      `/${many('[0]')}`,
    ];
    for (const path of paths) {
      for (const own of path.length > 100 ? [{}] : headers) {
        const before = process.cpuUsage();
        const { status } = await forum.client().get(path, own);
        const { user, system } = process.cpuUsage(before);
        expect(status, path).toBeLessThan(500);
        expect(
          (user + system) / 1_000,
          `milliseconds of ${path.slice(0, 40)} ${JSON.stringify(own).slice(0, 60)}`,
        ).toBeLessThan(1_000);
      }
    }
  });

  test('that does not arrive in time is cut off, as are connections beyond the limit', async () => {
    await using own = await startForum({ environment: { requestSeconds: 1, maxConnections: 2 } });
    const slow = await open(own.url);
    const ended = once(slow, 'close');
    let answer = '';
    slow.on('data', (data: Buffer) => (answer += data.toString()));
    slow.write(
      'POST /api/markdown/parse HTTP/1.1\r\nHost: forum.test\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    await ended;
    expect(answer).toContain(' 408 ');
    const held = [await open(own.url), await open(own.url)];
    const third = await open(own.url);
    await once(third, 'close');
    held.forEach((socket) => socket.destroy());
  });
});

describe('pipelined requests', () => {
  const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: forum.test\r\n\r\n`;
  const lists = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `/api/discussions?limit=${index + 1}`);

  test('are answered in order', async () => {
    const socket = await open(forum.url);
    let answers = '';
    socket.on('data', (data: Buffer) => (answers += data.toString('latin1')));
    socket.write(['/healthz', '/api/none', '/', '/api/version', '/assets/none.css', '/healthz'].map(get).join(''));
    const statuses = (): readonly string[] => [...answers.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status!);
    await vi.waitFor(() => expect(statuses()).toEqual(['200', '404', '200', '200', '404', '200']), { timeout: 10_000 });
    socket.destroy();
  });

  test('start only when it is their turn', async () => {
    const left = async (): Promise<number> =>
      Number((await forum.client().get('/api/version')).headers.get('x-ratelimit-remaining'));
    const before = await left();
    const socket = await open(forum.url);
    // The stream does not end, so nothing after it is started.
    socket.write(['/api/live', ...lists(10)].map(get).join(''));
    await once(socket, 'data');
    await delay(1_000);
    // Requests are counted when they start: the stream has started, and so has the one that reads the limit.
    expect(before - (await left())).toBe(2);
    socket.destroy();
  });

  test('close the connection when there are too many', async () => {
    const socket = await open(forum.url);
    socket.resume();
    const closed = once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
    socket.write(lists(200).map(get).join(''));
    await expect(closed).resolves.toBeDefined();
  });
});

describe('a form', () => {
  const statusOf = async (app: TestForum, headers: Record<string, string>): Promise<number> => {
    const client = app.client();
    await client.csrf();
    return (
      await client.request('POST', '/appearance', { form: { _csrf: await client.csrf(), scheme: 'dark' }, headers })
    ).status;
  };

  test('is accepted from the site’s own origin only, whatever the Host header says', async () => {
    expect(await statusOf(forum, {})).toBe(303);
    expect(await statusOf(forum, { origin: 'http://forum.test' })).toBe(303);
    expect(await statusOf(forum, { origin: 'null', 'sec-fetch-site': 'same-origin' })).toBe(303);
    for (const origin of [
      'http://evil.example',
      'https://forum.test',
      'http://forum.test:81',
      'http://forum.test.evil.example',
      'null',
      forum.url,
      'nonsense',
    ]) {
      expect(await statusOf(forum, { origin }), origin).toBe(403);
      expect(
        await statusOf(forum, { origin, ...(origin !== 'null' && { 'sec-fetch-site': 'same-origin' }) }),
        origin,
      ).toBe(403);
    }
    // fetch sets Host itself.
    const client = forum.client();
    const token = await client.csrf();
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const lines = [
      'POST /appearance HTTP/1.1',
      'Host: evil.example',
      'Origin: http://evil.example',
      `Cookie: ${cookie}`,
      `X-CSRF-Token: ${token}`,
    ];
    expect(await raw(forum.url, lines)).toContain(' 403 ');
    expect(forum.lines.filter(({ message }) => message.includes('is BASE_URL correct?'))).toHaveLength(1);
  });

  test('is accepted under every name of localhost when the site’s own is one of them', async () => {
    await using own = await startForum({ environment: { baseUrl: 'http://localhost:3000' } });
    expect(await statusOf(own, { origin: 'http://localhost:3000' })).toBe(303);
    expect(await statusOf(own, { origin: own.url })).toBe(303);
    for (const origin of ['http://127.0.0.1:1', 'http://evil.example', 'http://localhost.evil.example:3000'])
      expect(await statusOf(own, { origin }), origin).toBe(403);
  });
});

test('under https every cookie has the __Host- prefix and is Secure, even behind an unlisted proxy', async () => {
  await using own = await startForum({ environment: { baseUrl: 'https://forum.test' } });
  const client = own.client();
  const lines: string[] = [];
  const note = (headers: Headers): void => void lines.push(...headers.getSetCookie());
  note((await client.get('/login')).headers);
  note((await client.submit('/appearance', { scheme: 'dark' })).headers);
  note(
    (
      await client.submit('/register', {
        username: 'hopper',
        email: 'hopper@example.org',
        password: 'Plain-Sailing-42',
      })
    ).headers,
  );
  expect((await client.get('/')).text).toContain('data-scheme="dark"');
  expect((await client.get('/')).text).not.toContain('Welcome, hopper');
  note((await client.submit('/logout')).headers);
  expect(lines.map((line) => line.split('=', 1)[0])).toEqual(
    expect.arrayContaining(['__Host-parley.csrf', '__Host-parley.sid', '__Host-appearance', '__Host-notice']),
  );
  for (const line of lines) {
    expect(line).toMatch(/^__Host-/);
    expect(line).toMatch(/; Secure/i);
    expect(line).toMatch(/; Path=\/(;|$)/);
  }
});

test('the data directory of a forum is accessible to its owner only', async () => {
  const { dataDir } = forum.app.environment;
  await using own = await startForum({ environment: { dataDir: join(dataDir, 'fresh') } });
  expect((await stat(own.app.environment.dataDir)).mode & 0o777).toBe(0o700);
});
