import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Settings } from 'parley-forum';
import type { Client } from 'parley-forum/testing';
import { startApi, type ApiForum } from './probe.ts';

let forum: ApiForum;
beforeAll(async () => {
  forum = await startApi({ environment: { trustedProxies: ['127.0.0.1'] }, settings: { 'probe.rate': 3 } });
});
afterAll(() => forum[Symbol.asyncDispose]());

/** A visitor from an IP address that no other test uses. */
const from = (address: string): Client => forum.client({ 'x-forwarded-for': address });
const limit = (ip: number, user = 100): Promise<void> =>
  forum.app.service(Settings).set({ 'api.rate_limit_ip': ip, 'api.rate_limit_user': user });

describe('the rate limit', () => {
  it('counts guests by IP address, whatever the result, and states on every response how many calls remain', async () => {
    await limit(9);
    const guest = from('192.0.2.1');
    const calls = [
      ['GET', '/api/version'],
      ['GET', '/api/version'],
      ['GET', '/api/nothing'],
      ['DELETE', '/api/version'],
      ['GET', '/api/probe/member'],
      ['GET', '/api/probe/broken'],
      ['OPTIONS', '/api/version'],
      ['HEAD', '/api/version'],
      ['GET', '/api/docs'],
    ] as const;
    for (const [index, [method, path]] of calls.entries()) {
      const { headers, status } = await guest.request(method, path);
      expect(status, path).not.toBe(429);
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')], `${method} ${path}`).toEqual([
        '9',
        String(8 - index),
      ]);
      expect(Number(headers.get('x-ratelimit-reset')), path).toBeGreaterThan(Date.now() / 1000);
      expect(Number(headers.get('x-ratelimit-reset')), path).toBeLessThanOrEqual(Date.now() / 1000 + 61);
    }
    for (const path of ['/api/version', '/api/probe/fresh', '/api/nothing', '/api/openapi.json']) {
      const { status, headers, body } = await guest.get(path);
      expect([status, body.code, headers.get('x-ratelimit-remaining')], path).toEqual([429, 'rate_limited', '0']);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
    }
  });

  it('is stated on cached responses and on those that the caller has already', async () => {
    await limit(9, 100_000);
    const guest = from('192.0.2.9');
    const {
      headers: { etag },
    } = await guest.get('/api/probe/kept').then(({ headers }) => ({ headers: { etag: headers.get('etag')! } }));
    const answers = [
      await guest.get('/api/probe/kept'),
      await guest.get('/api/probe/kept', { 'if-none-match': etag }),
      await guest.get('/api/openapi.json', { 'if-none-match': '*' }),
      await guest.get('/api/probe/kept?size=0'),
    ];
    expect(
      answers.map(({ status, headers }) => [
        status,
        headers.get('x-ratelimit-remaining'),
        headers.has('x-ratelimit-reset'),
      ]),
    ).toEqual([
      [200, '7', true],
      [304, '6', true],
      [304, '5', true],
      [400, '4', true],
    ]);
    await forum.member('kim');
    const authorization = `Bearer ${await forum.token('kim')}`;
    const left = async (): Promise<number> =>
      Number((await forum.client().get('/api/probe/kept', { authorization })).headers.get('x-ratelimit-remaining'));
    expect((await left()) - (await left())).toBe(1);
  });

  it('counts members by account, wherever they call from, and allows moderators five times as much', async () => {
    await limit(100_000, 100_000);
    await forum.member('mira');
    await forum.member('otto', 'moderator');
    const [mira, otto, session] = [await forum.token('mira'), await forum.token('otto'), await forum.session('mira')];
    // The window of the calls just made has not expired, so the limit is set above their number.
    const used = async (token: string): Promise<number> => {
      const { headers } = await forum.client().get('/api/probe/fresh', { authorization: `Bearer ${token}` });
      return Number(headers.get('x-ratelimit-limit')) - Number(headers.get('x-ratelimit-remaining'));
    };
    await limit(1, (await used(mira)) + 1);
    const left = async (token: string, address: string): Promise<readonly [number, string | null]> => {
      const { status, headers } = await from(address).get('/api/probe/fresh', { authorization: `Bearer ${token}` });
      return [status, headers.get('x-ratelimit-remaining')];
    };
    expect([await left(mira, '192.0.2.2'), await left(mira, '192.0.2.3')]).toEqual([
      [200, '0'],
      [429, '0'],
    ]);
    expect((await session.get('/api/probe/fresh')).status).toBe(429);
    expect((await left(otto, '192.0.2.2'))[0]).toBe(200);
    expect([
      (await from('192.0.2.2').get('/api/probe/fresh')).status,
      (await from('192.0.2.2').get('/api/probe/fresh')).status,
    ]).toEqual([200, 429]);

    await limit(1, 2);
    const staff = await forum.client().get('/api/probe/fresh', { authorization: `Bearer ${otto}` });
    expect(staff.headers.get('x-ratelimit-limit')).toBe('10');
  });

  it('does not count routes with a bucket of their own', async () => {
    await limit(2);
    const guest = from('192.0.2.4');
    const statuses: number[] = [];
    for (let call = 0; call < 4; call++) statuses.push((await guest.post('/api/probe/bucket')).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await guest.get('/api/version')).headers.get('x-ratelimit-remaining')).toBe('1');
  });

  it('counts an IPv6 network as one', async () => {
    await limit(2);
    const status = async (address: string): Promise<number> => (await from(address).get('/api/version')).status;
    expect([
      await status('2001:db8:1:2::1'),
      await status('2001:db8:1:2:ffff::2'),
      await status('2001:db8:1:2::3'),
    ]).toEqual([200, 200, 429]);
    expect(await status('2001:db8:1:3::1')).toBe(200);
    expect(await status('192.0.2.5')).toBe(200);
  });

  it('follows its setting immediately', async () => {
    await limit(1);
    const guest = from('192.0.2.6');
    await guest.get('/api/version');
    expect((await guest.get('/api/version')).status).toBe(429);
    await limit(50);
    expect((await guest.get('/api/version')).headers.get('x-ratelimit-limit')).toBe('50');
  });

  it('counts callers with an invalid token as guests, who get 401', async () => {
    await limit(1);
    const guest = from('192.0.2.7');
    for (let call = 0; call < 3; call++) {
      const { status, headers } = await guest.get('/api/version', { authorization: 'Bearer wrong' });
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([401, '0']);
    }
    expect((await guest.get('/api/version')).status).toBe(429);
  });
});
