import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { startForum, type LogLine } from 'parley-forum/testing';

const answered = (lines: readonly LogLine[]): readonly LogLine[] =>
  lines.filter(({ message }) => message === 'answered');

test('each request is logged, including cached responses and refusals, without secrets from its URL', async () => {
  await using forum = await startForum({ environment: { logRequests: true, trustedProxies: ['127.0.0.1'] } });
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const guest = forum.client({ traceparent: `00-${trace}-00f067aa0ba902b7-01`, 'x-forwarded-for': '198.51.100.7' });
  const first = await guest.get('/api/categories?unread=quokka', { 'x-request-id': 'proxy-4711' });
  await guest.get('/api/categories?unread=quokka');
  await guest.get('/password/reset/quokka');
  await guest.request('HEAD', '/nowhere?quokka');
  await expect.poll(() => answered(forum.lines).length).toBe(4);
  expect(first.headers.get('x-request-id')).toBe('proxy-4711');
  const line = { level: 'info', trace, address: '198.51.100.7', method: 'GET', milliseconds: expect.any(Number) };
  const path = '/api/categories';
  expect(answered(forum.lines)).toEqual([
    { ...line, message: 'answered', path, status: first.status, request: 'proxy-4711' },
    { ...line, message: 'answered', path, status: first.status, request: expect.stringMatching(/^[\da-f]{8}-/) },
    expect.objectContaining({ ...line, path: '/password/reset/:token' }),
    expect.objectContaining({ ...line, method: 'HEAD', path: '/nowhere', status: 404 }),
  ]);
  expect(JSON.stringify(answered(forum.lines))).not.toContain('quokka');
});

test('an absolute request target reveals no more secrets, and a request refused for its Host is logged too', async () => {
  await using forum = await startForum({ environment: { logRequests: true } });
  const ask = async (target: string, host: string): Promise<void> => {
    const socket = connect(Number(new URL(forum.url).port), '127.0.0.1');
    socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`).resume();
    await once(socket, 'close');
  };
  await ask('http://forum.test/password/reset/quokka?x=quokka', 'forum.test');
  await ask('/healthz', 'not a host');
  await expect.poll(() => answered(forum.lines)).toHaveLength(2);
  expect(answered(forum.lines).map(({ path, status }) => [path, status])).toEqual([
    ['/password/reset/:token', expect.any(Number)],
    ['/healthz', 400],
  ]);
});

test('a client that disconnects early is logged as such, and nothing is logged by default', async () => {
  await using forum = await startForum({ environment: { logRequests: true } });
  const gone = new AbortController();
  const stream = await fetch(`${forum.url}/api/live`, { signal: gone.signal });
  expect([stream.status, answered(forum.lines)]).toEqual([200, []]);
  gone.abort();
  await expect.poll(() => answered(forum.lines)).toEqual([expect.objectContaining({ path: '/api/live', left: true })]);
  await using silent = await startForum();
  await silent.client().get('/api/categories');
  expect(answered(silent.lines)).toEqual([]);
});
