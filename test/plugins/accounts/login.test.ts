import bcrypt from 'bcrypt';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Data, Settings, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Answer, Client, TestForum } from 'parley-forum/testing';
import { PasswordHasher } from '../../../plugins/accounts/passwords/password-hasher.ts';
import type { AccountsService } from '../../../plugins/accounts/accounts/service.ts';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };

describe('logging in', () => {
  let forum: TestForum;
  let address = 0;
  /** Each visitor has their own address, so that failures in one test do not affect another. */
  const visitor = (from = `198.51.100.${++address}`): Client => forum.client({ 'x-forwarded-for': from });
  const attempt = async (client: Client, identifier: string, password: string, more: object = {}): Promise<Answer> => {
    await client.csrf();
    return client.post('/login', { identifier, password, ...more }, asJson);
  };

  beforeAll(async () => {
    forum = await openForum({ environment: { trustedProxies: ['127.0.0.1'] } });
    for (const name of ['Ada', 'Bell', 'Curie', 'Dirac', 'Euler', 'Fermi', 'Gauss', 'Hopper', 'Ives'])
      await forum.app.service(Accounts).create({ username: name, email: `${name}@example.org`, password: PASSWORD });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('starts a session by username or e-mail, regardless of case', async () => {
    for (const identifier of ['ada', 'ADA@EXAMPLE.ORG']) {
      const client = visitor();
      const answer = await attempt(client, identifier, PASSWORD);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ success: true, user: { username: 'Ada', email: 'Ada@example.org' } });
      expect((await client.get('/')).text).toContain('Ada');
    }
  });

  it('sets a cookie that scripts and other sites cannot use, and none for guests', async () => {
    const client = visitor();
    expect((await client.get('/login')).headers.getSetCookie().some((line) => line.startsWith('parley.sid'))).toBe(
      false,
    );
    const answer = await attempt(client, 'ada', PASSWORD);
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('parley.sid'));
    expect(cookie).toMatch(/; Path=\//);
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Lax/);
    expect(cookie).not.toMatch(/Secure|Expires/);
  });

  it('gives the cookie the __Host- prefix when the visitor uses HTTPS', async () => {
    const client = forum.client({ 'x-forwarded-for': '198.51.100.200', 'x-forwarded-proto': 'https' });
    const answer = await attempt(client, 'ada', PASSWORD);
    expect(answer.headers.getSetCookie().find((line) => line.includes('parley.sid'))).toMatch(
      /^__Host-parley\.sid=.*; Secure/,
    );
    expect((await client.get('/')).text).toContain('Ada');
  });

  it('reports the same error whatever was wrong', async () => {
    const client = visitor();
    const wrong = await attempt(client, 'ada', 'Not-the-password-1');
    const unknown = await attempt(client, 'nobody', PASSWORD);
    expect(wrong.status).toBe(401);
    expect(unknown.status).toBe(401);
    expect(unknown.body).toEqual({
      ...wrong.body,
      ...(wrong.body.request_id && { request_id: unknown.body.request_id }),
    });
  });

  it('takes as much work for an unknown name or a member without a password', async () => {
    await forum.app.service(Accounts).importAccounts([{ username: 'Imported', email: 'imported@example.org' }]);
    const compare = vi.spyOn(PasswordHasher.prototype, 'compare');
    for (const name of ['ada', 'nobody', 'imported'])
      expect((await attempt(visitor(), name, 'Not-the-password-1')).status).toBe(401);
    expect(compare.mock.calls.map(([, hash]) => /^\$2b\$04\$[./A-Za-z0-9]{53}$/.test(hash))).toEqual([
      true,
      true,
      true,
    ]);
    compare.mockRestore();
  });

  it('hashes for an unknown name at the most common cost, even after the setting has changed', async () => {
    const compare = vi.spyOn(PasswordHasher.prototype, 'compare');
    const costFor = async (name: string): Promise<number> => {
      compare.mockClear();
      expect((await attempt(visitor(), name, 'Not-the-password-1')).status).toBe(401);
      return bcrypt.getRounds(compare.mock.calls[0]![1]);
    };
    await forum.app.service(Settings).set({ 'security.bcrypt_cost': 14 });
    expect([await costFor('gauss'), await costFor('nobody')]).toEqual([4, 4]);
    await forum.app
      .service(Data)
      .all(
        sql`update account set password_hash = overlay(password_hash placing '06' from 5) where username <> 'Gauss'`,
      );
    forum.clock.advance(600_000);
    expect([await costFor('gauss'), await costFor('nobody')]).toEqual([4, 6]);
    await forum.app
      .service(Data)
      .all(
        sql`update account set password_hash = overlay(password_hash placing '04' from 5) where password_hash like '$2%'`,
      );
    await forum.app.service(Settings).set({ 'security.bcrypt_cost': 12 });
    forum.clock.advance(600_000);
    compare.mockRestore();
  });

  it('refuses a password of more than 72 bytes even if its beginning is right', async () => {
    const long = `Long-1-${'x'.repeat(65)}`;
    await forum.app.service(Accounts).create({ username: 'Long', email: 'long@example.org', password: long });
    expect((await attempt(visitor(), 'long', long)).status).toBe(200);
    expect((await attempt(visitor(), 'long', `${long}y`)).status).toBe(401);
  });

  it('blocks an IP address after five failures, even with the right password, with Retry-After', async () => {
    const client = visitor();
    for (let n = 0; n < 5; n++) expect((await attempt(client, `stranger-${n}`, PASSWORD)).status).toBe(401);
    const answer = await attempt(client, 'ada', PASSWORD);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await attempt(visitor(), 'ada', PASSWORD)).status).toBe(200);
  });

  it('blocks an account after ten failures from any address', async () => {
    for (let n = 0; n < 10; n++) expect((await attempt(visitor(), 'BELL', 'Wrong-password-1')).status).toBe(401);
    expect((await attempt(visitor(), 'bell', PASSWORD)).status).toBe(429);
  });

  it('counts the name, the e-mail address and every spelling of both as one account', async () => {
    const spellings = [
      'hopper',
      'HOPPER',
      ' Hopper ',
      'ｈｏｐｐｅｒ',
      'hopper@example.org',
      'Hopper@Example.ORG',
      'hopper@example.org ',
      '\u00a0hopper',
      'ｈopper@example.org',
      'Hopper',
    ];
    for (const spelling of spellings) expect((await attempt(visitor(), spelling, 'Wrong-password-1')).status).toBe(401);
    for (const spelling of ['hopper', 'hopper@example.org'])
      expect((await attempt(visitor(), spelling, PASSWORD)).status).toBe(429);
  });

  it('counts every spelling of an unknown name or e-mail address as one', async () => {
    for (const spellings of [
      ['gone', 'GONE', ' Gone', 'ｇone'],
      ['gone@example.org', 'Gone@example.org ', 'ｇone@EXAMPLE.org'],
    ]) {
      for (let n = 0; n < 10; n++)
        expect((await attempt(visitor(), spellings[n % spellings.length]!, PASSWORD)).status).toBe(401);
      for (const spelling of spellings) expect((await attempt(visitor(), spelling, PASSWORD)).status).toBe(429);
    }
  });

  it('allows thirty attempts per account in fifteen minutes, successful ones included', async () => {
    await forum.app.service(Settings).set({ 'login.attempt_rate_limit': 30 });
    const ives = visitor();
    for (let n = 0; n < 30; n++)
      expect((await attempt(visitor(), n % 2 ? 'ives' : 'Ives@example.org', PASSWORD)).status).toBe(200);
    const refused = await attempt(ives, 'ives', PASSWORD);
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect((await attempt(ives, 'euler', PASSWORD)).status).toBe(200);
    await ives.csrf('/');
    const confirm = () => ives.post('/login/confirm', { password: PASSWORD }, asJson);
    for (let n = 0; n < 29; n++) expect((await confirm()).status).toBe(200);
    expect((await confirm()).status).toBe(429);
    await forum.app.service(Settings).set({ 'login.attempt_rate_limit': 100_000 });
  });

  it('resets an account’s failures when its member logs in', async () => {
    for (let n = 0; n < 9; n++) await attempt(visitor(), 'curie', 'Wrong-password-1');
    expect((await attempt(visitor(), 'curie', PASSWORD)).status).toBe(200);
    for (let n = 0; n < 9; n++) expect((await attempt(visitor(), 'curie', 'Wrong-password-1')).status).toBe(401);
  });

  it('counts an IPv6 visitor by network', async () => {
    for (let n = 1; n <= 5; n++) await attempt(visitor(`2001:db8:1:2::${n}`), `stranger-${n}`, PASSWORD);
    expect((await attempt(visitor('2001:db8:1:2:ffff::9'), 'ada', PASSWORD)).status).toBe(429);
    expect((await attempt(visitor('2001:db8:1:3::1'), 'ada', PASSWORD)).status).toBe(200);
  });

  it('checks no more guesses at once than one after the other', async () => {
    const from = `198.51.100.${++address}`;
    const client = visitor(from);
    await client.csrf();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.post('/login', { identifier: `guess-${n}`, password: PASSWORD }, asJson),
      ),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
  });

  it('allows any number of simultaneous logins from one address', async () => {
    const from = `198.51.100.${++address}`;
    const answers = await Promise.all(Array.from({ length: 12 }, () => attempt(visitor(from), 'dirac', PASSWORD)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it('redirects a browser to the requested page, within this site only', async () => {
    const wishes = {
      '/d/7?page=2': '/d/7?page=2',
      'https://evil.example/x': '/',
      '//evil.example/x': '/',
      '/\\evil.example': '/',
      'http://forum.test/categories': '/categories',
      '/a/..//evil.example': '/',
    };
    for (const [wish, place] of Object.entries(wishes)) {
      const client = visitor();
      await client.csrf();
      const answer = await client.submit('/login', { identifier: 'ada', password: PASSWORD, return_to: wish });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, place]);
    }
  });

  it('issues a new session id and ends the old session', async () => {
    const client = visitor();
    await client.login('ada', PASSWORD);
    const before = client.cookies.get('parley.sid');
    await client.submit('/login', { identifier: 'euler', password: PASSWORD });
    expect(client.cookies.get('parley.sid')).not.toBe(before);
    expect((await client.get('/')).text).toContain('Euler');
    const old = forum.client({ 'x-forwarded-for': `198.51.100.${address}`, cookie: `parley.sid=${before}` });
    expect((await old.get('/')).text).not.toContain('Ada');
  });

  it('does not rehash a password that was changed meanwhile', async () => {
    const service = forum.app.service(Accounts) as unknown as AccountsService;
    const account = await service.create({
      username: 'Overtaken',
      email: 'overtaken@example.org',
      password: 'Plain-Sailing-42',
    });
    const { passwordHash } = (await service.credentials('overtaken'))!;
    await service.setPassword(account.id, 'Other-Sailing-43');
    await service.rehash(account.id, passwordHash, passwordHash);
    expect((await service.credentials('overtaken'))!.passwordHash).not.toBe(passwordHash);
  });

  it('rehashes the password after the cost has risen', async () => {
    const hashOf = async (): Promise<string> =>
      (await forum.app
        .service(Data)
        .one(sql<{ hash: string }>`select password_hash as hash from account where username = 'Fermi'`))!.hash;
    expect(await hashOf()).toMatch(/^\$2b\$04\$/);
    await forum.app.service(Settings).set({ 'security.bcrypt_cost': 13 });
    expect((await attempt(visitor(), 'fermi', PASSWORD)).status).toBe(200);
    expect(await hashOf()).toMatch(/^\$2b\$05\$/);
    expect((await attempt(visitor(), 'fermi', PASSWORD)).status).toBe(200);
    await forum.app.service(Settings).set({ 'security.bcrypt_cost': 12 });
  });

  it('records the IP address of the last login, but never 0.0.0.0', async () => {
    const last = async (): Promise<string | null> =>
      (await forum.app
        .service(Data)
        .one(sql<{ ip: string | null }>`select last_ip as ip from account where username = 'Ada'`))!.ip;
    await attempt(visitor('203.0.113.9'), 'ada', PASSWORD);
    expect(await last()).toBe('203.0.113.9');
    await attempt(visitor('0.0.0.0'), 'ada', PASSWORD);
    expect(await last()).toBe('203.0.113.9');
    const signedUp = await forum.app
      .service(Data)
      .one(sql<{ ip: string | null }>`select registration_ip as ip from account where username = 'Ada'`);
    expect(signedUp).toEqual({ ip: null });
  });

  it('keeps passwords and tokens out of the log', () => {
    expect(JSON.stringify(forum.lines)).not.toContain(PASSWORD);
  });
});

