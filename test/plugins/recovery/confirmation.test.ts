import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Settings } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Notifications } from 'parley-forum/ports/notifications';
import { startForum, type Answer, type Client, type TestForum } from 'parley-forum/testing';
import { asJson, linkIn, mailCount, NEW_PASSWORD, nextMail, PASSWORD } from './forum.ts';

let forum: TestForum;
let address = 0;
let members = 0;
const visitor = (from = `198.51.100.${++address}`): Client => forum.client({ 'x-forwarded-for': from });
const switchOn = (on: boolean): Promise<void> =>
  forum.app.service(Settings).set({ 'registration.email_verification': on });
const hasSession = (client: Client): boolean => [...client.cookies.keys()].some((name) => name.includes('sid'));

interface SignUp {
  readonly username: string;
  readonly email: string;
}
const newcomer = (): SignUp => ({ username: `Newcomer-${++members}`, email: `newcomer-${members}@example.org` });
async function register(form: SignUp & { readonly password?: string }, client = visitor()): Promise<Answer> {
  await client.csrf('/register');
  return client.post('/register', { password: PASSWORD, ...form }, asJson);
}
async function logIn({ username }: SignUp, client = visitor(), password = PASSWORD): Promise<Answer> {
  await client.csrf();
  return client.post('/login', { identifier: username, password }, asJson);
}
async function confirm(link: string, client = visitor()): Promise<Answer> {
  await client.csrf('/login');
  return client.post(link, {}, asJson);
}

beforeAll(async () => {
  forum = await startForum({ environment: { trustedProxies: ['127.0.0.1'] } });
});
afterAll(() => forum[Symbol.asyncDispose]());
beforeEach(() => switchOn(true));

