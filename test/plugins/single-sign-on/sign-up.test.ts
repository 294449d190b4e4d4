import { describe, expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Client } from 'parley-forum/testing';
import { linkIn, nextMail } from '../recovery/forum.ts';
import { fittedUsername } from '../../../plugins/accounts/accounts/usernames.ts';
import { hasSession, JSON_ONLY, LINKED, PASSWORD, target, useSignOn } from './forum.ts';
import type { Person } from './identity-provider.ts';

const forum = useSignOn();
const accounts = (): Accounts => forum.forum.app.service(Accounts);
let count = 0;

/** Arrives from the provider, without a linked account. */
async function arrive(
  about: Person,
  path?: string,
  form?: object,
): Promise<{ readonly client: Client; readonly person: string }> {
  const [client, person] = [forum.visitor(), `person-${++count}`];
  forum.elsewhere.people.set(person, about);
  const answer = await forum.signOn(client, person, path, form);
  expect(target(answer)).toBe('/login/link');
  expect(hasSession(client)).toBe(false);
  return { client, person };
}
const field = (page: string, name: string): string | undefined =>
  new RegExp(`name="${name}" type="[a-z]*" value="([^"]*)"`).exec(page)?.[1];

describe('a new visitor from a provider', () => {
  it('signs up with the name and address they have there', async () => {
    const about = { email: 'mary@elsewhere.test', email_verified: true, preferred_username: 'Mary Ann' };
    const { client, person } = await arrive(about, '/auth/example', { return_to: '/members' });
    const page = (await client.get('/login/link')).text;
    expect(page).toContain('Welcome from Example');
    expect(field(page, 'username')).toBe('Mary-Ann');
    expect(page).toContain('mary@elsewhere.test');
    expect(field(page, 'email')).toBeUndefined();
    const answer = await client.submit('/register/link', { username: 'Mary-Ann', email: 'another@elsewhere.test' });
    expect([answer.status, target(answer)]).toEqual([303, '/members']);
    expect(hasSession(client)).toBe(true);
    const account = await accounts().findByIdentifier('Mary-Ann');
    expect(account).toMatchObject({ email: 'mary@elsewhere.test', groupId: 'member' });
    expect((await forum.signOn(forum.visitor(), person)).status).toBe(303);
    expect(target(await client.get('/login/link'))).toBe('/login');
  });

  it('is validated like a registration: invalid, reserved and taken names are refused', async () => {
    await forum.create('nora');
    const { client } = await arrive({ email: 'n@elsewhere.test', email_verified: true, preferred_username: 'nora' });
    expect(field((await client.get('/login/link')).text, 'username')).toBe('nora-2');
    for (const [username, words] of [
      ['a', 'must have 3 to 30 letters'],
      ['admin', 'is reserved'],
      ['Nora', 'is taken'],
    ] as const) {
      const { status, text } = await client.submit('/register/link', { username });
      expect([username, status, text.includes(words), field(text, 'username')]).toEqual([
        username,
        400,
        true,
        username,
      ]);
    }
    expect((await client.submit('/register/link', { username: 'nora-2' })).status).toBe(303);
  });

  it('enters an address when the provider has none, or none that is verified', async () => {
    for (const about of [{}, { email: 'o@elsewhere.test', email_verified: false }]) {
      const { client, person } = await arrive({ ...about, preferred_username: `olga-${count}` });
      expect(field((await client.get('/login/link')).text, 'email')).toBe('email' in about ? about.email : '');
      expect((await client.submit('/register/link', { username: person })).status).toBe(400);
      const answer = await client.submit('/register/link', { username: person, email: `${person}@elsewhere.test` });
      expect(answer.status).toBe(303);
      expect((await accounts().findByIdentifier(person))?.email).toBe(`${person}@elsewhere.test`);
    }
  });

  it('is refused without having come from the provider', async () => {
    const client = forum.visitor();
    expect(target(await client.get('/login/link'))).toBe('/login');
    await client.csrf();
    expect((await client.post('/register/link', { username: 'pia' }, JSON_ONLY)).status).toBe(401);
    expect(await accounts().findByIdentifier('pia')).toBeUndefined();
  });

  it('cannot sign up where the provider does not create accounts', async () => {
    await forum.save({ id: forum.provider.id, creates_accounts: false });
    const { client } = await arrive({ email: 'q@elsewhere.test', email_verified: true, preferred_username: 'quinn' });
    const page = (await client.get('/login/link')).text;
    expect(page).toContain('Accounts of Example cannot be used to sign up here');
    expect(page).not.toContain('action="/register/link"');
    expect((await client.post('/register/link', { username: 'quinn' }, JSON_ONLY)).status).toBe(403);
    await forum.save({ id: forum.provider.id, creates_accounts: true });
  });
});

