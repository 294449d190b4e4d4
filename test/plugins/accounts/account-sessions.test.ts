import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import type { Client, TestForum } from 'parley-forum/testing';
import { listen } from '../live/listen.ts';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };
const LINUX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1';

interface Listed {
  readonly id: string;
  readonly device: string;
  readonly address: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly current: boolean;
}

describe('the list of a member’s sessions', () => {
  let forum: TestForum;
  let ada: Account;
  let desktop: Client;
  let phone: Client;
  let member = 0;
  const accounts = (): Accounts => forum.app.service(Accounts);
  const newMember = (): Promise<Account> => {
    const username = `Ada-${++member}`;
    return accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
  };
  const login = async ({ username }: Account, agent: string, address: string): Promise<Client> => {
    const client = forum.client({ 'user-agent': agent, 'x-forwarded-for': address });
    await client.login(username, PASSWORD);
    return client;
  };
  const list = async (client: Client): Promise<readonly Listed[]> =>
    (await client.get('/settings/security/sessions', asJson)).body.sessions;
  const isIn = async (client: Client): Promise<boolean> => (await client.get('/settings/security')).status === 200;
  const other = async (client: Client): Promise<string> => (await list(client)).find(({ current }) => !current)!.id;

  beforeAll(async () => {
    forum = await openForum({ environment: { trustedProxies: ['127.0.0.1'] } });
  });
  beforeEach(async () => {
    ada = await newMember();
    desktop = await login(ada, LINUX, '192.0.2.1');
    forum.clock.advance(120_000);
    phone = await login(ada, PHONE, '2001:db8::7');
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('shows device, IP address, times and the current session, but no usable session id', async () => {
    const answer = await phone.get('/settings/security/sessions', asJson);
    expect(answer.body).toMatchObject({
      success: true,
      sessions: [
        { device: 'Safari on iPhone', address: '2001:db8::7', current: true },
        { device: 'Firefox on Linux', address: '192.0.2.1', current: false },
      ],
    });
    for (const session of answer.body.sessions as Listed[]) {
      expect(Object.keys(session)).toEqual(['id', 'device', 'address', 'created_at', 'last_seen_at', 'current']);
      expect(session.id).toMatch(/^[0-9a-f]{64}$/);
      expect(session.created_at).toMatch(/^\d{4}-.*\.\d{3}Z$/);
      expect(session.last_seen_at >= session.created_at).toBe(true);
    }
    for (const client of [desktop, phone]) {
      const id = decodeURIComponent(client.cookies.get('parley.sid')!).slice(2).split('.')[0]!;
      expect(answer.text).not.toContain(id);
    }
  });

  it('is a page that works without JavaScript', async () => {
    const { status, text } = await desktop.get('/settings/security/sessions');
    expect(status).toBe(200);
    expect(text).toContain('Safari on iPhone');
    const answer = await desktop.submit('/settings/security/sessions/revoke', { id: await other(desktop) });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/security/sessions']);
    expect((await desktop.get('/settings/security/sessions')).text).not.toContain('Safari on iPhone');
  });

  it('is private to its owner', async () => {
    const bell = await login(await newMember(), LINUX, '192.0.2.9');
    expect(await list(bell)).toHaveLength(1);
    const answer = await bell.post('/settings/security/sessions/revoke', { id: await other(desktop) }, asJson);
    expect(answer.status).toBe(404);
    expect(await isIn(phone)).toBe(true);
    expect((await forum.client().get('/settings/security/sessions', asJson)).status).toBe(401);
  });

  it('ends another session, effective at its next request', async () => {
    expect(
      (await desktop.post('/settings/security/sessions/revoke', { id: await other(desktop) }, asJson)).status,
    ).toBe(200);
    expect(await isIn(phone)).toBe(false);
    expect(await isIn(desktop)).toBe(true);
    expect(await list(desktop)).toHaveLength(1);
  });

  it('ends the live stream of a revoked session before it sends anything more', async () => {
    await using stream = await listen(forum, phone, '', { 'user-agent': PHONE, 'x-forwarded-for': '2001:db8::7' });
    expect(stream.status).toBe(200);
    await desktop.post('/settings/security/sessions/revoke', { id: await other(desktop) }, asJson);
    expect(
      (await desktop.post('/api/discussions', { title: 'Not for thieves', content: 'Words', category_id: 'general' }))
        .status,
    ).toBe(201);
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.heard).toEqual([]);
  });

  it('ends a session whose id has changed meanwhile', async () => {
    const id = await other(desktop);
    forum.clock.advance(1_800_000);
    const late = forum.client({
      'user-agent': PHONE,
      'x-forwarded-for': '2001:db8::7',
      cookie: `parley.sid=${phone.cookies.get('parley.sid')}`,
    });
    expect(await isIn(phone)).toBe(true);
    expect(await list(desktop)).toHaveLength(2);
    await desktop.post('/login/confirm', { password: PASSWORD }, asJson);
    expect((await desktop.post('/settings/security/sessions/revoke', { id }, asJson)).status).toBe(200);
    expect([await isIn(phone), await isIn(late)]).toEqual([false, false]);
  });

  it('answers 404 for a session that has ended, and 400 for an invalid id', async () => {
    const id = await other(desktop);
    await phone.submit('/logout');
    expect((await desktop.post('/settings/security/sessions/revoke', { id }, asJson)).status).toBe(404);
    expect((await desktop.post('/settings/security/sessions/revoke', { id: 'x' }, asJson)).status).toBe(400);
    expect(
      (await desktop.post('/settings/security/sessions/revoke', { id }, { ...asJson, 'x-csrf-token': 'wrong' })).status,
    ).toBe(403);
  });

  it('ends all other sessions and keeps the current one under a new id', async () => {
    const cookie = desktop.cookies.get('parley.sid');
    const third = await login(ada, LINUX, '192.0.2.3');
    expect((await desktop.post('/settings/security/sessions/revoke-others', undefined, asJson)).body).toEqual({
      success: true,
    });
    expect([await isIn(desktop), await isIn(phone), await isIn(third)]).toEqual([true, false, false]);
    expect(desktop.cookies.get('parley.sid')).not.toBe(cookie);
    expect(await list(desktop)).toMatchObject([{ current: true, device: 'Firefox on Linux' }]);
  });

  it('keeps one of two sessions that end all others at once', async () => {
    for (const round of [1, 2, 3]) {
      const [here, there] = [desktop, await login(ada, LINUX, `192.0.2.1${round}`)];
      await Promise.all(
        [here, there].map((client) => client.post('/settings/security/sessions/revoke-others', undefined, asJson)),
      );
      const still = await Promise.all([here, there].map(isIn));
      expect(still, `round ${round}`).toContain(true);
      desktop = still[0] ? here : there;
    }
  });

  it('keeps the fifty newest sessions and ends older ones with their live streams', async () => {
    await using stream = await listen(forum, phone, '', { 'user-agent': PHONE, 'x-forwarded-for': '2001:db8::7' });
    expect(stream.status).toBe(200);
    const guest = forum.client({ 'user-agent': LINUX, 'x-forwarded-for': '192.0.2.3' });
    const token = await guest.csrf();
    const cookies = [...guest.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const begin = async (): Promise<Client> => {
      const client = forum.client({ 'user-agent': LINUX, 'x-forwarded-for': '192.0.2.3' });
      const answer = await client.post(
        '/login',
        { identifier: ada.username, password: PASSWORD },
        { ...asJson, cookie: cookies, 'x-csrf-token': token },
      );
      expect(answer.status).toBe(200);
      return client;
    };
    const later: Client[] = [];
    for (let n = 0; n < 48; n++) {
      forum.clock.advance(1);
      later.push(await begin());
    }
    expect([await list(desktop).then(({ length }) => length), await isIn(desktop), await isIn(phone)]).toEqual([
      50,
      true,
      true,
    ]);
    forum.clock.advance(1_800_000);
    expect(await isIn(desktop)).toBe(true);
    await begin();
    expect([await isIn(desktop), await isIn(phone), await isIn(later[0]!)]).toEqual([false, true, true]);
    await Promise.all(Array.from({ length: 8 }, begin));
    expect([await isIn(phone), await isIn(later[6]!), await isIn(later[7]!)]).toEqual([false, false, true]);
    const last = later[47]!;
    expect(await list(last)).toHaveLength(50);
    await last.csrf('/');
    expect(
      (
        await last.post('/api/discussions', {
          title: 'For those who are here',
          content: 'Words',
          category_id: 'general',
        })
      ).status,
    ).toBe(201);
    await expect.poll(() => stream.ended, { timeout: 20_000 }).toBe(true);
    expect(stream.heard).toEqual([]);
  });

  it('omits sessions that have become invalid meanwhile', async () => {
    forum.clock.advance(3_000_000);
    expect(await isIn(desktop)).toBe(true);
    forum.clock.advance(700_000);
    expect(await list(desktop)).toHaveLength(1);
  });

  it('can be cleared by an account manager', async () => {
    await accounts().endSessions(ada.id);
    expect([await isIn(desktop), await isIn(phone)]).toEqual([false, false]);
    await expect(accounts().endSessions('00000000-0000-7000-8000-000000000000')).rejects.toMatchObject({ status: 404 });
  });
});