describe('with address confirmation on', () => {
  it('a new member can log in only after following the link in the mail', async () => {
    const [client, form] = [visitor(), newcomer()];
    const answer = await register(form, client);
    expect([answer.status, answer.body]).toEqual([201, { success: true, email_verification: true }]);
    expect(hasSession(client)).toBe(false);
    const waiting = await logIn(form, client);
    expect([waiting.status, waiting.body]).toEqual([200, { success: true, email_verification: true }]);
    expect(hasSession(client)).toBe(false);
    expect((await confirm(linkIn(await nextMail(forum, form.email)))).body).toEqual({ success: true });
    expect((await logIn(form)).body).toMatchObject({ success: true, user: { username: form.username } });
  });

  it('a browser is asked to check its mail, and offered to resend it when logging in too early', async () => {
    const [client, form] = [visitor(), newcomer()];
    await client.csrf('/register');
    const answer = await client.submit('/register', { ...form, password: PASSWORD, password_confirmation: PASSWORD });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/register/sent']);
    expect((await client.get('/register/sent')).text).toContain('Check your e-mail');
    const early = await client.submit('/login', { identifier: form.username, password: PASSWORD });
    expect([early.status, early.headers.get('location')]).toEqual([303, '/login/verify']);
    expect((await client.get('/login/verify')).text).toContain('Resend the e-mail');
    const link = linkIn(await nextMail(forum, form.email));
    const page = await client.get(link);
    expect(page.text).toContain(form.username);
    expect([page.headers.get('referrer-policy'), page.headers.get('cache-control')]).toEqual([
      'no-referrer',
      expect.stringContaining('no-store'),
    ]);
    expect((await client.submit(link)).headers.get('location')).toBe('/login');
    const entered = await client.submit('/login/verify');
    expect(entered.headers.get('location')).toBe('/');
    expect((await client.get('/')).text).toContain(form.username);
  });

  it('opening the link changes nothing, and it works once', async () => {
    const form = newcomer();
    await register(form);
    const link = linkIn(await nextMail(forum, form.email));
    await visitor().get(link);
    expect((await logIn(form)).body).toHaveProperty('email_verification');
    expect((await confirm(link)).status).toBe(200);
    expect((await confirm(link)).status).toBe(404);
    expect((await visitor().get(link)).text).toContain('This link no longer works');
  });

  it('the link works for 24 hours, and a newer mail invalidates it', async () => {
    const [form, late] = [newcomer(), newcomer()];
    for (const one of [form, late]) await register(one);
    const [first, tooLate] = [linkIn(await nextMail(forum, form.email)), linkIn(await nextMail(forum, late.email))];
    const client = visitor();
    await logIn(form, client);
    expect((await client.post('/login/verify', {}, asJson)).body).toEqual({ success: true });
    expect((await confirm(first)).status).toBe(404);
    forum.clock.advance(86_399_000);
    expect((await confirm(linkIn(await nextMail(forum, form.email, 1)))).status).toBe(200);
    forum.clock.advance(1_000);
    expect((await confirm(tooLate)).status).toBe(404);
  });

  it('the mail is resent at most three times an hour, and only after entering the password', async () => {
    const form = newcomer();
    await register(form);
    const client = visitor();
    await client.csrf();
    expect((await client.post('/login/verify', {}, asJson)).status).toBe(401);
    expect((await client.submit('/login/verify')).headers.get('location')).toBe('/login');
    expect((await client.get('/login')).text).toMatch(/class="flash"><div class="notice info"[^]*?Log in first/);
    expect((await logIn(form, client, NEW_PASSWORD)).status).toBe(401);
    expect((await client.post('/login/verify', {}, asJson)).status).toBe(401);
    await logIn(form, client);
    for (let n = 0; n < 3; n++) expect((await client.post('/login/verify', {}, asJson)).status).toBe(200);
    expect((await client.post('/login/verify', {}, asJson)).status).toBe(429);
  });

  it('an address in use gets the same response, and its owner is notified once a day', async () => {
    const owner = { username: 'Owner', email: 'owner@example.org' };
    await forum.app.service(Accounts).create({ ...owner, password: PASSWORD });
    const fresh = await register(newcomer());
    for (let n = 0; n < 2; n++) {
      const answer = await register({ username: `Thief-${n}`, email: 'OWNER@example.org' });
      expect([answer.status, answer.body]).toEqual([fresh.status, fresh.body]);
      expect(await forum.app.service(Accounts).findByIdentifier(`Thief-${n}`)).toBeUndefined();
    }
    const mail = await nextMail(forum, owner.email);
    expect(mail.headers['subject']).toBe('You are a member already, Owner');
    await expect.poll(() => mailCount(forum, owner.email)).toBe(1);
    expect((await logIn(owner)).body).toHaveProperty('user');
  });

  it('signing up again before confirming sends another link', async () => {
    const form = newcomer();
    await register(form);
    const first = linkIn(await nextMail(forum, form.email));
    await register({ ...form, username: 'Another-name' });
    expect((await confirm(linkIn(await nextMail(forum, form.email, 1)))).status).toBe(200);
    expect((await confirm(first)).status).toBe(404);
  });

  it('a taken username is still reported, without revealing anything about the address', async () => {
    const form = newcomer();
    await register(form);
    const answer = await register(form);
    expect([answer.status, answer.body.details]).toEqual([400, [{ field: 'username', message: 'is taken' }]]);
    const weak = await register({ ...form, password: 'Short-1' });
    expect(weak.body.details).toEqual([
      { field: 'password', message: 'must have at least 10 characters' },
      { field: 'username', message: 'is taken' },
    ]);
  });

  it('an unconfirmed address receives no other mail, as it may belong to a stranger', async () => {
    await forum.app.service(Settings).set({ 'notifications.mail_delay': 0 });
    const [stranger, member] = [newcomer(), newcomer()];
    for (const form of [stranger, member]) await register(form);
    await confirm(linkIn(await nextMail(forum, member.email)));
    const link = linkIn(await nextMail(forum, stranger.email));
    const mention = async (...forms: readonly SignUp[]): Promise<void> => {
      const accounts = await Promise.all(
        forms.map(({ username }) => forum.app.service(Accounts).findByIdentifier(username)),
      );
      const mentioned = { type: 'mention', url: '/d/1', title: 'Buy here' };
      await forum.app
        .service(Notifications)
        .notify(accounts.map((account) => ({ ...mentioned, userId: account!.id, key: crypto.randomUUID() })));
    };
    await mention(stranger, member);
    expect((await nextMail(forum, member.email, 1)).headers['subject']).toContain('Buy here');
    await expect.poll(() => mailCount(forum, stranger.email)).toBe(1);
    await confirm(link);
    await mention(stranger);
    expect((await nextMail(forum, stranger.email, 1)).headers['subject']).toContain('Buy here');
  });

  it('a password reset also confirms the address', async () => {
    const form = newcomer();
    await register(form);
    await nextMail(forum, form.email);
    const client = visitor();
    await client.csrf('/password/forgot');
    await client.post('/password/forgot', { email: form.email }, asJson);
    expect(
      (await client.post(linkIn(await nextMail(forum, form.email, 1)), { password: NEW_PASSWORD }, asJson)).status,
    ).toBe(200);
    expect((await logIn(form, visitor(), NEW_PASSWORD)).body).toHaveProperty('user');
  });
});

