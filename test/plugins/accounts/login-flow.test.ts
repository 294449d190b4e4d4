import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Data, definePlugin, sql } from 'parley-forum';
import { Accounts, loginSteps, Sessions } from 'parley-forum/plugins/accounts';
import { negotiated, pages, redirect } from 'parley-forum/plugins/web';
import type { Answer, Client, TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };

/** Two steps that require only a click, for members whose names contain them, and one that fails. */
const steps = definePlugin({
  id: 'test-steps',
  needs: { sessions: Sessions },
  setup({ sessions }, plugin) {
    for (const name of ['first', 'second']) {
      const path = `/login/${name}`;
      plugin.extend(loginSteps, { name, path, required: async ({ username }) => username.includes(name) });
      plugin.route(pages, { method: 'get', path, can: 'public' })(async ({ req }) => {
        const waiting = await sessions.pendingLogin(req);
        return negotiated(
          redirect('/login'),
          waiting ? { username: waiting.account.username, step: waiting.step } : {},
        );
      });
      plugin.route(pages, { method: 'post', path, can: 'public' })(async ({ req, res }) => {
        const waiting = await sessions.pendingLogin(req);
        const entered = await sessions.completeStep(req, res, name);
        return negotiated(redirect(entered.next ?? waiting?.returnTo ?? '/'), entered);
      });
    }
    plugin.extend(loginSteps, {
      name: 'broken',
      path: '/login/broken',
      required: async ({ username }) => {
        if (username.includes('broken')) throw new Error('out of order');
        return false;
      },
    });
  },
});

