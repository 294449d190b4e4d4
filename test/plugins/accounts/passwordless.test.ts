import { afterAll, beforeAll, expect, test } from 'vitest';
import { definePlugin, Type } from 'parley-forum';
import { Accounts, loginMethods, Registrations, Sessions, type Account } from 'parley-forum/plugins/accounts';
import { localPath, negotiated, pages, redirect } from 'parley-forum/plugins/web';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
const JSON_ONLY = { accept: 'application/json' };
/** Members who can log in by request alone. */
const trusted = new Set<string>();

/** Logs trusted members in, and confirms their identity, by name alone. */
const doorman = definePlugin({
  id: 'doorman',
  needs: { accounts: Accounts, sessions: Sessions },
  setup({ accounts, sessions }, plugin) {
    plugin.extend(loginMethods, { available: async (ids) => new Set(ids.filter((id) => trusted.has(id))) });
    plugin.route(pages, {
      method: 'post',
      path: '/knock',
      can: 'public',
      body: Type.Object({ name: Type.String(), return_to: Type.Optional(Type.String()) }),
    })(async ({ req, res, body }) => {
      const account = (await accounts.findByIdentifier(body.name))!;
      const returnTo = localPath(body.return_to, 'http://forum.test');
      const { redirectTo, json } = await sessions.beginLogin(req, res, account, { remember: false, returnTo });
      return negotiated(redirect(redirectTo), json);
    });
    plugin.route(pages, { method: 'post', path: '/nod', can: 'member' })(async ({ req }) => {
      await sessions.confirmIdentity(req);
      return negotiated(redirect('/'), { success: true });
    });
  },
});

let forum: TestForum;
const accounts = (): Accounts => forum.app.service(Accounts);
beforeAll(async () => void (forum = await startForum({ also: [doorman], settings: { 'registration.rate_limit': 8 } })));
afterAll(() => forum[Symbol.asyncDispose]());

async function enter(username: string): Promise<{ readonly account: Account; readonly client: Client }> {
  const account = await accounts().create({ username, email: `${username}@forum.test` });
  trusted.add(account.id);
  const client = forum.client();
  await client.csrf();
  expect((await client.submit('/knock', { name: username })).status).toBe(303);
  await client.csrf('/');
  return { account, client };
}

test('an account without a password can log in by another method while that is available to it', async () => {
  const { account, client } = await enter('ada');
  expect((await client.get('/settings/profile')).status).toBe(200);
  expect([...(await accounts().withPassword([account.id]))]).toEqual([]);
  expect([...(await accounts().ableToLogIn([account.id]))]).toEqual([account.id]);
  trusted.delete(account.id);
  expect([...(await accounts().ableToLogIn([account.id]))]).toEqual([]);
});

test('no password matches an account without one', async () => {
  await enter('bob');
  for (const password of ['!', ' ', PASSWORD]) {
    const client = forum.client();
    await client.csrf();
    expect((await client.post('/login', { identifier: 'bob', password }, JSON_ONLY)).status).toBe(401);
  }
});

test('another login method admits no inactive account', async () => {
  const { account } = await enter('cleo');
  await accounts().setStatus(account.id, 'disabled');
  const client = forum.client();
  await client.csrf();
  const answer = await client.post('/knock', { name: 'cleo' }, JSON_ONLY);
  expect([answer.status, answer.body.error]).toEqual([401, 'This account is not active']);
});

test('a member without a password confirms by another method and then sets a first one', async () => {
  const { client } = await enter('dora');
  const path = '/settings/security/first-password';
  forum.clock.advance(16 * 60_000);
  expect((await client.post(path, { password: PASSWORD }, JSON_ONLY)).body.code).toBe('confirmation_needed');
  const asked = (await client.get('/login/confirm')).text;
  expect(asked).toContain('This account has no password');
  expect(asked).not.toContain('name="password"');
  await client.submit('/nod');
  await client.csrf(path);
  const different = { password: PASSWORD, password_confirmation: `${PASSWORD}3` };
  expect((await client.submit(path, different)).text).toContain('is not the same as the password');
  expect((await client.submit(path, { password: PASSWORD })).headers.get('location')).toBe('/settings/security');
  await forum.client().login('dora', PASSWORD);
  expect((await client.post(path, { password: `${PASSWORD}3` }, JSON_ONLY)).status).toBe(409);
});

test('sign-ups through another service follow the rules and limits of the form', async () => {
  const registrations = forum.app.service(Registrations);
  const signUp = (username: string, email = `${username}@forum.test`) => {
    const stored: string[] = [];
    return registrations
      .registerIdentified({ username, email, emailProven: true }, '203.0.113.9', async ({ id }) => void stored.push(id))
      .then((registered) => ({ registered, stored }));
  };
  const { registered, stored } = await signUp('eve');
  expect('account' in registered && stored).toEqual(['account' in registered && registered.account.id]);
  await expect(signUp('x')).rejects.toThrow('must have 3 to 30 letters');
  await expect(signUp('admin')).rejects.toThrow('is reserved');
  await expect(signUp('Eve')).rejects.toThrow('is taken');
  await expect(signUp('fay', 'eve@forum.test')).rejects.toThrow('is in use');
  for (let n = 0; n < 5; n++) await signUp(`gina-${n}`);
  await expect(signUp('hedy')).rejects.toThrow('Too many attempts');
});