describe('an unconfirmed sign-up', () => {
  const DAY = 86_400_000;
  const clean = (): Promise<void> => forum.runSchedule('recovery/job:clean');
  const idOf = async ({ username }: SignUp): Promise<string | undefined> =>
    (await forum.app.service(Accounts).findByIdentifier(username))?.id;

  it('expires after some days, and frees the username and address', async () => {
    const [form, confirmed] = [newcomer(), newcomer()];
    await register({ ...form, password: NEW_PASSWORD });
    await register(confirmed);
    await confirm(linkIn(await nextMail(forum, confirmed.email)));
    const first = await idOf(form);
    forum.clock.advance(6 * DAY);
    await clean();
    expect(await idOf(form)).toBe(first);
    // Another mail does not extend the time; otherwise anyone could keep the address from its owner for ever.
    const again = visitor();
    await logIn(form, again, NEW_PASSWORD);
    expect((await again.post('/login/verify', {}, asJson)).status).toBe(200);
    const old = linkIn(await nextMail(forum, form.email, 1));
    forum.clock.advance(1.01 * DAY);
    await clean();
    expect(await idOf(form)).toBeUndefined();
    expect((await again.get('/login/verify')).headers.get('location')).toBe('/login');
    expect((await confirm(old)).status).toBe(404);
    expect(await idOf(confirmed)).toBeDefined();
    expect((await register(form)).status).toBe(201);
    expect(await idOf(form)).not.toBe(first);
    expect((await confirm(linkIn(await nextMail(forum, form.email, 2)))).status).toBe(200);
    expect((await logIn(form, visitor(), NEW_PASSWORD)).status).toBe(401);
    expect((await logIn(form)).body).toHaveProperty('user');
    // Nothing but links was sent to an unconfirmed address.
    await expect.poll(() => mailCount(forum, form.email)).toBe(3);
  });

  it('is kept after a login, while confirmation is off, and while the privacy plugin is off', async () => {
    const [member, other] = [newcomer(), newcomer()];
    await register(member);
    await register(other);
    await switchOn(false);
    expect((await logIn(member)).body).toHaveProperty('user');
    forum.clock.advance(8 * DAY);
    await clean();
    expect([await idOf(member), await idOf(other)]).toEqual([expect.any(String), expect.any(String)]);
    await switchOn(true);
    await forum.app.kernel.disable('privacy');
    await clean();
    expect(await idOf(other)).toBeDefined();
    await forum.app.kernel.enable('privacy');
    await clean();
    expect([await idOf(member), await idOf(other)]).toEqual([expect.any(String), undefined]);
  });
});

describe('with address confirmation off', () => {
  it('existing and waiting members can log in', async () => {
    const waiting = newcomer();
    await register(waiting);
    await switchOn(false);
    const before = newcomer();
    expect((await register(before)).body).toMatchObject({ user: { username: before.username } });
    expect((await logIn(waiting)).body).toHaveProperty('user');
    await switchOn(true);
    expect((await logIn(before)).body).toHaveProperty('user');
    expect((await logIn(waiting)).body).toHaveProperty('email_verification');
  });

  it('an address in use is reported', async () => {
    await switchOn(false);
    const form = newcomer();
    await register(form);
    expect((await register({ ...form, username: 'Somebody-else' })).body.details).toEqual([
      { field: 'email', message: 'is in use by another member' },
    ]);
  });
});
