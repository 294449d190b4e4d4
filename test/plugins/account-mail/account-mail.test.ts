import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { mailsOf, type SentMail } from '../mail/forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };

describe('mail about accounts', () => {
  let forum: TestForum;
  const accounts = (): Accounts => forum.app.service(Accounts);
  const member = async (username: string): Promise<Client> => {
    await accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
    const client = forum.client();
    await client.login(username, PASSWORD);
    return client;
  };
  const mailsTo = async (address: string): Promise<readonly SentMail[]> => {
    await forum.calm();
    return (await mailsOf(forum)).filter(({ headers }) => headers['to'] === address);
  };

  beforeAll(async () => {
    forum = await startForum();
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('notifies the owner of a changed password, whoever changed it, without containing it', async () => {
    const client = await member('Ada');
    expect(
      (
        await client.post(
          '/settings/security/password',
          { current_password: PASSWORD, password: 'Next-harbour-43' },
          asJson,
        )
      ).status,
    ).toBe(200);
    await accounts().setPassword((await accounts().findByIdentifier('Ada'))!.id, 'Third-harbour-44');
    await expect.poll(() => mailsTo('Ada@example.org')).toHaveLength(2);
    const [mail] = await mailsTo('Ada@example.org');
    expect(mail!.headers['subject']).toContain('Your password was changed');
    expect(mail!.body).not.toContain('harbour');
  });

  it('is not sent for a refused change or for the first password of an imported member', async () => {
    const client = await member('Bell');
    expect(
      (
        await client.post(
          '/settings/security/password',
          { current_password: 'Wrong-harbour-1', password: 'Next-harbour-43' },
          asJson,
        )
      ).status,
    ).toBe(400);
    const [id] = await accounts().importAccounts([{ username: 'Curie', email: 'curie@example.org' }]);
    await accounts().setPassword(id!, PASSWORD);
    expect(await mailsTo('Bell@example.org')).toEqual([]);
    expect(await mailsTo('curie@example.org')).toEqual([]);
  });

  it('notifies the old address of the change without naming the new one', async () => {
    const client = await member('Dirac');
    expect((await client.post('/settings/security/email', { email: 'paul@example.net' }, asJson)).status).toBe(200);
    await expect.poll(() => mailsTo('Dirac@example.org')).toHaveLength(1);
    const [mail] = await mailsTo('Dirac@example.org');
    expect(mail!.headers['subject']).toContain('address was changed');
    expect(mail!.body).not.toContain('paul@example.net');
    expect(await mailsTo('paul@example.net')).toEqual([]);
  });
});
