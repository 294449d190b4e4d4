import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Answer, Client, TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };
const QUARTER = 900_000;
const hidden = (text: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';

describe('confirming the password', () => {
  let forum: TestForum;
  let username: string;
  let client: Client;
  let member = 0;
  const visitor = (): Client => forum.client({ 'x-forwarded-for': `198.51.100.${++member}` });
  const login = async (): Promise<Client> => {
    const other = visitor();
    await other.login(username, PASSWORD);
    return other;
  };
  const confirm = (password = PASSWORD, more: object = {}): Promise<Answer> =>
    client.post('/login/confirm', { password, ...more }, asJson);
  const mayChange = async (who = client): Promise<boolean> =>
    (await who.get('/settings/security/email')).status === 200;

  beforeAll(async () => {
    forum = await openForum({ environment: { trustedProxies: ['127.0.0.1'] } });
  });
  beforeEach(async () => {
    username = `Ada-${++member}`;
    await forum.app.service(Accounts).create({ username, email: `${username}@example.org`, password: PASSWORD });
    client = await login();
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('is not required for fifteen minutes after a login, and is from then on', async () => {
    forum.clock.advance(QUARTER - 1);
    expect(await mayChange()).toBe(true);
    forum.clock.advance(1);
    const answer = await client.get('/settings/security/email');
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      '/login/confirm?return_to=%2Fsettings%2Fsecurity%2Femail',
    ]);
    expect((await client.get('/settings/security')).status).toBe(200);
  });

  it.each([
    ['/settings/security/email', { email: 'other@example.org' }],
    ['/settings/security/api-token', undefined],
    ['/settings/security/sessions/revoke', { id: '0'.repeat(64) }],
    ['/settings/security/sessions/revoke-others', undefined],
  ])('is required for POST %s, which answers confirmation_needed and changes nothing', async (path, body) => {
    forum.clock.advance(QUARTER);
    const answer = await client.post(path, body, asJson);
    expect([answer.status, answer.body.success, answer.body.code]).toEqual([403, false, 'confirmation_needed']);
    const headers = { referer: `${forum.url}/settings/security?a=b` };
    const form = await client.request('POST', path, { form: { _csrf: await client.csrf('/'), ...body }, headers });
    expect([form.status, hidden(form.text, 'return_to')]).toEqual([403, '/settings/security?a=b']);
    expect((await forum.app.service(Accounts).findByIdentifier(username))!.email).toBe(`${username}@example.org`);
  });

  it('restores the address that was typed before, only for the same member, and never a secret', async () => {
    forum.clock.advance(QUARTER);
    const page = '/settings/security/email';
    const headers = { referer: `${forum.url}${page}` };
    const asked = await client.request('POST', page, {
      form: { _csrf: await client.csrf('/'), email: 'new-<boat>@example.org', code: '123456' },
      headers,
    });
    const form = hidden(asked.text, 'pending');
    expect([asked.status, hidden(asked.text, 'return_to'), form.length > 0, asked.text.includes('boat')]).toEqual([
      403,
      page,
      true,
      false,
    ]);
    const back = await client.submit('/login/confirm', { password: PASSWORD, return_to: page, pending: form });
    expect([back.status, back.headers.get('cache-control'), back.text.includes('123456')]).toEqual([
      200,
      'private, no-store',
      false,
    ]);
    expect(back.text).toContain('value="new-&lt;boat&gt;@example.org"');
    expect(back.text).toMatch(/class="flash"><div class="notice info"[^]*?Thank you. What you typed is still here/);
    expect((await client.get(page)).text).toContain(`value="${username}@example.org"`);

    const other = visitor();
    await forum.app
      .service(Accounts)
      .create({ username: `${username}-2`, email: `${username}-2@example.org`, password: PASSWORD });
    await other.login(`${username}-2`, PASSWORD);
    for (const value of [form, `${form.slice(0, -4)}AAAA`, 'v1.x']) {
      const answer = await other.submit('/login/confirm', { password: PASSWORD, return_to: page, pending: value });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, page]);
    }
  });

  it('lasts for fifteen minutes, in this session only', async () => {
    const other = await login();
    forum.clock.advance(QUARTER);
    expect((await confirm()).body).toEqual({
      success: true,
      confirmed_until: new Date(forum.clock.now() + QUARTER).toISOString(),
    });
    expect(await mayChange()).toBe(true);
    expect(await mayChange(other)).toBe(false);
    forum.clock.advance(QUARTER);
    expect(await mayChange()).toBe(false);
  });

  it('gives the session a new id and invalidates the old one', async () => {
    const cookie = client.cookies.get('parley.sid');
    const token = await client.csrf('/');
    forum.clock.advance(QUARTER);
    await confirm();
    expect(client.cookies.get('parley.sid')).not.toBe(cookie);
    expect(await client.csrf('/')).toBe(token);
    const old = forum.client({ 'x-forwarded-for': `198.51.100.${member}`, cookie: `parley.sid=${cookie}` });
    expect((await old.get('/settings/security')).status).toBe(303);
    expect((await client.get('/settings/security')).status).toBe(200);
  });

  it('reports a wrong password, keeps the form, and is throttled like a login', async () => {
    forum.clock.advance(QUARTER);
    const wrong = await confirm('Wrong-harbour-1');
    expect([wrong.status, wrong.body.details]).toEqual([400, [{ field: 'password', message: 'is incorrect' }]]);
    const form = await client.submit('/login/confirm', {
      password: 'Wrong-harbour-1',
      return_to: '/settings/security/email',
    });
    expect(form.status).toBe(400);
    expect(form.text).toContain('value="/settings/security/email"');
    expect(form.text).not.toContain('Wrong-harbour-1');
    for (let n = 2; n < 5; n++) expect((await confirm('Wrong-harbour-1')).status).toBe(400);
    expect((await confirm()).status).toBe(429);
    expect(await mayChange()).toBe(false);
  });

  it('redirects within this site only', async () => {
    for (const [wish, place] of [
      ['/settings/security/email', '/settings/security/email'],
      ['https://evil.example/', '/'],
      ['//evil.example', '/'],
    ] as const) {
      const answer = await client.submit('/login/confirm', { password: PASSWORD, return_to: wish });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, place]);
    }
  });

  it('is not implied by changing the password, which requires no second factor', async () => {
    forum.clock.advance(QUARTER);
    expect(
      (
        await client.post(
          '/settings/security/password',
          { current_password: PASSWORD, password: 'Next-harbour-43' },
          asJson,
        )
      ).status,
    ).toBe(200);
    expect(await mayChange()).toBe(false);
  });

  it('can be ended early by the member', async () => {
    const cookie = client.cookies.get('parley.sid');
    expect((await client.post('/login/confirm/end', {}, asJson)).body).toEqual({ success: true });
    expect([await mayChange(), client.cookies.get('parley.sid') === cookie]).toEqual([false, false]);
  });

  it('requires a login and a CSRF token', async () => {
    const guest = visitor();
    await guest.csrf();
    expect((await guest.get('/login/confirm')).headers.get('location')).toMatch(/^\/login\?/);
    expect((await guest.post('/login/confirm', { password: PASSWORD }, asJson)).status).toBe(401);
    expect(
      (await client.post('/login/confirm', { password: PASSWORD }, { ...asJson, 'x-csrf-token': 'wrong' })).status,
    ).toBe(403);
  });
});