describe('a visitor with the address of a member', () => {
  it('is never linked automatically, but logs in as that member once and confirms the link', async () => {
    await forum.create('rosa', 'admin', 'rosa@elsewhere.test');
    const { client, person } = await arrive({ email: 'Rosa@Elsewhere.test', email_verified: true });
    const page = (await client.get('/login/link')).text;
    expect(page).toContain('A member here has your e-mail address');
    expect(page).not.toContain('action="/register/link"');
    const refused = await client.post('/register/link', { username: 'rosa-2' }, JSON_ONLY);
    expect([refused.status, refused.body.details?.[0]?.field]).toEqual([400, 'email']);
    expect(target(await forum.signOn(forum.visitor(), person))).toBe('/login/link');

    const login = { identifier: 'rosa', password: PASSWORD, return_to: '/login/link' };
    await client.csrf();
    expect(target(await client.submit('/login', login))).toBe('/login/link');
    const asked = (await client.get('/login/link')).text;
    expect(asked).toContain('Whoever logs in at Example with that account is rosa here from then on.');
    expect((await client.submit('/login/link')).status).toBe(303);
    const other = forum.visitor();
    expect(target(await forum.signOn(other, person))).toBe('/');
    expect((await other.get(LINKED)).text).toContain('Account of rosa');
    expect((await nextMail(forum.forum, 'rosa@elsewhere.test')).headers['subject']).toBe(
      'An account of Example was linked to yours',
    );
  });

  it('learns nothing about the member if the provider has not verified the address', async () => {
    await forum.create('sara', 'member', 'sara@elsewhere.test');
    for (const about of [{ email: 'sara@elsewhere.test', email_verified: false }, { email: 'sara@elsewhere.test' }]) {
      const { client } = await arrive({ ...about, preferred_username: 'sarah' });
      const page = (await client.get('/login/link')).text;
      expect(page).not.toContain('A member here has');
      expect((await client.submit('/register/link', { username: 'sarah', email: 'sara@elsewhere.test' })).status).toBe(
        400,
      );
    }
    expect(await accounts().findByIdentifier('sarah')).toBeUndefined();
  });

  it('is not trusted if the provider’s addresses are not trusted', async () => {
    await forum.create('tara', 'member', 'tara@elsewhere.test');
    await forum.save({ id: forum.provider.id, trusts_email: false });
    const { client } = await arrive({ email: 'tara@elsewhere.test', email_verified: true });
    expect((await client.get('/login/link')).text).not.toContain('A member here has');
    await forum.save({ id: forum.provider.id, trusts_email: true });
  });
});