describe('a login with an additional step', () => {
  let forum: TestForum;
  let member = 0;
  const signUp = async (what: string): Promise<string> => {
    const username = `${what}-${++member}`;
    await forum.app.service(Accounts).create({ username, email: `${username}@example.org`, password: PASSWORD });
    return username;
  };
  const login = async (client: Client, identifier: string, more: object = {}): Promise<Answer> => {
    await client.csrf();
    return client.post('/login', { identifier, password: PASSWORD, ...more }, asJson);
  };
  const waiting = async (client: Client): Promise<object> => (await client.get('/login/first', asJson)).body;
  const isIn = async (client: Client): Promise<boolean> => (await client.get('/settings/profile')).status === 200;
  const withCookies = (client: Client, headers: Record<string, string> = {}): Client =>
    forum.client({ cookie: [...client.cookies].map((pair) => pair.join('=')).join('; '), ...headers });

  beforeAll(async () => {
    forum = await openForum({ extra: [steps] });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('starts a session only once the step is completed', async () => {
    const username = await signUp('first');
    const client = forum.client();
    const answer = await login(client, username);
    expect([answer.status, answer.body]).toEqual([200, { success: true, first: true }]);
    expect(client.cookies.has('parley.sid')).toBe(false);
    expect(await isIn(client)).toBe(false);
    expect(await waiting(client)).toEqual({ username, step: 'first' });
    const entered = await client.post('/login/first', undefined, asJson);
    expect(entered.body).toMatchObject({ success: true, user: { username }, csrf_token: expect.any(String) });
    expect(await isIn(client)).toBe(true);
    expect(client.cookies.has('parley.waiting')).toBe(false);
  });

  it('redirects a browser to the step and then to the requested page, and keeps the “remember” choice', async () => {
    const client = forum.client();
    await client.csrf();
    const answer = await client.submit('/login', {
      identifier: await signUp('first'),
      password: PASSWORD,
      return_to: '/categories?x=1',
      remember: 'on',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login/first']);
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('parley.waiting='));
    expect(cookie).toMatch(/HttpOnly; SameSite=Lax/);
    const entered = await client.submit('/login/first');
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/categories?x=1']);
    expect(entered.headers.getSetCookie().find((line) => line.startsWith('parley.sid='))).toMatch(/Expires=/);
  });

  it('does not affect members for whom no step is required', async () => {
    expect((await login(forum.client(), await signUp('plain'))).body.user).toBeDefined();
  });

  it('expires after ten minutes', async () => {
    const client = forum.client();
    await login(client, await signUp('first'));
    forum.clock.advance(599_999);
    expect(await waiting(client)).toMatchObject({ step: 'first' });
    forum.clock.advance(1);
    expect(await waiting(client)).toEqual({});
    expect((await client.post('/login/first', undefined, asJson)).status).toBe(401);
  });

  it('can be completed once, even by two requests at once', async () => {
    const client = forum.client();
    await login(client, await signUp('first'));
    const token = await client.csrf();
    const copies = [withCookies(client, { 'x-csrf-token': token }), withCookies(client, { 'x-csrf-token': token })];
    const answers = await Promise.all(copies.map((copy) => copy.post('/login/first', undefined, asJson)));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401]);
    expect((await withCookies(client, { 'x-csrf-token': token }).post('/login/first', undefined, asJson)).status).toBe(
      401,
    );
  });

  it('is bound to the browser that sent the password', async () => {
    const client = forum.client({ 'user-agent': 'one' });
    await login(client, await signUp('first'));
    expect(await waiting(forum.client({ 'user-agent': 'one' }))).toEqual({});
    expect(await waiting(withCookies(client, { 'user-agent': 'two' }))).toEqual({});
    expect(await waiting(withCookies(client, { 'user-agent': 'one' }))).toMatchObject({ step: 'first' });
    const kept = await forum.app
      .service(Data)
      .all(sql<{ text: string }>`select accounts_waiting::text as text from accounts_waiting`);
    expect(JSON.stringify(kept)).not.toContain(client.cookies.get('parley.waiting'));
  });

  it.each([
    ['the password is changed', (accounts: Accounts, id: string) => accounts.setPassword(id, 'Another-harbour-43')],
    ['the status is changed', (accounts: Accounts, id: string) => accounts.setStatus(id, 'disabled')],
    ['the sessions are ended', (accounts: Accounts, id: string) => accounts.endSessions(id)],
  ] as const)('is cancelled when %s', async (_what, change) => {
    const username = await signUp('first');
    const client = forum.client();
    await login(client, username);
    const accounts = forum.app.service(Accounts);
    await change(accounts, (await accounts.findByIdentifier(username))!.id);
    expect(await waiting(client)).toEqual({});
    expect((await client.post('/login/first', undefined, asJson)).status).toBe(401);
  });

  it('requires one step after the other, and none completes another', async () => {
    const client = forum.client();
    const username = await signUp('first-second');
    await login(client, username);
    expect((await client.post('/login/second', undefined, asJson)).status).toBe(401);
    expect((await client.post('/login/first', undefined, asJson)).body).toEqual({
      success: true,
      second: true,
      next: '/login/second',
    });
    expect(await isIn(client)).toBe(false);
    expect((await client.post('/login/first', undefined, asJson)).status).toBe(401);
    expect((await client.post('/login/second', undefined, asJson)).body).toMatchObject({ user: { username } });
    expect(await isIn(client)).toBe(true);
  });

  it('does not succeed when a step fails', async () => {
    const client = forum.client();
    expect((await login(client, await signUp('broken'))).status).toBe(500);
    expect(await isIn(client)).toBe(false);
  });

  it('is required after signing up, too', async () => {
    const client = forum.client();
    await client.csrf();
    const username = `first-${++member}`;
    const answer = await client.post(
      '/register',
      { username, email: `${username}@example.org`, password: PASSWORD },
      asJson,
    );
    expect([answer.status, answer.body]).toEqual([201, { success: true, first: true }]);
    expect(await isIn(client)).toBe(false);
  });

  it('records the IP address only once it is completed', async () => {
    const username = await signUp('first');
    const client = forum.client();
    const last = async (): Promise<string | null> =>
      (await forum.app
        .service(Data)
        .one(sql<{ ip: string | null }>`select last_ip as ip from account where username = ${username}::citext`))!.ip;
    await login(client, username);
    expect(await last()).toBeNull();
    await client.post('/login/first', undefined, asJson);
    expect(await last()).toBe('127.0.0.1');
  });

  it('cannot be completed by a guest without a password', async () => {
    const guest = forum.client();
    await guest.csrf();
    expect((await guest.post('/login/first', undefined, asJson)).status).toBe(401);
    expect((await forum.client({ cookie: 'parley.waiting=made-up' }).get('/login/first', asJson)).body).toEqual({});
  });
});
