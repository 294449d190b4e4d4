import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Data, definePlugin, Settings, sql, type Logger } from 'parley-forum';
import { mailDomainAccepted, userRegistered } from 'parley-forum/plugins/accounts';
import type { Answer, Client, TestForum } from 'parley-forum/testing';
import { acceptsMail, type MxResolver } from '../../../plugins/accounts/registration/mail-domain.ts';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const asJson = { accept: 'application/json' };
const fields = (answer: Answer): readonly string[] =>
  (answer.body.details ?? []).map(({ field }: { field: string }) => field);

describe('signing up', () => {
  let forum: TestForum;
  const heard: unknown[] = [];
  const domains = new Map<string, boolean>();
  const listener = definePlugin({
    id: 'listener',
    setup(_services, plugin) {
      plugin.on(userRegistered, ({ user }) => void heard.push(user));
      plugin.on(mailDomainAccepted, ({ domain }) => domains.get(domain));
    },
  });
  let address = 0;
  const visitor = (from = `198.51.100.${++address}`): Client => forum.client({ 'x-forwarded-for': from });
  const register = async (form: object, client = visitor()): Promise<Answer> => {
    await client.csrf();
    return client.post('/register', { password: PASSWORD, ...form }, asJson);
  };

  beforeAll(async () => {
    forum = await openForum({
      environment: { trustedProxies: ['127.0.0.1'] },
      settings: { 'registration.rate_limit': 3 },
      extra: [listener],
    });
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('creates a member who is logged in at once', async () => {
    const client = visitor('203.0.113.5');
    const answer = await register({ username: 'Grace', email: 'grace@example.org' }, client);
    expect(answer.status).toBe(201);
    expect(answer.body.user).toMatchObject({
      username: 'Grace',
      email: 'grace@example.org',
      group: { id: 'member' },
      bio: '',
      avatar_url: null,
    });
    expect((await client.get('/')).text).toContain('Grace');
    expect(heard).toContainEqual({ id: answer.body.user.id, username: 'Grace', joined_at: '2026-01-15T12:00:00.000Z' });
  });

  it('redirects a browser to where it came from', async () => {
    const client = visitor();
    await client.csrf('/register');
    const answer = await client.submit('/register', {
      username: 'Hopper',
      email: 'hopper@example.org',
      password: PASSWORD,
      password_confirmation: PASSWORD,
      return_to: '/d/1',
      website: '',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/d/1']);
  });

  it('records the IP address, but not 0.0.0.0', async () => {
    await register({ username: 'Ivy', email: 'ivy@example.org' }, visitor('0.0.0.0'));
    const stored = await forum.app.service(Data).all(
      sql<{
        username: string;
        registration_ip: string | null;
        last_ip: string | null;
      }>`select username::text as username, registration_ip, last_ip from account where username in ('Grace', 'Ivy') order by username`,
    );
    expect(stored).toEqual([
      { username: 'Grace', registration_ip: '203.0.113.5', last_ip: '203.0.113.5' },
      { username: 'Ivy', registration_ip: null, last_ip: null },
    ]);
  });

  it('reports the field of a taken name or address, whatever its case', async () => {
    expect(fields(await register({ username: 'GRACE', email: 'new@example.org' }))).toEqual(['username']);
    expect(fields(await register({ username: 'Newcomer', email: 'Grace@EXAMPLE.org' }))).toEqual(['email']);
  });

  it.each([['ab'], ['x'.repeat(31)], ['two words'], ['näme'], ['a/b'], ['...'], ['admin'], ['Moderator']])(
    'refuses the username %s',
    async (username) => {
      const answer = await register({ username, email: 'fine@example.org' });
      expect([answer.status, fields(answer)]).toEqual([400, ['username']]);
    },
  );

  it('states which letters a username may have, before and after a refusal', async () => {
    for (const [language, words] of [
      ['en', '3 to 30 letters a–z, digits'],
      ['de', '3 bis 30 Buchstaben a–z, Ziffern'],
    ])
      expect((await visitor().get('/register', { 'accept-language': language! })).text).toContain(words);
    const answer = await register({ username: 'Jörg', email: 'joerg@example.org' });
    expect(answer.body.details[0].message).toContain('letters a–z');
  });

  it.each([
    ['nobody'],
    ['a@b'],
    ['a b@example.org'],
    ['a@b@example.org'],
    ['@example.org'],
    [`${'x'.repeat(65)}@example.org`],
  ])('refuses the e-mail address %s', async (email) => {
    const answer = await register({ username: 'Fine', email });
    expect([answer.status, fields(answer)]).toEqual([400, ['email']]);
  });

  it.each([
    ['Short-1', 'at least 10 characters'],
    ['all-lower-case-1', 'uppercase'],
    ['ALL-UPPER-CASE-1', 'lowercase'],
    ['No-digits-here', 'digit'],
    ['NoSpecialSigns1', 'special'],
    [`Long-1-${'x'.repeat(66)}`, '72 bytes'],
    [`Long-1-${'ü'.repeat(33)}`, '72 bytes'],
    ['Password123!', 'too common'],
    ['P@ssw0rd!!1', 'too common'],
    ['!Qwertyuiop1', 'too common'],
    ['Sunshine-2024!', 'too common'],
    ['Fine-Person1!', 'name'],
  ])('refuses the password %s', async (password, why) => {
    const answer = await register({ username: 'Fine.Person', email: 'fine-person@example.org', password });
    expect([answer.status, fields(answer)[0]]).toEqual([400, 'password']);
    expect(answer.body.details[0].message).toContain(why);
  });

  it('reads the minimum length of passwords from the settings', async () => {
    await forum.app.service(Settings).set({ 'security.password_min_length': 20 });
    expect(fields(await register({ username: 'Jane', email: 'jane@example.org' }))).toEqual(['password']);
    await forum.app.service(Settings).set({ 'security.password_min_length': 10 });
  });

  it('refuses passwords that differ', async () => {
    expect(
      fields(
        await register({ username: 'Jane', email: 'jane@example.org', password_confirmation: 'Other-harbour-42' }),
      ),
    ).toEqual(['password_confirmation']);
  });

  it('reports all errors at once, by field', async () => {
    const form = { username: 'x', email: 'nowhere', password: 'short', password_confirmation: 'longer' };
    expect(new Set(fields(await register(form)))).toEqual(
      new Set(['username', 'email', 'password', 'password_confirmation']),
    );
    const page = await visitor().submit('/register', form);
    expect(page.status).toBe(400);
    expect(page.text).toContain('<a href="#f-email">E-mail: is not an e-mail address</a>');
    expect(page.text).toContain(
      '<a href="#f-password_confirmation">Repeat the password: is not the same as the password</a>',
    );
  });

  it('accepts one spelling of an address, so that no mailbox has several', async () => {
    const spellings = [
      'ivan\u0085@example.org',
      'iv\u0001an@example.org',
      'iv\u200ban@example.org',
      'ivan@exam\u00adple.org',
      'ivan@ｅxample.org',
      'ivan@exa%6dple.org',
      'ivan@example.org\u0001',
      'ivan@bücher.example',
    ];
    for (const [index, email] of spellings.entries())
      expect([email, fields(await register({ username: `Ivan-${index}`, email }))]).toEqual([email, ['email']]);
    for (const [index, email] of ['ivan@Example.org', 'ivan@xn--bcher-kva.example'].entries())
      expect([email, (await register({ username: `Ivan-b${index}`, email })).status]).toEqual([email, 201]);
  });

  it('reports a taken name along with other errors, and all errors of a field', async () => {
    const form = { username: 'GRACE', email: 'grace@example.org', password: 'short', password_confirmation: 'short' };
    // Only attempts that count towards the limit learn whether an e-mail address is in use.
    for (let n = 0; n < 4; n++)
      expect(fields(await register(form, visitor('198.51.100.250')))).toEqual(['password', 'password', 'username']);
    expect(new Set(fields(await register({ ...form, password: PASSWORD, password_confirmation: PASSWORD })))).toEqual(
      new Set(['username', 'email']),
    );
    const { text } = await visitor().submit('/register', form);
    const wrong = 'must have at least 10 characters; must contain an uppercase letter, a digit, a special character';
    expect(text).toContain(`<p class="problem" id="f-password-problem">${wrong}</p>`);
    expect(text).toContain('<p class="problem" id="f-username-problem">is taken</p>');
  });

  it('reports an empty field as required', async () => {
    expect((await register({ username: '', email: 'empty@example.org' })).body.details).toEqual([
      { field: 'username', message: 'is required' },
    ]);
  });

  it('allows an IP address three sign-ups an hour, not counting plainly invalid ones', async () => {
    const client = visitor();
    for (let n = 0; n < 4; n++) await register({ username: 'x', email: 'x' }, client);
    for (let n = 0; n < 3; n++)
      expect(
        (
          await register(
            { username: `Kay-${n}`, email: `kay-${n}@example.org` },
            forum.client({ 'x-forwarded-for': `198.51.100.${address}` }),
          )
        ).status,
      ).toBe(201);
    const answer = await register({ username: 'Kay-4', email: 'kay-4@example.org' }, client);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('refuses a form whose invisible field is filled in', async () => {
    const answer = await register({ username: 'Robot', email: 'robot@example.org', website: 'https://example.org' });
    expect([answer.status, answer.body.code]).toEqual([400, 'spam']);
  });

  it('refuses a form shown more than a day ago, or not by this forum', async () => {
    const client = visitor();
    const stamp = /name="shown" value="([^"]+)"|"stamp":"([^"]+)"/
      .exec((await client.get('/register')).text)!
      .slice(1)
      .find(Boolean);
    forum.clock.advance(86_400_000);
    expect((await register({ username: 'Late', email: 'late@example.org', shown: stamp }, client)).body.code).toBe(
      'form_expired',
    );
    expect((await register({ username: 'Late', email: 'late@example.org', shown: 'abc.def' }, client)).body.code).toBe(
      'form_expired',
    );
  });

  it('refuses a browser’s form without the time when it was shown', async () => {
    const client = visitor();
    await client.csrf('/register');
    const form = { username: 'Hasty', email: 'hasty@example.org', password: PASSWORD, password_confirmation: PASSWORD };
    expect((await client.submit('/register', { ...form, shown: '' })).status).toBe(400);
    const bare = await client.request('POST', '/register', {
      form: { ...form, _csrf: await client.csrf() },
      headers: asJson,
    });
    expect([bare.status, bare.body.code]).toEqual([400, 'form_expired']);
  });

  it('creates one member from two identical sign-ups at once', async () => {
    const answers = await Promise.all([1, 2].map(() => register({ username: 'Twin', email: 'twin@example.org' })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 400]);
  });

  it('refuses a domain that accepts no mail, when that check is on', async () => {
    domains.set('nomail.example', false).set('mail.example', true);
    await forum.app.service(Settings).set({ 'email.mx_validation': true });
    expect(fields(await register({ username: 'Lee', email: 'lee@nomail.example' }))).toEqual(['email']);
    expect((await register({ username: 'Lee', email: 'lee@mail.example' })).status).toBe(201);
    expect(fields(await register({ username: 'lee', email: 'other@nomail.example' }))).toEqual(['username', 'email']);
    await forum.app.service(Settings).set({ 'email.mx_validation': false });
    expect((await register({ username: 'Mae', email: 'mae@nomail.example' })).status).toBe(201);
  });
});

describe('looking up a mail server in the DNS', () => {
  const warnings: string[] = [];
  const log: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (_fields, message) => void warnings.push(message),
    error: () => undefined,
    child: () => log,
  };
  const answering = (...exchanges: string[]): MxResolver => ({
    resolveMx: () => Promise.resolve(exchanges.map((exchange) => ({ exchange }))),
    cancel: () => undefined,
  });
  const failing = (code: string): MxResolver => ({
    ...answering(),
    resolveMx: () => Promise.reject(Object.assign(new Error(code), { code })),
  });

  it('refuses a domain only on a definite negative answer', async () => {
    expect(await acceptsMail('gone.example', { log, resolver: failing('ENOTFOUND') })).toBe(false);
    expect(await acceptsMail('silent.example', { log, resolver: failing('ENODATA') })).toBe(false);
    expect(await acceptsMail('null.example', { log, resolver: answering('') })).toBe(false);
    expect(await acceptsMail('some.example', { log, resolver: answering('mx.example') })).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('accepts the domain and logs a warning when the resolver fails or times out', async () => {
    expect(await acceptsMail('some.example', { log, resolver: failing('ESERVFAIL') })).toBe(true);
    let cancelled = false;
    const silent: MxResolver = {
      resolveMx: () => Promise.withResolvers<never>().promise,
      cancel: () => void (cancelled = true),
    };
    expect(await acceptsMail('some.example', { log, resolver: silent, timeout: 1 })).toBe(true);
    expect([cancelled, warnings.length]).toEqual([true, 2]);
  });
});