describe('a member without a password', () => {
  const join = async (username: string): Promise<{ readonly client: Client; readonly person: string }> => {
    const about = { email: `${username}@elsewhere.test`, email_verified: true, preferred_username: username };
    const { client, person } = await arrive(about);
    expect((await client.submit('/register/link', { username })).status).toBe(303);
    return { client, person };
  };

  it('cannot log in with any password', async () => {
    await join('ursula');
    for (const password of ['!', '', PASSWORD]) {
      const client = forum.visitor();
      await client.csrf();
      expect((await client.submit('/login', { identifier: 'ursula', password })).status).toBeGreaterThanOrEqual(400);
    }
  });

  it('counts as able to log in while the provider is enabled', async () => {
    await join('vera');
    const { id } = (await accounts().findByIdentifier('vera'))!;
    expect([...(await accounts().ableToLogIn([id]))]).toEqual([id]);
    await forum.save({ id: forum.provider.id, active: false });
    expect([...(await accounts().ableToLogIn([id]))]).toEqual([]);
    await forum.save({ id: forum.provider.id, active: true });
  });

  it('sets one in the settings after a recent login, and is notified by mail', async () => {
    const { client } = await join('wanda');
    expect((await client.get('/settings/security')).text).toContain('This account has no password');
    const path = '/settings/security/first-password';
    expect((await client.get(path)).text).toContain('autocomplete="new-password"');
    expect((await client.submit(path, { password: 'short' })).status).toBe(400);
    const answer = await client.submit(path, { password: PASSWORD, password_confirmation: PASSWORD });
    expect([answer.status, target(answer)]).toEqual([303, '/settings/security']);
    expect((await nextMail(forum.forum, 'wanda@elsewhere.test')).headers['subject']).toContain('password was changed');
    await forum.visitor().login('wanda', PASSWORD);
    expect((await client.submit(path, { password: 'Another-harbour-43' })).status).toBe(409);
    expect(target(await client.get(path))).toBe('/settings/security');
  });

  it('sets one with a reset link, and keeps accounts linked by the same address', async () => {
    const { person } = await join('xenia');
    const client = forum.visitor();
    await client.csrf();
    await client.submit('/password/forgot', { email: 'xenia@elsewhere.test' });
    const link = linkIn(await nextMail(forum.forum, 'xenia@elsewhere.test'));
    await client.csrf(link);
    expect((await client.submit(link, { password: PASSWORD })).status).toBe(303);
    await forum.visitor().login('xenia', PASSWORD);
    expect(target(await forum.signOn(forum.visitor(), person))).toBe('/');
  });

  it('loses with a reset link an account linked by a provider that is no longer trusted', async () => {
    const { person } = await join('quinn');
    await forum.save({ id: forum.provider.id, trusts_email: false });
    const owner = forum.visitor();
    await owner.csrf();
    await owner.submit('/password/forgot', { email: 'quinn@elsewhere.test' });
    const link = linkIn(await nextMail(forum.forum, 'quinn@elsewhere.test'));
    await owner.csrf(link);
    expect((await owner.submit(link, { password: PASSWORD })).status).toBe(303);
    expect(target(await forum.signOn(forum.visitor(), person))).toBe('/login/link');
    await forum.save({ id: forum.provider.id, trusts_email: true });
  });

  it('loses with a reset link an account linked by someone with an unverified address', async () => {
    const { client: intruder, person } = await arrive({ email: 'zora@elsewhere.test', email_verified: false });
    await intruder.csrf('/login/link');
    await intruder.submit('/register/link', { username: 'intruder', email: 'zora@elsewhere.test' });
    expect((await intruder.get(LINKED)).status).toBe(200);
    const owner = forum.visitor();
    await owner.csrf();
    await owner.submit('/password/forgot', { email: 'zora@elsewhere.test' });
    const link = linkIn(await nextMail(forum.forum, 'zora@elsewhere.test'));
    await owner.csrf(link);
    expect((await owner.submit(link, { password: PASSWORD })).status).toBe(303);
    expect(target(await forum.signOn(forum.visitor(), person))).toBe('/login/link');
    expect((await intruder.get(LINKED)).status).toBe(303);
  });

  it('confirms the session by logging in at the provider again', async () => {
    const { client, person } = await join('yara');
    const form = { return_to: '/settings/security/email' };
    await forum.later(16 * 60_000, async () => {
      const asked = await client.get('/settings/security/email');
      const page = (await client.get(target(asked)!)).text;
      expect(page).toContain('This account has no password');
      expect(page).not.toContain('name="password"');
      expect(page).toContain('Log in at Example again');
      const location = await forum.leave(client, '/auth/example/confirm', form);
      expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({ prompt: 'login', max_age: '0' });
      const wrong = await forum.back(client, await forum.elsewhere.logIn(location, 'somebody else'));
      expect([wrong.status, wrong.text.includes('That is not the account')]).toEqual([403, true]);
      expect((await client.get('/settings/security/email')).status).toBe(303);
    });
    const again = await forum.signOn(client, person, '/auth/example/confirm', form);
    expect([again.status, target(again)]).toEqual([303, '/settings/security/email']);
    expect((await client.get('/settings/security/email')).status).toBe(200);
  });
});

describe('a name from a provider', () => {
  it.each([
    ['Mary Ann', 'Mary-Ann'],
    ['jörg.weiß', 'jorg.weiss'],
    ['ada@example.org', 'ada'],
    ['--x y--', 'x-y'],
    ['a'.repeat(40), 'a'.repeat(30)],
    ['李', undefined],
    ['', undefined],
  ])('is converted to a valid username: %s', (name, fitted) => {
    expect(fittedUsername(name)).toBe(fitted);
  });
});