describe('logging out', () => {
  let forum: TestForum;
  beforeAll(async () => {
    forum = await openForum();
    await forum.app.service(Accounts).create({ username: 'Ada', email: 'ada@example.org', password: PASSWORD });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('requires a POST with a token and ends the session for good', async () => {
    const client = forum.client();
    await client.login('ada', PASSWORD);
    const cookie = client.cookies.get('parley.sid');
    expect((await client.get('/logout')).status).toBe(405);
    expect((await client.post('/logout', undefined, { 'x-csrf-token': 'wrong' })).status).toBe(403);
    expect((await client.get('/')).text).toContain('Ada');
    const answer = await client.submit('/logout');
    expect([answer.status, answer.headers.get('clear-site-data')]).toEqual([303, '"cache"']);
    expect(client.cookies.has('parley.sid')).toBe(false);
    expect((await forum.client({ cookie: `parley.sid=${cookie}` }).get('/')).text).not.toContain('Ada');
  });

  it('is not undone by a request in progress', async () => {
    const client = forum.client();
    await client.login('ada', PASSWORD);
    forum.clock.advance(120_000);
    const cookie = client.cookies.get('parley.sid');
    const reads = Array.from({ length: 10 }, () => client.get('/'));
    await Promise.all([client.submit('/logout'), ...reads]);
    expect((await forum.client({ cookie: `parley.sid=${cookie}` }).get('/')).text).not.toContain('Ada');
  });
});
