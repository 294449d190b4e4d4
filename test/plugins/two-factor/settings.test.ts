import { Secret } from 'otpauth';
import { describe, expect, it } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { AuditRecord } from 'parley-forum/plugins/audit';
import { RootKey } from 'parley-forum/plugins/secrets';
import { TwoFactor } from 'parley-forum/plugins/two-factor';
import { startForum } from 'parley-forum/testing';
import { commands } from '../../../plugins/two-factor/commands.ts';
import { settled } from '../audit/settled.ts';
import { nextMail } from '../recovery/forum.ts';
import { asJson, give, Members, PAGE, PASSWORD, useMembers } from './forum.ts';

const members = useMembers();

describe('setting up two-factor login', () => {
  it('shows the key as a QR code and as text, and is completed with the first code', async () => {
    const { account, client } = await members.loggedIn();
    expect((await client.get('/settings/security')).text).toContain(`href="${PAGE}"`);
    expect((await client.get(PAGE)).text).not.toContain('<svg xmlns');
    expect((await client.submit(`${PAGE}/begin`)).headers.get('location')).toBe(PAGE);
    const page = await client.get(PAGE);
    expect(page.headers.get('cache-control')).toContain('no-store');
    expect(page.text).toContain('<svg xmlns="http://www.w3.org/2000/svg"');
    const secret = /<p class="secret" dir="ltr">([A-Z2-7 ]{39})<\/p>/.exec(page.text)![1]!.replaceAll(' ', '');
    const link = /<a class="button" href="(otpauth:[^"]+)">Open in the authenticator app<\/a>/
      .exec(page.text)![1]!
      .replaceAll('&amp;', '&');
    expect(new URL(link).searchParams.get('secret')).toBe(secret);
    const done = await client.submit(`${PAGE}/confirm`, { code: members.code(secret) });
    expect(done.status).toBe(200);
    expect(done.headers.get('cache-control')).toContain('no-store');
    expect([...done.text.matchAll(/<li>((?:[0-9a-z]{4}-){5}[0-9a-z]{4})<\/li>/g)]).toHaveLength(10);
    expect(done.text).toContain('download="backup-codes.txt" href="data:text/plain');
    const later = await client.get(PAGE);
    expect(later.text).toContain('10 backup codes are left');
    expect(later.text).not.toMatch(/class="secret/);
    expect((await nextMail(members.forum, account.email)).headers['subject']).toBe('Two-factor login is on');
  });

  it('returns the key in the API, as an otpauth URI with the site and the member', async () => {
    const { account, client } = await members.loggedIn();
    const { body } = await client.post(`${PAGE}/begin`, {}, asJson);
    expect(Secret.fromBase32(body.secret).bytes).toHaveLength(20);
    expect(body.uri).toBe(
      `otpauth://totp/Test%20forum:${account.username}?issuer=Test%20forum&secret=${body.secret}&algorithm=SHA1&digits=6&period=30`,
    );
    expect((await client.get(PAGE, asJson)).body).toEqual({
      success: true,
      enabled: false,
      waiting: true,
      backup_codes_left: 0,
    });
  });

  it('is not completed with a wrong code, and logins need none yet', async () => {
    const { account, client } = await members.loggedIn();
    const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
    const answer = await client.submit(`${PAGE}/confirm`, { code: members.wrongCode(secret) });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('is wrong or was used before');
    expect((await members.begin(account)).answer.body).toHaveProperty('user');
  });

  it('hides the pending key in a refused form, unless the password was confirmed recently', async () => {
    const { client } = await members.loggedIn();
    await client.submit(`${PAGE}/begin`);
    const refused = () => client.submit(`${PAGE}/confirm`, { _csrf: 'wrong', code: '000000' });
    expect((await refused()).text).toContain('class="secret"');
    members.forum.clock.advance(900_000);
    const answer = await refused();
    expect(answer.status).toBe(403);
    expect(answer.text).not.toMatch(/class="secret"|<svg xmlns=/);
  });

  it('discards the pending key when another one is created', async () => {
    const { client } = await members.loggedIn();
    const [first, second] = [
      await client.post(`${PAGE}/begin`, {}, asJson),
      await client.post(`${PAGE}/begin`, {}, asJson),
    ];
    expect((await client.post(`${PAGE}/confirm`, { code: members.code(first.body.secret) }, asJson)).status).toBe(400);
    expect((await client.post(`${PAGE}/confirm`, { code: members.code(second.body.secret) }, asJson)).status).toBe(200);
  });

  it('is refused while it is on', async () => {
    const { client } = await members.enrolled();
    expect((await client.post(`${PAGE}/begin`, {}, asJson)).status).toBe(409);
  });

  it('requires a member with a recent password confirmation', async () => {
    expect((await members.visitor().get(PAGE)).headers.get('location')).toContain('/login?return_to=');
    const { client } = await members.loggedIn();
    members.forum.clock.advance(15 * 60_000);
    expect((await client.get(PAGE)).headers.get('location')).toContain('/login/confirm');
    for (const path of ['begin', 'confirm', 'codes', 'off']) {
      expect((await client.post(`${PAGE}/${path}`, { code: '123456' }, asJson)).body.code).toBe('confirmation_needed');
    }
  });
});

