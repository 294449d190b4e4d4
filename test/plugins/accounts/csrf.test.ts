import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Accounts, Csrf } from 'parley-forum/plugins/accounts';
import type { TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';

describe('CSRF tokens', () => {
  let forum: TestForum;
  beforeAll(async () => {
    forum = await openForum();
    await forum.app.service(Accounts).create({ username: 'Ada', email: 'ada@example.org', password: PASSWORD });
  });
  afterAll(() => forum[Symbol.asyncDispose]());
  const login = { identifier: 'ada', password: PASSWORD };

  it('are required to log in, and must belong to the visitor', async () => {
    const other = await forum.client().csrf();
    const client = forum.client();
    expect((await client.post('/login', login)).status).toBe(403);
    await client.csrf();
    expect((await client.post('/login', login, { 'x-csrf-token': other })).status).toBe(403);
    expect((await client.post('/login', login)).status).toBe(303);
  });

  it('stay the same for a guest from page to page', async () => {
    const client = forum.client();
    expect(await client.csrf('/')).toBe(await client.csrf('/login'));
    expect((await client.get('/')).headers.getSetCookie()).toEqual([]);
  });

  it('change at login, and the old one stops working', async () => {
    const client = forum.client();
    const before = await client.csrf();
    await client.login('ada', PASSWORD);
    expect(await client.csrf('/')).not.toBe(before);
    expect((await client.post('/logout', undefined, { 'x-csrf-token': before })).status).toBe(403);
    expect((await client.post('/logout', undefined, { accept: 'application/json' })).status).toBe(200);
  });

  it('are returned to API clients by the login', async () => {
    const client = forum.client();
    await client.csrf();
    const { body } = await client.post('/login', login, { accept: 'application/json' });
    expect(await client.csrf('/')).toBe(body.csrf_token);
  });

  it('do not validate a request that the browser marks as cross-site', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: forum.url },
    ]) {
      const client = forum.client();
      await client.csrf();
      expect((await client.post('/login', login, headers as Record<string, string>)).status).toBe(403);
    }
    for (const headers of [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, { origin: 'http://forum.test' }]) {
      const client = forum.client();
      await client.csrf();
      expect((await client.post('/login', login, headers as Record<string, string>)).status).toBe(303);
    }
  });

  it('are not derived from a cookie that this forum did not sign', async () => {
    const csrf = forum.app.service(Csrf);
    const made = csrf.guestToken(undefined);
    expect(made.setCookie).toMatch(/^parley\.csrf=.*; Path=\/; HttpOnly; SameSite=Lax$/);
    const cookie = made.setCookie!.split(';')[0];
    expect(csrf.guestToken(`a=b; ${cookie}; c=d`)).toEqual({ token: made.token, setCookie: undefined });
    expect(csrf.guestToken('parley.csrf=chosen.by-somebody').setCookie).toBeDefined();
    expect(csrf.guestToken(cookie, true).setCookie).toMatch(/^__Host-parley\.csrf=.*; Secure;/);
  });

  it('of a cached page are valid on an HTTPS site too, whatever the connection to the proxy', async () => {
    await using secure = await openForum({ environment: { baseUrl: 'https://forum.test' } });
    await secure.client().get('/');
    const client = secure.client();
    expect((await client.get('/')).headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-parley\.csrf=.*; Secure;/),
    ]);
    expect(
      (await client.post('/api/presence/update', { page: '/' }, { 'x-csrf-token': await client.csrf('/') })).status,
    ).toBe(200);
  });
});
