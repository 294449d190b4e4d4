import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { freePort } from '../bench/start.ts';
import { makeTestPlace, type TestPlace } from '../kit/database.ts';
import { proxyPath } from '../../config/tools/suites.ts';
import { parley, startServer, type ServerProcess } from './fixtures/server-process.ts';

/** The number of concurrent readers and writers. */
const READERS = 12;
const WRITERS = 4;
/** Milliseconds between a response and the next request. */
const REST = FULL ? 0 : 20;
const PASSWORD = 'Plain-Sailing-42';
/** The configuration from docs/guide/operating.md, verbatim except for the addresses. */
const site = (port: number, upstream: readonly number[], folder: string): string => `
daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_processes 1;
events { worker_connections 256; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  upstream parley {
    ${upstream.map((one) => `server 127.0.0.1:${one} max_fails=0;`).join(' ')}
    keepalive 16;
    keepalive_timeout 1s;
  }
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 12m;
    location / {
      proxy_pass http://parley;
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Connection "";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_buffering off;
    }
  }
}
`;

let place: TestPlace;
let folder: string;
let nginx: ChildProcess;
let url: string;
const ports: number[] = [];
const servers: ServerProcess[] = [];
const start = (at: number): Promise<ServerProcess> =>
  startServer(place, [process.execPath, 'core/main.ts'], {
    PORT: String(ports[at]),
    // As in production.
    DRAIN_SECONDS: '2',
    SECRET_KEY: 'x'.repeat(32),
  });

beforeAll(async () => {
  place = await makeTestPlace();
  await parley(
    place,
    'install',
    '--admin-username',
    'ada',
    '--admin-email',
    'ada@example.org',
    '--admin-password',
    PASSWORD,
  );
  for (const [key, value] of Object.entries({
    'api.rate_limit_user': '1000000',
    'api.rate_limit_ip': '1000000',
    'posts.rate_limit': '1000000',
  }))
    await parley(place, 'setting', 'set', key, value);
  for (const at of [0, 1]) {
    ports.push(await freePort());
    servers.push(await start(at));
  }
  folder = await mkdtemp(join(tmpdir(), 'parley-nginx-'));
  // Its worker runs as another user if the tests run as root.
  await chmod(folder, 0o777);
  const port = await freePort();
  await writeFile(join(folder, 'nginx.conf'), site(port, ports, folder));
  nginx = spawn(proxyPath(process.env), ['-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  });
  url = `http://127.0.0.1:${port}`;
  await expectAnswer();
});
afterAll(async () => {
  nginx.kill('SIGTERM');
  await once(nginx, 'exit');
  await Promise.all(servers.map((server) => server.end('SIGTERM')));
  await rm(folder, { recursive: true, force: true });
  await place.remove();
});

async function expectAnswer(): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (
      await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    await new Promise((again) => setTimeout(again, 50));
  }
  throw new Error('nginx does not answer');
}

test('behind nginx as documented, processes restart one by one under load without failing any request', async () => {
  const token = await tokenOf();
  const discussion = await send('POST', '/api/discussions', token, {
    title: 'Rolling',
    content: 'x',
    category_id: 'general',
  });
  expect(discussion.status).toBe(201);
  const { discussion_id: id } = JSON.parse(discussion.body) as { discussion_id: string };
  const over = new AbortController();
  const failed: string[] = [];
  let answered = 0;
  const repeat = async (what: () => Promise<{ status: number; body: string }>, wanted: number): Promise<void> => {
    while (!over.signal.aborted) {
      const { status, body } = await what().catch((error: unknown) => ({ status: 0, body: String(error) }));
      if (status === wanted) answered++;
      else failed.push(`${status} ${body.slice(0, 200)}`);
      await sleep(REST);
    }
  };
  const load = [
    ...Array.from({ length: READERS }, (_, n) =>
      repeat(
        () => send('GET', ['/', '/d/1', '/api/discussions', '/feed/rss'][n % 4]!, undefined),
        n % 4 === 1 ? 301 : 200,
      ),
    ),
    ...Array.from({ length: WRITERS }, () =>
      repeat(
        () => send('POST', '/api/posts', token, { discussion_id: id, content: 'Written while processes restart' }),
        201,
      ),
    ),
  ];
  for (const at of [0, 1]) {
    expect(await servers[at]!.end('SIGTERM')).toEqual({ code: 0, signal: null });
    servers[at] = await start(at);
    // Like a deployment script: restart the next one only when this one is ready.
    expect((await fetch(`http://127.0.0.1:${ports[at]}/readyz`)).status).toBe(200);
  }
  over.abort();
  await Promise.all(load);
  expect(failed, await logged()).toEqual([]);
  expect(answered).toBeGreaterThan(500);
}, 180_000);

test('a terminating process reports that it is not ready, but serves requests until it closes its port', async () => {
  const { url: own } = servers[0]!;
  servers[0]!.signal('SIGTERM');
  await expect.poll(async () => (await fetch(`${own}/readyz`)).status, { timeout: 900, interval: 20 }).toBe(503);
  expect(await (await fetch(`${own}/readyz`)).json()).toEqual({ success: false, draining: true });
  const page = await fetch(`${own}/`);
  expect([page.status, page.headers.get('connection')]).toEqual([200, 'close']);
  expect(await servers[0]!.ended).toEqual({ code: 0, signal: null });
  await expect(fetch(`${own}/`)).rejects.toThrow('fetch failed');
  servers[0] = await start(0);
});

/** What nginx logged, except the requests that it passed on to the other process. */
async function logged(): Promise<string> {
  const lines = (await readFile(join(folder, 'error.log'), 'utf8')).split('\n');
  return lines.filter((line) => !line.includes('Connection refused')).join('\n');
}

async function tokenOf(): Promise<string> {
  const jar = new Map<string, string>();
  const call = async (path: string, form?: Record<string, string>): Promise<string> => {
    const response = await fetch(url + path, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: {
        cookie: [...jar].map((pair) => pair.join('=')).join('; '),
        accept: form?.['identifier'] ? 'text/html' : '*/*',
      },
      ...(form && { body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie())
      jar.set(line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).split(';')[0]!);
    return response.text();
  };
  const csrf = async (path: string): Promise<string> => /csrf-token" content="([^"]*)/.exec(await call(path))![1]!;
  await call('/login', { identifier: 'ada', password: PASSWORD, _csrf: await csrf('/login') });
  const answer = await fetch(`${url}/settings/security/api-token`, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'x-csrf-token': await csrf('/settings/security'),
      cookie: [...jar].map((pair) => pair.join('=')).join('; '),
    },
  });
  return ((await answer.json()) as { token: string }).token;
}

/** A new connection for each request, as from different clients: a failure is a failure at the proxy. */
const agent = new Agent({ keepAlive: false });

async function send(
  method: string,
  path: string,
  token: string | undefined,
  body?: object,
): Promise<{ status: number; body: string }> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  const sent = request(url + path, { method, headers, agent }).end(body && JSON.stringify(body));
  const [response] = await once(sent, 'response');
  return { status: response.statusCode, body: await text(response) };
}
