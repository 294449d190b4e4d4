import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { postWithPause } from '../../kit/paused.ts';
import { listen } from '../live/listen.ts';
import { asJson, mailCount, NEW_PASSWORD, nextMail, PASSWORD } from '../recovery/forum.ts';

describe('access by API token or feed address', () => {
  let forum: TestForum;
  let root: Client;
  let account: Account;
  let client: Client;
  let program: Client;
  let token: string;
  let feedToken: string;
  let count = 0;
  const accounts = (): Accounts => forum.app.service(Accounts);
  /** Whether the API token, as a header and in a feed's URL, and the feed token still authenticate the member. */
  const works = async (): Promise<readonly boolean[]> => {
    const api = await program.get('/api/notifications/count');
    const feeds = await Promise.all([token, feedToken].map((given) => forum.client().get(`/feed/json?token=${given}`)));
    return [api.status === 200, ...feeds.map(({ text }) => text.includes('For members alone'))];
  };
  const changePassword = (more: object = {}) =>
    client.post('/settings/security/password', { current_password: PASSWORD, password: NEW_PASSWORD, ...more }, asJson);

  beforeAll(async () => {
    forum = await startForum({ settings: { 'pro.enabled': true, 'login.rate_limit': 1_000 } });
    await accounts().create({ username: 'Warden', email: 'warden@example.org', password: PASSWORD, groupId: 'admin' });
    root = forum.client();
    await root.login('Warden', PASSWORD);
    const hall = {
      name: 'Hall',
      description: 'For those who are logged in',
      view: 'members',
      create: 'members',
      reply: 'members',
    };
    const { category } = (await root.post('/admin/categories/save', hall, asJson)).body;
    await root.post('/api/discussions', { title: 'For members alone', content: 'Words', category_id: category.id });
  });
  beforeEach(async () => {
    const username = `Ada-${++count}`;
    account = await accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
    client = forum.client();
    await client.login(username, PASSWORD);
    ({
      body: { token },
    } = await client.post('/settings/security/api-token', undefined, asJson));
    ({
      body: { token: feedToken },
    } = await client.post('/settings/feeds', { name: 'Phone' }, asJson));
    program = forum.client({ authorization: `Bearer ${token}` });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('ends with its live streams when the member changes the password, as the mail states', async () => {
    expect(await works()).toEqual([true, true, true]);
    await using stream = await listen(forum, undefined, '', { authorization: `Bearer ${token}` });
    expect(stream.status).toBe(200);
    expect((await changePassword()).status).toBe(200);
    expect(await works()).toEqual([false, false, false]);
    expect(
      (await root.post('/api/discussions', { title: 'Not for thieves', content: 'Words', category_id: 'general' }))
        .status,
    ).toBe(201);
    await expect.poll(() => stream.ended, { timeout: 20_000 }).toBe(true);
    expect(stream.heard).toEqual([]);
    expect((await nextMail(forum, account.email)).body).toMatch(
      /API token or feed addresses that you had\s+no longer work/,
    );
  });

  it('is kept when the member asks for that, as the mail states', async () => {
    const refused = await client.submit('/settings/security/password', {
      current_password: PASSWORD,
      password: 'short',
      keep_tokens: 'true',
    });
    expect([refused.status, /name="keep_tokens" value="true" checked/.test(refused.text)]).toEqual([400, true]);
    expect((await client.get('/settings/security')).text).toMatch(
      /name="keep_tokens" value="true"><span>Keep my API token and feed addresses/,
    );
    expect((await changePassword({ keep_tokens: true })).status).toBe(200);
    expect(await works()).toEqual([true, true, true]);
    expect((await nextMail(forum, account.email)).body).toMatch(
      /API token and feed addresses that you have\s+still work/,
    );
  });

  it('ends when someone else sets the password', async () => {
    await accounts().setPassword(account.id, NEW_PASSWORD);
    expect(await works()).toEqual([false, false, false]);
  });

  it('ends when an administrator ends the member’s sessions, and the member is notified by mail', async () => {
    await root.post('/login/confirm', { password: PASSWORD }, asJson);
    expect((await root.post('/admin/users/end-sessions', { id: account.id }, asJson)).status).toBe(200);
    expect([await works(), (await client.get('/settings/security')).status]).toEqual([[false, false, false], 303]);
    const mail = await nextMail(forum, account.email);
    expect(mail.headers['subject']).toContain('logged out everywhere');
    expect(mail.body).toMatch(/API token or feed addresses that you had\s+no longer work/);
  });

  it('ends when deletion of the account is requested, and stays ended when its member returns', async () => {
    expect(
      (await client.submit('/settings/privacy/delete', { username: account.username, mode: 'anonymise' })).status,
    ).toBe(303);
    expect(await works()).toEqual([false, false, false]);
    expect((await nextMail(forum, account.email)).body).toMatch(
      /API token or feed addresses that you had\s+no longer work/,
    );
    await forum.client().login(account.username, PASSWORD);
    expect(await works()).toEqual([false, false, false]);
    expect(await mailCount(forum, account.email)).toBe(2);
  });

  it('is not renewed by a form that was still being sent when it ended', async () => {
    const body = `_csrf=${encodeURIComponent(await client.csrf('/settings/security'))}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const status = await postWithPause(client, `${forum.url}/settings/security/api-token`, { body, headers }, () =>
      accounts().endSessions(account.id),
    );
    expect(status).toBe(401);
    await client.login(account.username, PASSWORD);
    expect((await client.get('/settings/security')).text).toContain('Make a token');
  });

  it('is kept when the member ends other sessions, changes group, or enters a wrong password', async () => {
    expect((await changePassword({ current_password: 'Wrong-harbour-1' })).status).toBe(400);
    expect((await client.post('/settings/security/sessions/revoke-others', undefined, asJson)).status).toBe(200);
    await accounts().setGroup(account.id, 'moderator');
    expect(await works()).toEqual([true, true, true]);
  });
});
