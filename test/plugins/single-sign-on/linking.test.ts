import { describe, expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Deletions } from 'parley-forum/ports/personal-data';
import { settled } from '../audit/settled.ts';
import { linkIn, nextMail } from '../recovery/forum.ts';
import { Members } from '../two-factor/forum.ts';
import { JSON_ONLY, LINKED, PASSWORD, target, useSignOn } from './forum.ts';

const forum = useSignOn();
const LINK = `${LINKED}/example/link`;
const UNLINK = `${LINKED}/example/unlink`;
const QUARTER = 16 * 60_000;

describe('linking', () => {
  it('shows linked accounts with dates to the member, and notifies them by mail', async () => {
    forum.elsewhere.people.set('ada at example', { email: 'ada@elsewhere.test', email_verified: true });
    const { client } = await forum.linked('ada', 'ada at example');
    expect((await client.get('/settings/security')).text).toContain('Accounts of other sites');
    expect((await client.get(LINKED)).text).toContain('ada@elsewhere.test');
    const { linked_accounts: linked } = (await client.get(LINKED, JSON_ONLY)).body;
    expect(linked).toEqual([
      {
        provider: 'example',
        provider_name: 'Example',
        name: 'ada@elsewhere.test',
        linked_at: expect.any(String),
        last_used_at: null,
      },
    ]);
    expect((await nextMail(forum.forum, 'ada@example.org')).headers['subject']).toBe(
      'An account of Example was linked to yours',
    );
    await settled(forum.forum);
    const { entries } = (await forum.root.get('/admin/audit?action=single-sign-on.linked', JSON_ONLY)).body;
    expect(entries[0]).toMatchObject({ actor: { username: 'ada' }, details: { provider: forum.provider.id } });
  });

  it('requires a recent password confirmation', async () => {
    await forum.create('bob');
    const client = forum.visitor();
    await client.login('bob', PASSWORD);
    for (const path of [LINK, UNLINK]) {
      const { body } = await forum.later(QUARTER, () => client.post(path, {}, JSON_ONLY));
      expect(body.code).toBe('confirmation_needed');
    }
  });

  it('allows one member per account, and one account per provider and member', async () => {
    const { client } = await forum.linked('cleo', 'shared');
    await forum.create('dora');
    const other = forum.visitor();
    await other.login('dora', PASSWORD);
    const refused = await forum.signOn(other, 'shared', LINK);
    expect([refused.status, refused.text.includes('already linked to another member')]).toEqual([409, true]);
    const second = await forum.signOn(client, 'a second one', LINK);
    expect([second.status, second.text.includes('unlink it first')]).toEqual([409, true]);
    expect(target(await forum.signOn(client, 'shared', LINK))).toBe(LINKED);
  });

  it('fails if the member has changed or logged out on return', async () => {
    const [first, second] = [forum.visitor(), forum.visitor()];
    for (const [client, name] of [
      [first, 'eve'],
      [second, 'fay'],
    ] as const) {
      await forum.create(name);
      await client.login(name, PASSWORD);
    }
    const location = await forum.elsewhere.logIn(await forum.leave(first, LINK), 'eve there');
    await first.login('fay', PASSWORD);
    const answer = await forum.back(first, location);
    expect([answer.status, answer.text.includes('no longer logged in as the member')]).toEqual([400, true]);
    const other = await forum.elsewhere.logIn(await forum.leave(second, LINK), 'fay there');
    await second.submit('/logout');
    expect((await forum.back(second, other)).status).toBe(400);
  });
});

