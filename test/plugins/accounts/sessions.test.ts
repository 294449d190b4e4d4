import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Data, Settings, sql } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import type { Client, TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const HOUR = 3_600_000;

describe('a session', () => {
  let forum: TestForum;
  let ada: Account;
  let member = 0;
  const rows = () =>
    forum.app.service(Data).all(
      sql<{
        key: string;
        data: object;
      }>`select key, data from accounts_session where account_id = ${ada.id} order by key`,
    );
  const withCookie = (client: Client, headers: Record<string, string> = {}): Client =>
    forum.client({ cookie: `parley.sid=${client.cookies.get('parley.sid')}`, ...headers });
  const knows = async (client: Client): Promise<boolean> => (await client.get('/')).text.includes(ada.username);
  const login = async (remember = false, headers: Record<string, string> = {}): Promise<Client> => {
    const client = forum.client(headers);
    await client.csrf();
    const answer = await client.submit('/login', {
      identifier: ada.username,
      password: PASSWORD,
      ...(remember && { remember: 'true' }),
    });
    expect(answer.status).toBe(303);
    await client.csrf('/');
    return client;
  };

  beforeAll(async () => {
    forum = await openForum({ environment: { trustedProxies: ['127.0.0.1'] } });
  });
  beforeEach(async () => {
    const username = `Ada-${++member}`;
    ada = await forum.app.service(Accounts).create({ username, email: `${username}@example.org`, password: PASSWORD });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  /** Runs `work` while the session store does not respond. */
  const storeBusy = async (work: () => Promise<unknown>): Promise<void> => {
    const [data, { redis }] = [forum.app.service(Data), forum.app.cache];
    if (redis) {
      const answers = Promise.withResolvers<null>();
      const get = vi.spyOn(redis, 'get').mockReturnValue(answers.promise);
      await work();
      get.mockRestore();
      return answers.resolve(null);
    }
    await forum.app.cache.purge(...(await rows()).map(({ key }) => `session:${key}`));
    await data.transaction(async () => {
      await data.all(sql`lock table accounts_session in access exclusive mode`);
      await work();
    });
  };

  it('reports its remaining time, which queries leave unchanged and activity extends', async () => {
    const [client, remembered] = [await login(), await login(true)];
    const left = async (method: string, who = client): Promise<number> =>
      (await who.request(method, '/api/session', method === 'POST' ? { json: {} } : {})).body.expires_in;
    expect(await left('GET')).toBe(3_600);
    forum.clock.advance(1_800_000);
    expect([await left('GET'), await left('GET'), await left('POST')]).toEqual([1_800, 1_800, 3_600]);
    for (let hours = 0; hours < 45; hours++) {
      forum.clock.advance(1_800_000);
      await left('POST');
    }
    // The session itself ends after a day, whatever its activity.
    expect([await left('GET'), await left('GET', remembered)]).toEqual([3_600, 29 * 86_400 + 3_600]);
    forum.clock.advance(600_000);
    expect(await left('POST')).toBe(3_000);
  });

  it('survives a request that was aborted before the session was found', async () => {
    const client = await login();
    await storeBusy(async () => {
      const headers = { cookie: `parley.sid=${client.cookies.get('parley.sid')}` };
      const asked = fetch(`${forum.url}/settings`, { headers, signal: AbortSignal.timeout(100) });
      await expect(asked).rejects.toThrow('aborted');
      await sleep(50);
    });
    expect(await knows(client)).toBe(true);
  });

  it('ends after an hour without a request', async () => {
    const client = await login();
    for (let n = 0; n < 3; n++) {
      forum.clock.advance(0.9 * HOUR);
      expect(await knows(client)).toBe(true);
    }
    forum.clock.advance(HOUR);
    expect(await knows(client)).toBe(false);
    expect(client.cookies.has('parley.sid')).toBe(false);
  });

  it('ends after a day, however active it is', async () => {
    const client = await login();
    for (let n = 0; n < 47; n++) {
      forum.clock.advance(HOUR / 2);
      expect(await knows(client)).toBe(true);
    }
    forum.clock.advance(HOUR / 2);
    expect(await knows(client)).toBe(false);
  });

  it('that is remembered ignores the idle limit and ends after thirty days', async () => {
    const client = await login(true);
    forum.clock.advance(15 * 24 * HOUR);
    expect(await knows(client)).toBe(true);
    forum.clock.advance(15 * 24 * HOUR - 1);
    expect(await knows(client)).toBe(true);
    forum.clock.advance(1);
    expect(await knows(client)).toBe(false);
  });

  it('that is remembered follows every other rule', async () => {
    const client = await login(true, { 'user-agent': 'one' });
    expect(await knows(withCookie(client, { 'user-agent': 'two' }))).toBe(false);
    expect(await knows(client)).toBe(false);
    const again = await login(true);
    await forum.app.service(Accounts).setGroup(ada.id, 'moderator');
    expect(await knows(again)).toBe(false);
  });

  it('that is remembered has a persistent cookie', async () => {
    const client = forum.client();
    await client.csrf();
    const answer = await client.submit('/login', { identifier: ada.username, password: PASSWORD, remember: 'on' });
    expect(answer.headers.getSetCookie().find((line) => line.startsWith('parley.sid'))).toMatch(/Expires=/);
  });

  it('is destroyed when the browser’s fingerprint changes', async () => {
    const client = await login(false, { 'user-agent': 'one', 'accept-language': 'en' });
    expect(await knows(withCookie(client, { 'user-agent': 'one', 'accept-language': 'en' }))).toBe(true);
    expect(await knows(withCookie(client, { 'user-agent': 'one', 'accept-language': 'de' }))).toBe(false);
    expect(await rows()).toEqual([]);
    expect(await knows(client)).toBe(false);
  });

  it('survives a change of fingerprint while that check is off, and is bound to it again once it is on', async () => {
    const client = await login(false, { 'user-agent': 'one', 'accept-language': 'en' });
    await forum.app.service(Settings).set({ 'security.bind_fingerprint': false });
    expect(await knows(withCookie(client, { 'user-agent': 'two', 'accept-language': 'de' }))).toBe(true);
    await forum.app.service(Settings).set({ 'security.bind_fingerprint': true });
    expect(await knows(withCookie(client, { 'user-agent': 'two', 'accept-language': 'de' }))).toBe(false);
    expect(await knows(client)).toBe(false);
  });

  it('is bound to the client’s IP address unless that check is off', async () => {
    const client = await login(false, { 'x-forwarded-for': '192.0.2.1' });
    await forum.app.service(Settings).set({ 'security.bind_ip': false });
    expect(await knows(withCookie(client, { 'x-forwarded-for': '192.0.2.2' }))).toBe(true);
    await forum.app.service(Settings).set({ 'security.bind_ip': true });
    expect(await knows(withCookie(client, { 'x-forwarded-for': '192.0.2.2' }))).toBe(false);
    expect(await knows(client)).toBe(false);
  });

  it.each([
    ['group', (accounts: Accounts) => accounts.setGroup(ada.id, 'moderator')],
    ['password', (accounts: Accounts) => accounts.setPassword(ada.id, 'Another-harbour-43')],
    ['status', (accounts: Accounts) => accounts.setStatus(ada.id, 'disabled')],
  ] as const)('ends when the member’s %s changes', async (_what, change) => {
    const client = await login();
    await change(forum.app.service(Accounts));
    expect(await knows(client)).toBe(false);
  });

  describe('that ended by its rules', () => {
    const WORDS = 'You were logged out because';
    const reason = (text: string): string | undefined => /You were logged out ([^<]*)\./.exec(text)?.[1];

    it.each([
      ['because your browser or its languages changed, for your safety', async () => ({ 'user-agent': 'another' })],
      ['because your network address changed, for your safety', async () => ({ 'x-forwarded-for': '192.0.2.9' })],
      ['because you were away for a while, for your safety', async (): Promise<void> => void forum.clock.advance(HOUR)],
      [
        'because your account is not active',
        async (): Promise<void> => forum.app.service(Accounts).setStatus(ada.id, 'disabled'),
      ],
      [
        'because your password or group was changed or your sessions were ended, for your safety',
        async (): Promise<void> => forum.app.service(Accounts).endSessions(ada.id),
      ],
    ] as const)('states the reason once: %s', async (why, end) => {
      const client = await login();
      const answer = await client.get('/settings/profile', (await end()) ?? {});
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login?return_to=%2Fsettings%2Fprofile']);
      const { text } = await client.get('/login');
      expect(reason(text)).toBe(why);
      // It must not look like a success message.
      expect(text).toContain('class="notice info"');
      for (const path of ['/login', '/']) expect((await client.get(path)).text).not.toContain(WORDS);
    });

    it('states the reason on a public page, and to no one else', async () => {
      const client = await login(true);
      forum.clock.advance(30 * 24 * HOUR);
      expect(reason((await client.get('/categories')).text)).toBe('because your login was old, for your safety');
      for (const other of [client, forum.client()]) expect((await other.get('/categories')).text).not.toContain(WORDS);
    });

    it('states the reason later if the first request was one in the background', async () => {
      const client = await login();
      forum.clock.advance(HOUR);
      expect((await client.get('/api/notifications/count')).status).toBe(401);
      expect((await client.get('/login')).text).toContain(WORDS);
    });

    it('reveals nothing of the account to another browser, and nothing at all to a forged cookie', async () => {
      const client = await login();
      await forum.app.service(Accounts).setStatus(ada.id, 'disabled');
      const stranger = await withCookie(client, { 'user-agent': 'another' }).get('/login');
      expect(reason(stranger.text)).toBe('because your browser or its languages changed, for your safety');
      const madeUp = forum.client({ cookie: 'parley.sid=s%3Amade-up.signature' });
      expect((await madeUp.get('/login')).text).not.toContain(WORDS);
    });
  });

  it('that has become invalid reads as a guest, and gets 401 for writes', async () => {
    const client = await login();
    await forum.app.service(Accounts).setGroup(ada.id, 'moderator');
    expect(
      (await withCookie(client).post('/settings/profile', { bio: 'x' }, { accept: 'application/json' })).status,
    ).toBe(401);
    expect((await client.get('/')).status).toBe(200);
  });

  it('gets a new id every half hour, while requests in progress still pass with the old one', async () => {
    const client = await login();
    const before = withCookie(client);
    const token = await client.csrf('/');
    forum.clock.advance(HOUR / 2);
    const old = client.cookies.get('parley.sid');
    expect(await knows(client)).toBe(true);
    expect(client.cookies.get('parley.sid')).not.toBe(old);
    expect(await client.csrf('/')).toBe(token);
    expect(await knows(before)).toBe(true);
    forum.clock.advance(60_000);
    expect(await knows(before)).toBe(false);
    expect(await knows(client)).toBe(true);
  });

  it('leaves no usable old id behind after a logout', async () => {
    const client = await login();
    const before = withCookie(client);
    forum.clock.advance(HOUR / 2);
    expect(await knows(client)).toBe(true);
    await client.submit('/logout');
    expect(await knows(before)).toBe(false);
  });

  it('leaves its old id invalid when a request sent with it before the renewal ends after it', async () => {
    const browser = { 'user-agent': 'Lookout/1.0', 'accept-language': 'en' };
    const client = await login(true, browser);
    const token = await client.csrf('/');
    forum.clock.advance(HOUR / 2 - 1_000);
    const headers = {
      ...browser,
      cookie: `parley.sid=${client.cookies.get('parley.sid')}`,
      'x-csrf-token': token,
      'content-type': 'application/json',
    };
    const slow = request(`${forum.url}/appearance`, { method: 'POST', headers });
    const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
    slow.write('{"scheme"');
    await sleep(200);
    const before = withCookie(client, browser);
    forum.clock.advance(2_000);
    expect(await knows(client)).toBe(true);
    slow.end(':"dark"}');
    expect((await answered)[0].resume().statusCode).toBe(303);
    forum.clock.advance(61_000);
    expect([await knows(client), await knows(before)]).toEqual([true, false]);
  });

  it('is renewed once when many requests send the old id at once', async () => {
    const client = await login();
    forum.clock.advance(HOUR / 2);
    const cookie = withCookie(client);
    expect(await Promise.all(Array.from({ length: 8 }, () => knows(cookie)))).toEqual(
      Array.from({ length: 8 }, () => true),
    );
    expect(await rows()).toHaveLength(forum.app.cache.redis ? 0 : 2);
  });

  it('costs no statement once it is cached', async () => {
    const client = await login();
    await client.get('/settings/none');
    expect(await forum.statements(() => client.get('/settings/none'))).toBe(0);
  });

  it('is stored without its id', async () => {
    const client = await login();
    const id = decodeURIComponent(client.cookies.get('parley.sid')!).slice(2).split('.')[0]!;
    expect(await rows()).toHaveLength(forum.app.cache.redis ? 0 : 1);
    expect(JSON.stringify(await rows())).not.toContain(id);
  });

  it('belongs to no one when its cookie is forged', async () => {
    const client = forum.client({ cookie: 'parley.sid=s%3Amade-up.signature' });
    expect((await client.get('/')).status).toBe(200);
    expect(await knows(client)).toBe(false);
  });
});
