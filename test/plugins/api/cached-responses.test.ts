import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Cache, definePermission } from 'parley-forum';
import { createSender } from '../../kit/url-variants.ts';
import { startApi, type ApiForum } from './probe.ts';

let forum: ApiForum;
beforeAll(async () => {
  forum = await startApi();
  await forum.member('mira');
});
afterAll(() => forum[Symbol.asyncDispose]());
const run = async (path: string, headers?: Record<string, string>): Promise<number> =>
  (await forum.client().get(path, headers)).body.run as number;
/** Requests until cached: a process that was blocked for long drops its cache, so the first response may be lost. */
async function kept(path: string): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const [first, second] = [await run(path), await run(path)];
    if (first === second) return first;
  }
  throw new Error(`${path} is never kept`);
}
/** Whether the cached response of one path is also served at another. */
async function shared(path: string, other: string): Promise<boolean> {
  for (let tries = 0; tries < 50; tries++) if ((await run(path)) === (await run(other))) return true;
  return false;
}
const purge = (): Promise<void> => forum.app.service(Cache).purge('probe');

describe('a cached response', () => {
  it('is served to guests until its tag is purged', async () => {
    const first = await kept('/api/probe/kept');
    await purge();
    expect(await run('/api/probe/kept')).toBeGreaterThan(first);
  });

  it('is byte for byte the original, with the same headers', async () => {
    await purge();
    const [made, again] = [await forum.client().get('/api/probe/long'), await forum.client().get('/api/probe/long')];
    expect(again.text).toBe(made.text);
    const varying = new Set([
      'content-encoding',
      'content-length',
      'transfer-encoding',
      'x-request-id',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'date',
    ]);
    const lines = ({ headers }: typeof made): string[] =>
      [...headers]
        .filter(([name]) => !varying.has(name))
        .map((line) => line.join(': '))
        .sort();
    expect(lines(again)).toEqual(lines(made));
    expect(again.headers.get('x-request-id')).not.toBe(made.headers.get('x-request-id'));
  });

  it('may have any length', async () => {
    const statuses = new Set<number>();
    for (let size = 100; size < 112; size++)
      statuses.add((await forum.client().get(`/api/probe/kept?size=${size}`)).status);
    expect([...statuses]).toEqual([200]);
  });

  it('is keyed by the parameters that its route knows; others create no copy', async () => {
    await purge();
    for (const other of ['junk=1', 'junk=2&more[]=3'])
      expect([other, await shared('/api/probe/kept', `/api/probe/kept?${other}`)]).toEqual([other, true]);
    const plain = await kept('/api/probe/kept');
    const sized = await kept('/api/probe/kept?size=2');
    expect(sized).not.toBe(plain);
    expect(await shared('/api/probe/kept?size=2', '/api/probe/kept?utm=x&size=2')).toBe(true);
    expect(await run('/api/probe/kept?size=3')).not.toBe(sized);
  });

  it.each([
    '?x=?&size=2',
    '?x=1?&size=2',
    '?x=?size=2',
    '#?size=2',
    '?x=1#&size=2',
    '?x#?size=2',
    '?%73ize=2',
    '?size=%32',
    '?size=02',
    '?x=?',
    '??',
    '?#',
  ])('is never served for another query, however %s is parsed', async (odd) => {
    const { send, close } = createSender(forum.url);
    const ask = async (query: string) =>
      JSON.parse((await send({ method: 'GET', url: `/api/probe/kept${query}`, headers: {} })).body) as { run?: number };
    for (const order of [
      [odd, '', '?size=2'],
      ['', '?size=2', odd],
    ]) {
      await purge();
      const runs = new Map<string, number | undefined>();
      for (const query of [...order, ...order]) {
        const { run: made } = await ask(query);
        expect([query, made]).toEqual([query, runs.get(query) ?? made]);
        runs.set(query, made);
      }
      expect(runs.get('')).not.toBe(runs.get('?size=2'));
    }
    close();
  });

  it('is found by every spelling of its query', async () => {
    for (const query of ['?size=7&x=?', '?%73ize=%37', '?x=?&size=7', '?size=7#'])
      expect([query, await shared('/api/probe/kept?size=7', `/api/probe/kept${query}`)]).toEqual([query, true]);
  });

  it('is dropped with the plugin that created it', async () => {
    await kept('/api/probe/kept');
    await forum.app.kernel.disable('probe');
    expect((await forum.client().get('/api/probe/kept')).status).toBe(404);
    await forum.app.kernel.enable('probe');
    expect((await forum.client().get('/api/probe/kept')).status).toBe(200);
  });

  it('of a guest is not served to members, nor the reverse', async () => {
    const token = await forum.token('mira');
    const mira = await forum.session('mira');
    const guests = await kept('/api/probe/kept');
    expect(await run('/api/probe/kept', { authorization: `Bearer ${token}` })).toBeGreaterThan(guests);
    expect((await mira.get('/api/probe/kept')).body.run).toBeGreaterThan(guests);
    expect(await run('/api/probe/kept')).toBe(guests);
    expect((await forum.client().get('/api/probe/kept', { authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it('is not created from an error', async () => {
    expect((await forum.client().get('/api/probe/kept?size=x')).status).toBe(400);
    expect((await forum.client().get('/api/probe/kept?size=x')).status).toBe(400);
  });

  it('is dropped when permissions change', async () => {
    const before = await kept('/api/probe/kept');
    const access = forum.app.service(Access);
    await access.decide(
      access.groupOf('member').id,
      definePermission('probe.use', { label: 'use the probe', default: 'member' }),
      false,
    );
    expect(await run('/api/probe/kept')).toBeGreaterThan(before);
  });

  it('is dropped when a setting of the API changes', async () => {
    const before = await kept('/api/probe/kept');
    await forum.app.settings.set({ 'api.page_size': 7 });
    expect(await run('/api/probe/kept')).toBeGreaterThan(before);
    await forum.app.settings.reset(['api.page_size']);
  });

  it('is answered with 304 for a known ETag', async () => {
    const { headers } = await forum.client().get('/api/probe/kept');
    const again = await forum.client().get('/api/probe/kept', { 'if-none-match': headers.get('etag')! });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('is the same when it is sent compressed', async () => {
    const plain = await forum.client().get('/api/probe/long', { 'accept-encoding': 'identity' });
    let zipped = plain;
    for (let tries = 0; tries < 100 && zipped.headers.get('content-encoding') === null; tries++)
      zipped = await forum.client().get('/api/probe/long', { 'accept-encoding': 'gzip' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(zipped.text).toBe(plain.text);
    expect(zipped.headers.get('vary')).toContain('Accept-Encoding');
  });
});

describe('other origins', () => {
  it('get no CORS headers unless they are allowed', async () => {
    const { headers } = await forum.client().get('/api/version', { origin: 'https://app.example' });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('may read with a bearer token if they are allowed, and never with cookies', async () => {
    await forum.app.settings.set({ 'api.cors_origins': ['https://app.example'] });
    const named = await forum.client().get('/api/version', { origin: 'https://app.example' });
    expect(named.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(named.headers.get('access-control-allow-credentials')).toBeNull();
    expect(named.headers.get('vary')).toContain('Origin');
    const other = await forum.client().get('/api/version', { origin: 'https://evil.example' });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
    const preflight = await forum.client().request('OPTIONS', '/api/probe/form', {
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      expect.stringContaining('Authorization'),
    ]);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Last-Event-ID');
    // The page sees a refusal, such as 404 or 429, on the request itself, never on its preflight.
    const asked = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const ask = (headers: Readonly<Record<string, string>>, path = '/api/probe/nowhere') =>
      forum.client().request('OPTIONS', path, { headers });
    expect((await ask(asked)).status).toBe(204);
    expect((await ask({ ...asked, origin: 'https://evil.example' })).status).toBe(404);
    await forum.app.settings.set({ 'api.rate_limit_ip': 1 });
    expect([(await ask(asked, '/api/version')).status, (await ask(asked, '/api/version')).status]).toEqual([204, 204]);
    expect((await forum.client().get('/api/version', asked)).status).toBe(429);
    await forum.app.settings.reset(['api.rate_limit_ip']);
    for (const name of [
      'ETag',
      'Idempotency-Replayed',
      'Location',
      'Retry-After',
      'X-RateLimit-Remaining',
      'X-Request-Id',
    ]) {
      expect(named.headers.get('access-control-expose-headers')).toContain(name);
    }
    await forum.app.settings.reset(['api.cors_origins']);
  });

  it('get the same CORS headers with cached responses, and no other origin does', async () => {
    await forum.app.settings.set({ 'api.cors_origins': ['https://app.example'] });
    for (const origin of [undefined, 'https://app.example', 'https://evil.example', undefined, 'https://app.example']) {
      await kept('/api/probe/kept');
      const { headers } = await forum.client().get('/api/probe/kept', origin === undefined ? {} : { origin });
      expect([headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([
        origin === 'https://app.example' ? origin : null,
        'Accept-Encoding, Authorization, Cookie, Origin',
      ]);
    }
    await forum.app.settings.reset(['api.cors_origins']);
    expect((await forum.client().get('/api/probe/kept')).headers.get('vary')).toBe(
      'Accept-Encoding, Authorization, Cookie',
    );
  });
});
