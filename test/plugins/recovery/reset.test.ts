import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import type { AuditRecord } from 'parley-forum/plugins/audit';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';
import { settled } from '../audit/settled.ts';
import { asJson, linkIn, mailCount, NEW_PASSWORD, nextMail, PASSWORD } from './forum.ts';

let forum: TestForum;
let address = 0;
let members = 0;
/** Each visitor has their own IP address, so that rate limits of one test do not affect another. */
const visitor = (from = `198.51.100.${++address}`): Client => forum.client({ 'x-forwarded-for': from });
const accounts = (): Accounts => forum.app.service(Accounts);

async function member(): Promise<Account> {
  const username = `Member-${++members}`;
  return accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
}
async function ask(email: string, client = visitor()): Promise<Answer> {
  await client.csrf('/password/forgot');
  return client.post('/password/forgot', { email }, asJson);
}
async function linkFor({ email }: Account, before = 0): Promise<string> {
  await ask(email);
  return linkIn(await nextMail(forum, email, before));
}
async function choose(link: string, form: object = { password: NEW_PASSWORD }, client = visitor()): Promise<Answer> {
  await client.csrf('/login');
  return client.post(link, form, asJson);
}

beforeAll(async () => {
  forum = await startForum({ environment: { trustedProxies: ['127.0.0.1'] } });
});
afterAll(() => forum[Symbol.asyncDispose]());

describe('requesting a password reset', () => {
  it('is offered on the login page', async () => {
    expect((await visitor().get('/login')).text).toContain('href="/password/forgot"');
  });

  it('redirects to a page that reveals nothing, and sends a mail to the member', async () => {
    const { email, username } = await member();
    const client = visitor();
    await client.csrf('/password/forgot');
    const answer = await client.submit('/password/forgot', { email: ` ${email.toUpperCase()} ` });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/password/sent']);
    expect((await client.get('/password/sent')).text).toContain('If there is an account with this address');
    const mail = await nextMail(forum, email);
    expect(mail.headers['subject']).toBe(`A new password for ${username}`);
    expect(mail.body).toContain('for 60 minutes');
  });

  it('gets the same response for unknown addresses, and sends nothing', async () => {
    const { email } = await member();
    const answers = [await ask(email), await ask('nobody@example.org')];
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, { success: true }],
      [200, { success: true }],
    ]);
    await nextMail(forum, email);
    expect(await mailCount(forum, 'nobody@example.org')).toBe(0);
  });

  it.each([['nobody'], ['a b@example.org'], ['@'], ['']])('refuses %j, which is not an address', async (email) => {
    const answer = await ask(email);
    expect([answer.status, answer.body.details[0].field]).toEqual([400, 'email']);
  });

  it('sends nothing to a disabled account', async () => {
    const account = await member();
    await accounts().setStatus(account.id, 'disabled');
    expect((await ask(account.email)).status).toBe(200);
    expect(await mailCount(forum, account.email)).toBe(0);
  });

  it('is limited to three times an hour per IP address', async () => {
    const client = visitor();
    for (let n = 0; n < 3; n++) expect((await ask(`stranger-${n}@example.org`, client)).status).toBe(200);
    const answer = await ask('stranger-4@example.org', client);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('is limited to three times an hour per account, whether or not it exists', async () => {
    for (const email of [(await member()).email, 'no-such-member@example.org']) {
      for (let n = 0; n < 3; n++) expect((await ask(email)).status).toBe(200);
      expect((await ask(email.toUpperCase())).status).toBe(429);
    }
  });

  it('shows a readable error for an invalid address', async () => {
    const client = visitor();
    await client.csrf('/password/forgot');
    const answer = await client.submit('/password/forgot', { email: 'ada' });
    expect([answer.status, answer.text.includes('is not an e-mail address'), answer.text.includes('pattern')]).toEqual([
      400,
      true,
      false,
    ]);
  });

  it('requires a CSRF token', async () => {
    expect((await visitor().post('/password/forgot', { email: 'ada@example.org' }, asJson)).body.code).toBe(
      'csrf_failed',
    );
  });
});

