import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Data, Settings, sql } from 'parley-forum';
import { Accounts, type Account } from 'parley-forum/plugins/accounts';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';
import { settled } from '../audit/settled.ts';
import { asJson, linkIn, mailCount, NEW_PASSWORD, nextMail, PASSWORD } from './forum.ts';

const EMAIL = '/settings/security/email';
const DAY = 86_400_000;
let forum: TestForum;
let address = 0;
let members = 0;
const visitor = (from = `198.51.100.${++address}`): Client => forum.client({ 'x-forwarded-for': from });
const accounts = (): Accounts => forum.app.service(Accounts);
const switchOn = (on: boolean): Promise<void> =>
  forum.app.service(Settings).set({ 'registration.email_verification': on });

interface Member {
  readonly account: Account;
  readonly client: Client;
  /** The address they request. */
  readonly wanted: string;
}
async function member(): Promise<Member> {
  const username = `Mover-${++members}`;
  const account = await accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
  const client = visitor();
  await client.login(username, PASSWORD);
  return { account, client, wanted: `${username}@example.net` };
}
const addressOf = async ({ account }: Member): Promise<string | undefined> =>
  (await accounts().find(account.id))?.email;
const want = ({ client }: Member, email: string): Promise<Answer> => client.post(EMAIL, { email }, asJson);
async function linkFor(one: Member, email = one.wanted, before = 0): Promise<string> {
  expect((await want(one, email)).body).toEqual({ success: true, email_verification: true });
  return linkIn(await nextMail(forum, email, before));
}
const follow = ({ client }: Member, link: string): Promise<Answer> => client.post(link, {}, asJson);

beforeAll(async () => {
  forum = await startForum({ environment: { trustedProxies: ['127.0.0.1'] } });
});
afterAll(() => forum[Symbol.asyncDispose]());
beforeEach(() => switchOn(true));