describe('two-factor login', () => {
  it('is required wherever the password is confirmed, and wrong codes count', async () => {
    const { client, secret } = await members.enrolled();
    members.forum.clock.advance(15 * 60_000);
    const confirm = (more: object) => client.post('/login/confirm', { password: PASSWORD, ...more }, asJson);
    const needed = await confirm({});
    expect([needed.status, needed.body.details[0].field]).toEqual([400, 'code']);
    const shown = await client.get('/login/confirm');
    expect(shown.text).toMatch(/name="code"[^>]*autocomplete="one-time-code"/);
    for (let tries = 0; tries < 4; tries++)
      expect((await confirm({ code: members.wrongCode(secret) })).body.details[0].field).toBe('code');
    expect(
      (await client.post('/login/confirm', { password: 'Wrong-harbour-1', code: members.code(secret) }, asJson)).body
        .details[0].field,
    ).toBe('password');
    expect((await client.get(PAGE)).status).toBe(303);
    expect((await confirm({ code: members.code(secret) })).status).toBe(200);
    expect((await client.get(PAGE)).status).toBe(200);
    members.forum.clock.advance(15 * 60_000);
    expect((await confirm({ code: members.code(secret, -30) })).status).toBe(400);
    for (let tries = 0; tries < 4; tries++) await confirm({ code: members.wrongCode(secret) });
    expect((await confirm({ code: members.code(secret) })).status).toBe(429);
  });

  it('replaces backup codes with new ones', async () => {
    const { account, client, codes } = await members.enrolled();
    const fresh = (await client.post(`${PAGE}/codes`, {}, asJson)).body.backup_codes as readonly string[];
    expect(fresh).toHaveLength(10);
    const { client: other } = await members.begin(account);
    expect((await give(other, codes[0]!)).status).toBe(401);
    expect((await give(other, fresh[0]!)).status).toBe(200);
  });

  it('can be turned off with a code only', async () => {
    const { account, client, secret } = await members.enrolled();
    expect((await client.post(`${PAGE}/off`, { code: members.wrongCode(secret) }, asJson)).status).toBe(400);
    expect((await client.post(`${PAGE}/off`, {}, asJson)).status).toBe(400);
    expect((await client.submit(`${PAGE}/off`, { code: members.code(secret) })).headers.get('location')).toBe(
      '/settings/security',
    );
    expect((await members.begin(account)).answer.body).toHaveProperty('user');
    expect((await client.post(`${PAGE}/codes`, {}, asJson)).status).toBe(409);
    expect(
      await members.forum.app.service(Data).all(sql`select 1 from two_factor where account_id = ${account.id}`),
    ).toEqual([]);
    expect((await nextMail(members.forum, account.email, 1)).headers['subject']).toBe('Two-factor login is off');
  });

  it('is stored encrypted and hashed, and never logged', async () => {
    const { account, secret, codes } = await members.enrolled();
    const { client } = await members.begin(account);
    await give(client, codes[0]!);
    const data = members.forum.app.service(Data);
    const rows = [
      await data.all(sql`select t::text as text from two_factor t`),
      await data.all(sql`select c::text as text from two_factor_backup_code c`),
    ];
    const kept = JSON.stringify([rows, members.forum.lines]);
    for (const word of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))])
      expect(kept).not.toContain(word);
  });
});

