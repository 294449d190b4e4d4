import { expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { linkIn, nextMail } from '../recovery/forum.ts';
import { hasSession, target, useSignOn } from './forum.ts';
import type { Person } from './identity-provider.ts';

/** A forum where new members have to confirm their address. */
const forum = useSignOn({ 'registration.email_verification': true });

async function arrive(person: string, about: Person) {
  forum.elsewhere.people.set(person, about);
  const client = forum.visitor();
  await forum.signOn(client, person);
  await client.csrf('/login/link');
  return client;
}

it('signing up needs no mail for an address verified by a trusted provider', async () => {
  const client = await arrive('ada', { email: 'ada@elsewhere.test', email_verified: true });
  expect(target(await client.submit('/register/link', { username: 'ada' }))).toBe('/');
  expect(hasSession(client)).toBe(true);
  const { id } = (await forum.forum.app.service(Accounts).findByIdentifier('ada'))!;
  expect((await forum.forum.app.service(Accounts).emails([id])).get(id)).toBe('ada@elsewhere.test');
});

it('signing up sends the usual mail for any other address, and allows a login after its link was followed', async () => {
  const client = await arrive('bob', { email: 'bob@elsewhere.test', email_verified: false });
  const answer = await client.submit('/register/link', { username: 'bob', email: 'bob@elsewhere.test' });
  expect([answer.status, target(answer)]).toEqual([303, '/register/sent']);
  expect(hasSession(client)).toBe(false);
  const link = linkIn(await nextMail(forum.forum, 'bob@elsewhere.test'));
  expect(target(await forum.signOn(client, 'bob'))).toBe('/login/verify');
  expect(hasSession(client)).toBe(false);
  await client.csrf(link);
  expect(target(await client.submit(link))).toBe('/login');
  expect(target(await forum.signOn(client, 'bob', '/auth/example', { return_to: '/members' }))).toBe('/members');
});

it('signing up with a member’s address gets the same response, notifies that member, and links nothing', async () => {
  await forum.create('cleo', 'member', 'cleo@elsewhere.test');
  const client = await arrive('intruder', { email: 'cleo@elsewhere.test', email_verified: false });
  const answer = await client.submit('/register/link', { username: 'cloe', email: 'cleo@elsewhere.test' });
  expect([answer.status, target(answer)]).toEqual([303, '/register/sent']);
  expect((await nextMail(forum.forum, 'cleo@elsewhere.test')).headers['subject']).toContain('cleo');
  expect(target(await forum.signOn(forum.visitor(), 'intruder'))).toBe('/login/link');
  expect(await forum.forum.app.service(Accounts).findByIdentifier('cloe')).toBeUndefined();
});

it('signing up sends the mail too if the provider is no longer trusted by then', async () => {
  const client = await arrive('dora', { email: 'dora@elsewhere.test', email_verified: true });
  await forum.save({ id: forum.provider.id, trusts_email: false });
  const answer = await client.submit('/register/link', { username: 'dora', email: 'dora@elsewhere.test' });
  await forum.save({ id: forum.provider.id, trusts_email: true });
  expect([target(answer), hasSession(client)]).toEqual(['/register/sent', false]);
});
