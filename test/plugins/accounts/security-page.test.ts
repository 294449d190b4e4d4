import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import type { Answer, Client, TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };

describe('the security page', () => {
  let forum: TestForum;
  let ada: Account;
  let client: Client;
  let member = 0;
  const accounts = (): Accounts => forum.app.service(Accounts);
  const setEmail = (email: string): Promise<Answer> => client.post('/settings/security/email', { email }, asJson);

  beforeAll(async () => {
    forum = await openForum();
  });
  beforeEach(async () => {
    const username = `Ada-${++member}`;
    ada = await accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
    client = forum.client();
    await client.login(username, PASSWORD);
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('changes the e-mail address, valid for the next login, and keeps the session', async () => {
    expect((await client.get('/settings/security/email')).text).toContain(`value="${ada.email}"`);
    const answer = await client.submit('/settings/security/email', { email: ` new-${member}@example.org ` });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/security']);
    expect((await client.get('/settings/security')).text).toContain(`new-${member}@example.org`);
    await forum.client().login(`NEW-${member}@example.org`, PASSWORD);
    await expect(forum.client().login(ada.email, PASSWORD)).rejects.toThrow('401');
  });

  it('refuses an invalid address or, in any case, that of another member, and keeps the input', async () => {
    await accounts().create({ username: `Bell-${member}`, email: `bell-${member}@example.org`, password: PASSWORD });
    expect((await setEmail(`BELL-${member}@Example.org`)).body.details).toEqual([
      { field: 'email', message: 'is in use by another member' },
    ]);
    expect((await setEmail('nowhere')).body.details).toEqual([{ field: 'email', message: 'is not an e-mail address' }]);
    const form = await client.submit('/settings/security/email', { email: 'no"where' });
    expect([form.status, form.text.includes('value="no&quot;where"')]).toEqual([400, true]);
    expect((await accounts().find(ada.id))!.email).toBe(ada.email);
  });

  it('lets a member change the case of their own address', async () => {
    expect((await setEmail(ada.email.toUpperCase())).status).toBe(200);
    expect((await accounts().find(ada.id))!.email).toBe(ada.email.toUpperCase());
  });

  it('gives an address to one of two members who request it at once', async () => {
    const bell = await accounts().create({
      username: `Bell-${member}`,
      email: `bell-${member}@example.org`,
      password: PASSWORD,
    });
    const wanted = `wanted-${member}@example.org`;
    const results = await Promise.allSettled([
      accounts().setEmail(ada.id, wanted),
      accounts().setEmail(bell.id, wanted),
    ]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('does not query the DNS for the new address', async () => {
    expect((await setEmail(`ada-${member}@no-such-domain.invalid`)).status).toBe(200);
  });

  it('shows when the token was last used, at most a minute late', async () => {
    const {
      body: { token },
    } = await client.post('/settings/security/api-token', undefined, asJson);
    const call = () => forum.client({ authorization: `Bearer ${token}` }).get('/api/version');
    const used = async (): Promise<string | undefined> =>
      /Last used\s*<time datetime="([^"]*)"/.exec((await client.get('/settings/security')).text)?.[1];
    expect((await client.get('/settings/security')).text).toContain('Not used yet.');
    const first = forum.clock.now();
    await call();
    expect(await used()).toBe(new Date(first).toISOString());
    expect(await forum.statements(call)).toBe(0);
    forum.clock.advance(59_999);
    await call();
    expect(await used()).toBe(new Date(first).toISOString());
    forum.clock.advance(1);
    await call();
    expect(await used()).toBe(new Date(first + 60_000).toISOString());
    await client.post('/settings/security/api-token', undefined, asJson);
    expect((await client.get('/settings/security')).text).toContain('Not used yet.');
  });

  it('includes the pattern of the password policy in its form', async () => {
    const { text } = await client.get('/settings/security');
    expect(text).toContain('minlength="10"');
    const pattern = /name="password" type="password"[^>]* pattern="([^"]*)"/.exec(text)?.[1];
    const fits = (password: string): boolean => new RegExp(`^(?:${pattern})$`, 'v').test(password);
    expect(fits('Quiet-harbour-42')).toBe(true);
    expect(
      ['quiet-harbour-42', 'QUIET-HARBOUR-42', 'Quiet-harbour-xx', 'Quietharbour42', 'Qu-4x'].filter(fits),
    ).toEqual([]);
  });

  it('sets and removes the public avatar', async () => {
    await accounts().setAvatar(ada.id, '/uploads/x.webp');
    expect((await accounts().authors([ada.id])).get(ada.id)?.avatar_url).toBe('/uploads/x.webp');
    await accounts().setAvatar(ada.id, undefined);
    expect((await accounts().authors([ada.id])).get(ada.id)?.avatar_url).toBeNull();
  });
});