describe('the reset link', () => {
  it('lets the member choose a password, ends every session and does not log in', async () => {
    const account = await member();
    const before = visitor();
    await before.login(account.username, PASSWORD);
    const link = await linkFor(account);
    const client = visitor();
    expect((await client.get(link)).text).toContain(account.username);
    const answer = await client.submit(link, { password: NEW_PASSWORD, password_confirmation: NEW_PASSWORD });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login']);
    expect([...client.cookies.keys()].some((name) => name.includes('sid'))).toBe(false);
    expect((await before.get('/settings/profile')).status).toBe(303);
    await expect(visitor().login(account.username, PASSWORD)).rejects.toThrow('401');
    await visitor().login(account.username, NEW_PASSWORD);
    expect((await accounts().find(account.id))?.permissionsVersion).toBe(account.permissionsVersion + 1);
    expect((await nextMail(forum, account.email, 1)).headers['subject']).toMatch(/password.*changed/i);
  });

  it('works once, even when used twice concurrently', async () => {
    const link = await linkFor(await member());
    const answers = await Promise.all([choose(link), choose(link, { password: 'Another-harbour-44' })]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404]);
    expect((await choose(link)).body).toEqual({
      success: false,
      error: 'This link no longer works; request a new one',
      code: 'not_found',
      request_id: expect.any(String),
    });
    expect((await visitor().get(link)).text).toContain('This link no longer works');
  });

  it('is invalid once a newer one was sent', async () => {
    const account = await member();
    const [first, second] = [await linkFor(account), await linkFor(account, 1)];
    expect((await choose(first)).status).toBe(404);
    expect((await choose(second)).status).toBe(200);
  });

  it('works for an hour', async () => {
    const [early, late] = [await linkFor(await member()), await linkFor(await member())];
    forum.clock.advance(3_599_000);
    expect((await choose(early)).status).toBe(200);
    forum.clock.advance(1_000);
    expect((await choose(late)).status).toBe(404);
  });

  it('is invalid after the password or the address changes, or the account is disabled', async () => {
    const [one, other, gone] = [await member(), await member(), await member()];
    const links = [await linkFor(one), await linkFor(other), await linkFor(gone)];
    await accounts().setPassword(one.id, 'Changed-harbour-45');
    await accounts().setEmail(other.id, 'elsewhere@example.org');
    await accounts().setStatus(gone.id, 'disabled');
    for (const link of links) expect((await choose(link)).status).toBe(404);
  });

  it('still works after a password that is refused, or does not match its confirmation', async () => {
    const account = await member();
    const link = await linkFor(account);
    expect((await choose(link, { password: 'short' })).body.details[0]).toMatchObject({ field: 'password' });
    expect((await choose(link, { password: 'Password123!' })).body.details[0]).toMatchObject({ field: 'password' });
    expect(
      (await choose(link, { password: NEW_PASSWORD, password_confirmation: PASSWORD })).body.details[0],
    ).toMatchObject({ field: 'password_confirmation' });
    const client = visitor();
    await client.get(link);
    const page = await client.submit(link, { password: 'short', password_confirmation: 'short' });
    expect(page.status).toBe(400);
    expect(page.text).toContain('must have at least 10 characters');
    expect(page.text).toContain(`action="${link}"`);
    expect((await choose(link)).status).toBe(200);
  });

  const malformed = [
    ['x'],
    ['A'.repeat(64)],
    ['g'.repeat(64)],
    ['a'.repeat(63)],
    ['a'.repeat(65)],
    ['%00'],
    ['..%2f..'],
  ];
  it.each(malformed)('is not looked up when malformed: %s', async (token) => {
    const client = visitor();
    await client.get('/password/forgot');
    expect((await client.get(`/password/reset/${token}`)).status).toBe(404);
    expect((await choose(`/password/reset/${token}`)).status).toBe(404);
    const path = (text: string) => (): Promise<unknown> => client.get(`/password/reset/${text}`);
    expect(await forum.statements(path(token))).toBeLessThan(await forum.statements(path('a'.repeat(64))));
  });

  it('sends no referrer, and is never cached', async () => {
    const link = await linkFor(await member());
    const client = visitor();
    const answers = [
      await client.get(link),
      await client.submit(link, { password: 'short' }),
      await client.get('/password/reset/x'),
    ];
    for (const { headers } of answers) {
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toContain('no-store');
    }
  });

  it('is stored as a hash only, and never logged', async () => {
    const link = await linkFor(await member());
    const token = link.split('/').at(-1)!;
    const rows = await forum.app.service(Data).all(sql<{ text: string }>`select l::text as text from recovery_link l`);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.some(({ text }) => text.includes(token))).toBe(false);
    await visitor().get(link);
    await choose(link);
    expect(JSON.stringify(forum.lines)).not.toContain(token);
  });

  it('is recorded in the audit log, without the token or the address', async () => {
    const account = await member();
    const link = await linkFor(account);
    await choose(link);
    const root = await accounts().create({
      username: 'Root',
      email: 'root@example.org',
      password: PASSWORD,
      groupId: 'admin',
    });
    const admin = visitor();
    await admin.login(root.username, PASSWORD);
    await settled(forum);
    const { entries } = (await admin.get('/admin/audit?limit=100', asJson)).body as { entries: readonly AuditRecord[] };
    const about = entries.filter(({ subject }) => subject?.id === account.id).map(({ action }) => action);
    expect(about).toEqual(
      expect.arrayContaining(['account.reset-asked', 'account.password-reset', 'account.password-changed']),
    );
    for (const word of [link.split('/').at(-1)!, account.email]) expect(JSON.stringify(entries)).not.toContain(word);
  });

  it('revokes the API token, and the page and the mail say so', async () => {
    const account = await member();
    const client = visitor();
    await client.login(account.username, PASSWORD);
    const { token } = (await client.post('/settings/security/api-token', undefined, asJson)).body as { token: string };
    const program = forum.client({ authorization: `Bearer ${token}` });
    expect((await program.get('/api/notifications/count')).status).toBe(200);
    const link = await linkFor(account);
    const page = await visitor().get(link);
    expect(page.text).toContain('its API token and feed addresses, if any, will stop working');
    // A password that the policy refuses revokes nothing.
    expect((await choose(link, { password: 'short' })).status).toBe(400);
    expect((await program.get('/api/notifications/count')).status).toBe(200);

    const browser = visitor();
    await browser.get(link);
    expect((await browser.submit(link, { password: NEW_PASSWORD })).headers.get('location')).toBe('/login');
    expect((await browser.get('/login')).text).toContain(
      'sessions, API token and feed addresses of before no longer work',
    );
    expect((await program.get('/api/notifications/count')).status).toBe(401);
    const mail = await nextMail(forum, account.email, 1);
    expect(mail.headers['subject']).toContain('Your password was changed');
    expect(mail.body).toContain('API token or feed addresses');
    await settled(forum);
    const root = visitor();
    await accounts().create({ username: 'Warden', email: 'warden@example.org', password: PASSWORD, groupId: 'admin' });
    await root.login('Warden', PASSWORD);
    const { entries } = (await root.get('/admin/audit?limit=100', asJson)).body as { entries: readonly AuditRecord[] };
    expect(entries.filter(({ subject }) => subject?.id === account.id).map(({ action }) => action)).toContain(
      'account.token-revoked',
    );
  });

  it('revokes every feed address, in the transaction that sets the password', async () => {
    const account = await member();
    const client = visitor();
    await forum.app.settings.set({ 'pro.enabled': true });
    await client.login(account.username, PASSWORD);
    for (const name of ['Phone', 'Desk'])
      expect((await client.post('/settings/feeds', { name }, asJson)).status).toBe(201);
    const kept = async (): Promise<number> =>
      (await forum.app.service(Data).all(sql`select 1 from feed_token where account_id = ${account.id}`)).length;
    const link = await linkFor(account);
    expect([(await choose(link, { password: 'short' })).status, await kept()]).toEqual([400, 2]);
    const undone = forum.app.data.transaction(async () => {
      await accounts().resetPassword(account.id, NEW_PASSWORD);
      throw new Error('not after all');
    });
    await expect(undone).rejects.toThrow('not after all');
    expect(await kept()).toBe(2);
    expect([(await choose(link)).status, await kept()]).toEqual([200, 0]);
    await client.login(account.username, NEW_PASSWORD);
    expect((await client.post('/settings/feeds', { name: 'Phone' }, asJson)).status).toBe(201);
    expect(
      (
        await client.post(
          '/settings/security/password',
          { current_password: NEW_PASSWORD, password: PASSWORD, keep_tokens: true },
          asJson,
        )
      ).status,
    ).toBe(200);
    expect(await kept()).toBe(1);
  });

  it('keeps the API token when a password change in the settings asks to', async () => {
    const account = await member();
    const client = visitor();
    await client.login(account.username, PASSWORD);
    const { token } = (await client.post('/settings/security/api-token', undefined, asJson)).body as { token: string };
    expect(
      (
        await client.post(
          '/settings/security/password',
          { current_password: PASSWORD, password: NEW_PASSWORD, keep_tokens: true },
          asJson,
        )
      ).status,
    ).toBe(200);
    expect((await forum.client({ authorization: `Bearer ${token}` }).get('/api/notifications/count')).status).toBe(200);
    expect((await nextMail(forum, account.email)).body).toMatch(
      /API token and feed addresses that you have\s+still work/,
    );
  });

  it('sets a first password for an imported member', async () => {
    const [id] = await accounts().importAccounts([{ username: 'Traveller', email: 'traveller@example.org' }]);
    expect((await choose(await linkFor((await accounts().find(id!))!))).status).toBe(200);
    await visitor().login('Traveller', NEW_PASSWORD);
  });
});