describe('a new e-mail address, when addresses are confirmed', () => {
  it('takes effect once its owner follows the link sent to it, without JavaScript', async () => {
    const one = await member();
    const { client, account, wanted } = one;
    expect((await client.get(EMAIL)).status).toBe(200);
    const asked = await client.submit(EMAIL, { email: ` ${wanted} ` });
    expect([asked.status, asked.headers.get('location')]).toEqual([303, '/settings/security']);
    expect((await client.get('/settings/security')).text).toContain('We have sent an e-mail to the new address');
    await expect
      .poll(async () => (await client.get('/settings/security')).text)
      .toContain(`${wanted} becomes your address once you have followed the link`);
    const link = linkIn(await nextMail(forum, wanted));
    expect(await addressOf(one)).toBe(account.email);
    expect(await mailCount(forum, account.email)).toBe(0);

    const page = await client.get(link);
    expect([page.status, page.text.includes(wanted), await addressOf(one)]).toEqual([200, true, account.email]);
    expect([page.headers.get('referrer-policy'), page.headers.get('cache-control')]).toEqual([
      'no-referrer',
      expect.stringContaining('no-store'),
    ]);
    const done = await client.submit(link);
    expect([done.status, done.headers.get('location')]).toEqual([303, '/settings/security']);
    const after = (await client.get('/settings/security')).text;
    expect([after.includes('Your e-mail address was changed.'), after.includes('becomes your address')]).toEqual([
      true,
      false,
    ]);
    expect(await addressOf(one)).toBe(wanted);
    expect((await nextMail(forum, account.email)).headers['subject']).toContain('address was changed');
    await visitor().login(wanted, PASSWORD);
    await expect(visitor().login(account.email, PASSWORD)).rejects.toThrow('401');
  });

  it('requires a login to open the link, and returns to it', async () => {
    const one = await member();
    const link = await linkFor(one);
    const client = visitor();
    const { status, headers } = await client.get(link);
    expect([status, headers.get('location')]).toEqual([303, `/login?return_to=${encodeURIComponent(link)}`]);
    await client.get(headers.get('location')!);
    const entered = await client.submit('/login', {
      identifier: one.account.username,
      password: PASSWORD,
      return_to: link,
    });
    expect(entered.headers.get('location')).toBe(link);
    expect((await client.get(link)).text).toContain('Use this address');
    expect((await visitor().post(link, {}, asJson)).status).toBe(401);
    expect(await addressOf(one)).toBe(one.account.email);
  });

  it('cannot be confirmed by another member, and the link stays valid', async () => {
    const [one, other] = [await member(), await member()];
    const link = await linkFor(one);
    const page = await other.client.get(link);
    expect([page.status, page.text.includes('This link is not yours'), page.text.includes(one.wanted)]).toEqual([
      403,
      true,
      false,
    ]);
    const form = await other.client.submit(link);
    expect([form.status, form.text.includes('This link is not yours')]).toEqual([403, true]);
    expect((await follow(other, link)).body).toEqual({
      success: false,
      error: 'Another member requested this link; log in as that member to use it',
      code: 'forbidden',
      request_id: expect.any(String),
    });
    expect([await addressOf(one), await addressOf(other)]).toEqual([one.account.email, other.account.email]);
    expect((await follow(one, link)).body).toEqual({ success: true });
  });

  it('cannot be confirmed by a link that is used, replaced, forged or older than a day', async () => {
    const [one, other, late] = [await member(), await member(), await member()];
    const used = await linkFor(one);
    expect((await follow(one, used)).status).toBe(200);
    const replaced = await linkFor(other, `first-${other.wanted}`);
    const newest = await linkFor(other);
    const old = await linkFor(late);
    for (const [who, link] of [
      [one, used],
      [other, replaced],
      [other, used],
      [one, used.replace(/[a-f0-9]{64}/, 'a'.repeat(64))],
      [one, `${EMAIL}/confirm/x`],
    ] as const) {
      const { status, text } = await who.client.get(link);
      expect([status, text.includes('This link no longer works')]).toEqual([404, true]);
      expect((await follow(who, link)).body).toMatchObject({ code: 'not_found' });
    }
    expect((await follow(other, newest)).status).toBe(200);
    expect(await addressOf(other)).toBe(other.wanted);
    forum.clock.advance(DAY);
    const back = visitor();
    await back.login(late.account.username, PASSWORD);
    expect((await back.get(old)).status).toBe(404);
    expect((await back.get('/settings/security')).text).not.toContain('becomes your address');
    expect(await addressOf(late)).toBe(late.account.email);
  });

  it('is discarded when the password changes, so a previous intruder cannot take the account', async () => {
    const one = await member();
    const link = await linkFor(one);
    await accounts().setPassword(one.account.id, NEW_PASSWORD);
    const client = visitor();
    await client.login(one.account.username, NEW_PASSWORD);
    expect((await client.get(link)).status).toBe(404);
    expect((await client.get('/settings/security')).text).not.toContain('becomes your address');
  });

  it('that is in use gets the same response, and its owner is notified', async () => {
    const [one, owner] = [await member(), await member()];
    const answer = await want(one, owner.account.email.toUpperCase());
    expect([answer.status, answer.body]).toEqual([200, { success: true, email_verification: true }]);
    await expect
      .poll(async () => (await one.client.get('/settings/security')).text)
      .toContain(`${owner.account.email.toUpperCase()} becomes your address`);
    const mail = await nextMail(forum, owner.account.email);
    expect(mail.headers['subject']).toContain('Your address was asked for');
    expect(mail.body).not.toContain(one.account.username);
    expect(mail.body).not.toContain('/confirm/');
    expect(await mailCount(forum, owner.account.email.toUpperCase())).toBe(0);
  });

  it('that another member has taken in the meantime stays theirs', async () => {
    const one = await member();
    const link = await linkFor(one);
    await accounts().create({ username: `Sooner-${members}`, email: one.wanted, password: PASSWORD });
    await one.client.get(link);
    const answer = await one.client.submit(link);
    expect([answer.status, answer.text.includes('is in use by another member')]).toEqual([400, true]);
    expect(await addressOf(one)).toBe(one.account.email);
  });

  it('must be valid, may be requested three times an hour, and requires a recent password confirmation', async () => {
    const one = await member();
    expect((await want(one, 'nowhere')).body.details[0]).toMatchObject({ field: 'email' });
    for (let n = 0; n < 3; n++) expect((await want(one, `n${n}-${one.wanted}`)).status).toBe(200);
    expect((await want(one, one.wanted)).status).toBe(429);
    expect(await mailCount(forum, one.wanted)).toBe(0);
    forum.clock.advance(901_000);
    expect((await want(one, one.wanted)).body).toMatchObject({ code: 'confirmation_needed' });
  });

  it('that differs only in case takes effect without a mail', async () => {
    const one = await member();
    expect((await want(one, one.account.email.toUpperCase())).body).toMatchObject({
      success: true,
      email: one.account.email.toUpperCase(),
    });
    expect(await addressOf(one)).toBe(one.account.email.toUpperCase());
  });

  it('is recorded in the audit log, and is part of the member’s data export', async () => {
    const [one, other] = [await member(), await member()];
    const link = await linkFor(one);
    await follow(one, link);
    await linkFor(other);
    await settled(forum);
    const data = forum.app.service(Data);
    const rows = await data.all(sql<{ text: string }>`select e::text as text from audit_entry e`);
    expect(rows.some(({ text }) => text.includes('account.email-confirmed') && text.includes(one.account.id))).toBe(
      true,
    );
    expect(rows.some(({ text }) => text.includes(one.wanted) || text.includes(link.split('/').at(-1)!))).toBe(false);
    const archive = await other.client.post('/settings/privacy/export', undefined, asJson);
    expect([archive.status, archive.text.includes('new-address.json')]).toEqual([200, true]);
  });
});

describe('a new e-mail address, when addresses are not confirmed', () => {
  it('takes effect immediately, and one that is in use is refused', async () => {
    await switchOn(false);
    const [one, other] = [await member(), await member()];
    expect((await want(one, one.wanted)).body).toEqual({ success: true, email: one.wanted });
    expect(await addressOf(one)).toBe(one.wanted);
    expect((await nextMail(forum, one.account.email)).headers['subject']).toContain('address was changed');
    expect((await want(other, one.wanted)).body.details[0]).toEqual({
      field: 'email',
      message: 'is in use by another member',
    });
  });
});
