import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import type { Client, TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };

describe('the API token', () => {
  let forum: TestForum;
  let ada: Account;
  let client: Client;
  const issue = async (): Promise<string> =>
    (await client.post('/settings/security/api-token', undefined, asJson)).body.token;
  const call = async (token: string) => forum.client({ authorization: `Bearer ${token}` }).get(`/api/users/${ada.id}`);

  beforeAll(async () => {
    forum = await openForum();
    ada = await forum.app.service(Accounts).create({ username: 'Ada', email: 'ada@example.org', password: PASSWORD });
    client = forum.client();
    await client.login('ada', PASSWORD);
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('authenticates its owner, and is shown once', async () => {
    const answer = await client.post('/settings/security/api-token', undefined, asJson);
    expect(answer.body).toEqual({ success: true, token: expect.stringMatching(/^parley_[\w-]{43}$/) });
    expect(answer.headers.get('cache-control')).toContain('no-store');
    expect((await call(answer.body.token)).body.user.email).toBe('ada@example.org');
    expect((await client.get('/settings/security')).text).not.toContain(answer.body.token);
  });

  it('is shown on a page that no browser stores', async () => {
    const { status, headers, text } = await client.post('/settings/security/api-token');
    expect(text).toMatch(/parley_[\w-]{43}/);
    expect([status, headers.get('cache-control'), headers.get('etag')]).toEqual([200, 'private, no-store', null]);
  });

  it('is stored as a hash only', async () => {
    const token = await issue();
    const stored = await forum.app
      .service(Data)
      .one(sql<{ text: string }>`select account::text as text from account where id = ${ada.id}`);
    expect(stored!.text).not.toContain(token);
    expect(stored!.text).not.toContain(PASSWORD);
  });

  it('stops working when it is replaced or revoked', async () => {
    const first = await issue();
    expect((await call(first)).status).toBe(200);
    const second = await issue();
    expect((await call(first)).status).toBe(401);
    expect((await call(second)).status).toBe(200);
    expect((await client.post('/settings/security/api-token/revoke', undefined, asJson)).status).toBe(200);
    expect((await call(second)).status).toBe(401);
  });

  it.each([['nonsense'], ['parley_short'], [`parley_${'x'.repeat(43)}`]])('is refused when it is %s', async (token) => {
    expect((await call(token)).status).toBe(401);
  });

  it('does not work while its account is disabled', async () => {
    const token = await issue();
    await forum.app.service(Accounts).setStatus(ada.id, 'disabled');
    expect((await call(token)).status).toBe(401);
    await forum.app.service(Accounts).setStatus(ada.id, 'active');
    expect((await call(token)).status).toBe(200);
    client = forum.client();
    await client.login('ada', PASSWORD);
  });

  it('requires a login and a CSRF token to be issued', async () => {
    const guest = forum.client();
    await guest.csrf();
    expect((await guest.post('/settings/security/api-token', undefined, asJson)).status).toBe(401);
    expect(
      (await client.post('/settings/security/api-token', undefined, { ...asJson, 'x-csrf-token': 'wrong' })).status,
    ).toBe(403);
  });
});

describe('a member’s settings', () => {
  let forum: TestForum;
  beforeAll(async () => {
    forum = await openForum();
  });
  afterAll(() => forum[Symbol.asyncDispose]());
  const member = async (username: string): Promise<Client> => {
    await forum.app.service(Accounts).create({ username, email: `${username}@example.org`, password: PASSWORD });
    const client = forum.client();
    await client.login(username, PASSWORD);
    return client;
  };

  it('change the password with the current one, keep this session and end the others', async () => {
    const client = await member('Bell');
    const other = forum.client();
    await other.login('bell', PASSWORD);
    const wrong = await client.post(
      '/settings/security/password',
      { current_password: 'Wrong-harbour-1', password: 'Next-harbour-43' },
      asJson,
    );
    expect([wrong.status, wrong.body.details[0].field]).toEqual([400, 'current_password']);
    const weak = await client.post(
      '/settings/security/password',
      { current_password: PASSWORD, password: 'weak' },
      asJson,
    );
    expect([weak.status, weak.body.details[0].field]).toEqual([400, 'password']);
    expect(
      (
        await client.post(
          '/settings/security/password',
          { current_password: PASSWORD, password: 'Next-harbour-43' },
          asJson,
        )
      ).status,
    ).toBe(200);
    expect((await client.get('/')).text).toContain('Bell');
    expect((await other.get('/')).text).not.toContain('Bell');
    await forum.client().login('bell', 'Next-harbour-43');
  });

  it('change the profile', async () => {
    const client = await member('Curie');
    expect((await client.submit('/settings/profile', { bio: '  Looks at stones. ' })).status).toBe(303);
    expect((await client.get('/u/Curie')).text).toContain('Looks at stones.');
    expect((await forum.client().get('/u/curie')).headers.get('location')).toBe('/u/Curie');
  });
});