describe('unlinking', () => {
  it('ends logins with that account', async () => {
    const { client } = await forum.linked('gina');
    expect(target(await client.submit(UNLINK))).toBe(LINKED);
    expect((await client.get(LINKED, JSON_ONLY)).body.linked_accounts).toEqual([]);
    expect(target(await forum.signOn(forum.visitor(), 'gina'))).toBe('/login/link');
    expect((await client.post(UNLINK, {}, JSON_ONLY)).status).toBe(404);
    expect((await nextMail(forum.forum, 'gina@example.org', 1)).headers['subject']).toBe(
      'Your account of Example is no longer linked',
    );
  });

  it('is refused if it would leave a member without a way to log in, with a hint how to set a password', async () => {
    const client = forum.visitor();
    forum.elsewhere.people.set('hedy', { email: 'hedy@elsewhere.test', email_verified: true });
    await forum.signOn(client, 'hedy');
    await client.csrf('/login/link');
    await client.submit('/register/link', { username: 'hedy' });
    await client.csrf(LINKED);
    const refused = await client.submit(UNLINK);
    expect([refused.status, refused.text.includes('set a password first')]).toEqual([409, true]);
    expect(refused.text).toContain('href="/settings/security/first-password"');
    const { id } = await forum.addProvider({ slug: 'other', name: 'Other', issuer: forum.elsewhere.issuer });
    await forum.signOn(client, 'hedy', `${LINKED}/other/link`);
    const both = await Promise.all([client.submit(UNLINK), client.submit(`${LINKED}/other/unlink`)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 409]);
    const members = await forum.root.get(`/admin/single-sign-on?id=${id}`);
    expect(members.text).toMatch(/One member could not log in any more|No member has linked|members have linked/);
  });

  it('happens on a password reset by mail, as an intruder may have linked the account', async () => {
    await forum.linked('ida', 'an intruder');
    const client = forum.visitor();
    await client.csrf();
    await client.submit('/password/forgot', { email: 'ida@example.org' });
    const mails = await nextMail(forum.forum, 'ida@example.org', 1);
    const link = linkIn(mails);
    await client.csrf(link);
    expect((await client.submit(link, { password: 'Another-harbour-43' })).status).toBe(303);
    expect(target(await forum.signOn(forum.visitor(), 'an intruder'))).toBe('/login/link');
    await settled(forum.forum);
    const { entries } = (await forum.root.get('/admin/audit?action=single-sign-on.unlinked', JSON_ONLY)).body;
    expect(entries[0].details).toMatchObject({ cause: 'password reset' });
  });
});

it('happens when an operator sets a password', async () => {
  const { account, client } = await forum.linked('mona', 'another intruder');
  await client.submit('/settings/security/password', { current_password: PASSWORD, password: 'Another-harbour-43' });
  expect(target(await forum.signOn(forum.visitor(), 'another intruder'))).toBe('/');
  await forum.forum.app.service(Accounts).setPassword(account.id, 'Another-harbour-44', 'command line');
  expect(target(await forum.signOn(forum.visitor(), 'another intruder'))).toBe('/login/link');
});

describe('confirming a session', () => {
  it('with a provider requires the two-factor code first', async () => {
    const members = new Members(forum.forum);
    const { client, secret } = await members.enrolled();
    await forum.signOn(client, 'careful', LINK);
    await forum.later(QUARTER, async () => {
      const page = (await client.get('/login/confirm')).text;
      expect(page).toContain('formaction="/auth/example/confirm"');
      const asked = await client.submit('/auth/example/confirm', { return_to: LINKED });
      expect([asked.status, asked.text.includes('name="code"')]).toEqual([200, true]);
      const wrong = await client.submit('/auth/example/confirm', { code: members.wrongCode(secret) });
      expect([wrong.status, wrong.text.includes('name="code"')]).toEqual([400, true]);
      const right = await client.submit('/auth/example/confirm', { code: members.code(secret) });
      expect(right.headers.get('refresh')).toContain(forum.elsewhere.issuer);
    });
  });

  it('returns to the pending form', async () => {
    const { client } = await forum.linked('judy');
    const refused = await forum.later(QUARTER, () =>
      client.submit('/settings/security/email', { email: 'judy@elsewhere.test' }),
    );
    expect(refused.status).toBe(403);
    const pending = /action="\/auth\/example\/confirm"[^]*?name="pending" value="([^"]*)"/.exec(refused.text)?.[1];
    const form = { pending, return_to: '/settings/security/email' };
    const answer = await forum.signOn(client, 'judy', '/auth/example/confirm', form);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('value="judy@elsewhere.test"');
  });

  it('requires an account linked at that provider', async () => {
    await forum.create('kate');
    const client = forum.visitor();
    await client.login('kate', PASSWORD);
    expect((await client.get('/login/confirm')).text).not.toContain('/auth/example/confirm');
    const answer = await forum.signOn(client, 'kate', '/auth/example/confirm');
    expect(answer.status).toBe(403);
  });
});

describe('a member’s linked accounts', () => {
  it('are exported, and erased with the account', async () => {
    const { account } = await forum.linked('lena', 'lena there');
    const { id } = account;
    const { personalData } = await import('parley-forum/ports/personal-data');
    const own = forum.forum.app.extensions
      .read(personalData)
      .find(({ value }) => value.name.includes('identity providers'))!.value;
    const files = [];
    for await (const { path, content } of own.entries!(id)) files.push([path, content]);
    expect(files).toEqual([['single-sign-on.json', expect.stringContaining('"subject": "lena there"')]]);
    await forum.forum.app.service(Deletions).erase(id, 'remove');
    expect(target(await forum.signOn(forum.visitor(), 'lena there'))).toBe('/login/link');
    expect(await forum.forum.app.service(Accounts).findByIdentifier('lena')).toBeUndefined();
  });
});