describe('resetting two-factor login', () => {
  it('at the shell turns it off once, and notifies the member', async () => {
    const { account } = await members.enrolled();
    const printed: string[] = [];
    const run = (name: string): Promise<void> | void =>
      commands[0].run(
        { accounts: members.forum.app.service(Accounts), twoFactor: members.forum.app.service(TwoFactor) },
        { name },
        {
          terminal: false,
          columns: 80,
          print: (line) => void printed.push(line),
          progress: () => undefined,
          secret: () => Promise.resolve(undefined),
        },
      );
    await run(account.username.toUpperCase());
    await run(account.username);
    expect(printed).toEqual([
      `${account.username} logs in with the password alone now.`,
      `${account.username} has no second factor.`,
    ]);
    expect((await members.begin(account)).answer.body).toHaveProperty('user');
    expect((await nextMail(members.forum, account.email, 1)).headers['subject']).toBe(
      'Your two-factor login was switched off by an administrator',
    );
    await expect(run('nobody')).rejects.toThrow('There is no member "nobody"');
  });

  it('is a button in the administrators’ list, next to members who have it on', async () => {
    const { client: admin } = await members.loggedIn('admin');
    const [{ account }, other] = [await members.enrolled(), await members.create()];
    const listed = async (name: string): Promise<string> => (await admin.get(`/admin/users?q=${name}`)).text;
    expect(await listed(other.username)).not.toContain('reset-two-factor');
    expect(await listed(account.username)).toContain('action="/admin/users/reset-two-factor"');
    expect(await listed(account.username)).toContain('Two-factor login: <span dir="auto">on</span>');
    const answer = await admin.submit('/admin/users/reset-two-factor', { id: account.id });
    expect(answer.headers.get('location')).toBe(`/admin/users?q=${account.username}`);
    expect((await members.begin(account)).answer.body).toHaveProperty('user');
    expect((await admin.post('/admin/users/reset-two-factor', { id: account.id }, asJson)).status).toBe(404);
    expect((await admin.post('/admin/users/reset-two-factor', { id: 'nobody' }, asJson)).status).toBe(404);
  });

  it('is recorded in the audit log, like all use of codes, but never a code', async () => {
    const [{ account: root, client: admin }, { account, client, secret, codes }] = [
      await members.loggedIn('admin'),
      await members.enrolled(),
    ];
    await client.post(`${PAGE}/codes`, {}, asJson);
    const { client: guessing } = await members.begin(account);
    await give(guessing, members.wrongCode(secret));
    await admin.post('/admin/users/reset-two-factor', { id: account.id }, asJson);
    await settled(members.forum);
    const { entries } = (await admin.get('/admin/audit?limit=100', asJson)).body as { entries: readonly AuditRecord[] };
    const about = entries
      .filter(({ action, subject }) => action.startsWith('two-factor.') && subject?.id === account.id)
      .toReversed();
    expect(about.map(({ action, actor }) => [action, actor?.id])).toEqual([
      ['two-factor.enabled', account.id],
      ['two-factor.codes-renewed', account.id],
      ['two-factor.refused', undefined],
      ['two-factor.reset', root.id],
    ]);
    for (const word of [secret, ...codes]) expect(JSON.stringify(entries)).not.toContain(word);
  });

  it('is refused for others, and for an administrator’s own account', async () => {
    const { account, client } = await members.enrolled();
    const [{ client: moderator }, { account: own, client: admin }] = [
      await members.loggedIn('moderator'),
      await members.loggedIn('admin'),
    ];
    for (const caller of [client, moderator])
      expect((await caller.post('/admin/users/reset-two-factor', { id: account.id }, asJson)).status).toBe(403);
    expect((await members.visitor().post('/admin/users/reset-two-factor', { id: account.id }, asJson)).status).toBe(
      401,
    );
    expect((await admin.post('/admin/users/reset-two-factor', { id: own.id }, asJson)).status).toBe(400);
    members.forum.clock.advance(15 * 60_000);
    expect((await admin.post('/admin/users/reset-two-factor', { id: account.id }, asJson)).body.code).toBe(
      'confirmation_needed',
    );
    expect((await members.begin(account)).answer.body).toHaveProperty('two_factor');
  });
});

it('two-factor login keeps working with a new root key', async () => {
  await using own = await startForum({ environment: { secretKey: undefined, trustedProxies: ['127.0.0.1'] } });
  const there = new Members(own);
  const { account, secret } = await there.enrolled();
  const sealed = () => own.app.service(Data).one(sql<{ secret: string }>`select secret from two_factor`);
  const old = await sealed();
  await own.app.service(RootKey).rotate();
  expect(await sealed()).not.toEqual(old);
  const { client } = await there.begin(account);
  expect((await give(client, there.code(secret))).status).toBe(200);
});

it('the root key cannot be rotated while the plugin is disabled, unless forced', async () => {
  await using own = await startForum({ environment: { secretKey: undefined } });
  await own.app.plugins.disable('two-factor');
  await expect(own.app.service(RootKey).rotate()).rejects.toThrow(/are not running: two-factor\. Switch them on first/);
  await own.app.plugins.enable('two-factor');
  await own.app.service(RootKey).rotate();
  await own.app.plugins.disable('two-factor');
  await expect(own.app.service(RootKey).rotate({ force: true })).resolves.toBeUndefined();
});
