import { describe, expect, it } from 'vitest';
import type { Answer } from 'parley-forum/testing';
import { linkIn, mailCount, nextMail } from '../recovery/forum.ts';
import { asJson, give, hasSession, PAGE, PASSWORD, STEP, useMembers } from './forum.ts';

const members = useMembers();

describe('logging in', () => {
  it('requires a code after the right password', async () => {
    const { account, secret } = await members.enrolled();
    const { client, answer } = await members.begin(account);
    expect([answer.status, answer.body]).toEqual([200, { success: true, two_factor: true }]);
    expect(hasSession(client)).toBe(false);
    expect((await client.get('/settings/profile')).status).toBe(303);
    const entered = await give(client, members.code(secret));
    expect(entered.body).toMatchObject({ success: true, user: { username: account.username } });
    expect((await client.get('/settings/profile')).status).toBe(200);
  });

  it('works without JavaScript, and returns to the previous page', async () => {
    const { account, secret } = await members.enrolled();
    const client = members.visitor();
    await client.csrf();
    const answer = await client.submit('/login', {
      identifier: account.username,
      password: PASSWORD,
      return_to: '/notifications',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login/two-factor']);
    const asked = (await client.get('/login/two-factor')).text;
    expect(asked).toContain('autocomplete="one-time-code"');
    expect(asked).toContain('Lost your phone? Use one of the backup codes');
    const wrong = await client.submit('/login/two-factor', { code: members.wrongCode(secret) });
    expect(wrong.status).toBe(401);
    expect(wrong.text).toContain('The code is wrong or was used before');
    const right = await client.submit('/login/two-factor', {
      code: ` ${members.code(secret).slice(0, 3)} ${members.code(secret).slice(3)}`,
    });
    expect([right.status, right.headers.get('location')]).toEqual([303, '/notifications']);
  });

  it('redirects to the login page without a pending login, with a notice that is not a success', async () => {
    const client = members.visitor();
    await client.csrf('/');
    const answer = await client.submit('/login/two-factor', { code: '123456' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login']);
    expect((await client.get('/login')).text).toMatch(
      /class="flash"><div class="notice info"[^]*?There is no login waiting/,
    );
  });

  it('accepts each code once, and no older one', async () => {
    const { account, secret } = await members.enrolled();
    const [first, second, third] = [members.visitor(), members.visitor(), members.visitor()];
    for (const client of [first, second, third]) await members.begin(account, client);
    const code = members.code(secret);
    const answers = await Promise.all([give(first, code), give(second, code)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
    expect((await give(third, members.code(secret, -1))).status).toBe(401);
    expect((await give(third, members.code(secret, 1))).status).toBe(200);
  });

  it('does not accept the code that turned it on', async () => {
    const { account, client } = await members.loggedIn();
    const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
    const code = members.code(secret);
    await client.post(`${PAGE}/confirm`, { code }, asJson);
    const { client: other } = await members.begin(account);
    expect((await give(other, code)).status).toBe(401);
  });

  it('tolerates a clock skew of half a minute, but not more', async () => {
    const { account, secret } = await members.enrolled();
    members.forum.clock.advance(5 * STEP);
    for (const [steps, status] of [
      [-2, 401],
      [2, 401],
      [-1, 200],
      [1, 200],
    ] as const) {
      const client = members.visitor();
      await members.begin(account, client);
      expect((await give(client, members.code(secret, steps))).status).toBe(status);
    }
  });

  it('accepts each backup code once, in any notation, and notifies the member', async () => {
    const { account, codes } = await members.enrolled();
    const [first, second] = [members.visitor(), members.visitor()];
    for (const client of [first, second]) await members.begin(account, client);
    const code = codes[0]!.toUpperCase().replaceAll('-', ' ');
    expect((await give(first, code)).status).toBe(200);
    expect((await give(second, codes[0]!)).status).toBe(401);
    expect((await give(second, codes[1]!)).status).toBe(200);
    expect((await second.get(PAGE, asJson)).body).toMatchObject({ enabled: true, backup_codes_left: 8 });
    expect((await nextMail(members.forum, account.email, 1)).headers['subject']).toBe(
      'A backup code was used to confirm that it is you',
    );
  });

  it('responds the same to every wrong code', async () => {
    const [{ account, secret }, { codes: others }] = [await members.enrolled(), await members.enrolled()];
    const { client } = await members.begin(account);
    const answers = [
      await give(client, members.wrongCode(secret)),
      await give(client, others[0]!),
      await give(client, 'no code at all'),
    ];
    for (const { status, body } of answers)
      expect([status, body.code, body.error]).toEqual([401, 'wrong_code', answers[0]!.body.error]);
  });

  it('blocks an account after five wrong codes in a row from any address, even for the right code', async () => {
    const [victim, other] = [await members.enrolled(), await members.enrolled()];
    const clients = [members.visitor(), members.visitor()];
    for (const client of clients) await members.begin(victim.account, client);
    const tries = await Promise.all(
      Array.from({ length: 10 }, (_, at) => give(clients[at % 2]!, members.wrongCode(victim.secret))),
    );
    expect(tries.filter(({ status }) => status === 401)).toHaveLength(5);
    const refused = await give(clients[0]!, members.code(victim.secret));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const { client } = await members.begin(other.account);
    expect((await give(client, members.code(other.secret))).status).toBe(200);
  });

  it('resets the count of wrong codes after a right one', async () => {
    const { account, secret } = await members.enrolled();
    for (let round = 0; round < 2; round++) {
      members.forum.clock.advance(3 * STEP);
      const client = members.visitor();
      await members.begin(account, client);
      for (let n = 0; n < 4; n++) expect((await give(client, members.wrongCode(secret))).status).toBe(401);
      expect((await give(client, members.code(secret))).status).toBe(200);
    }
  });

  it('doubles the wait with each wrong code, and notifies the owner once a day that the password is known', async () => {
    const { account, secret } = await members.enrolled();
    const guess = async (): Promise<Answer> => {
      const { client } = await members.begin(account);
      return give(client, members.wrongCode(secret));
    };
    const before = await mailCount(members.forum, account.email);
    for (let n = 0; n < 5; n++) expect((await guess()).status).toBe(401);
    await expect.poll(() => mailCount(members.forum, account.email)).toBe(before + 1);
    for (const minutes of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 720, 720]) {
      const refused = await guess();
      expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, minutes * 60]);
      members.forum.clock.advance(minutes * 60_000 - 1);
      expect((await guess()).status).toBe(429);
      members.forum.clock.advance(1);
      expect((await guess()).status).toBe(401);
    }
    const mail = await nextMail(members.forum, account.email, before);
    expect([mail.headers['subject'], mail.body.includes('5 wrong codes')]).toEqual([
      'Somebody knows your password',
      true,
    ]);
    await expect.poll(() => mailCount(members.forum, account.email)).toBe(before + 2);
    members.forum.clock.advance(720 * 60_000);
    const { client } = await members.begin(account);
    expect((await give(client, members.code(secret))).status).toBe(200);
    const { client: again } = await members.begin(account);
    for (let n = 0; n < 5; n++) expect((await give(again, members.wrongCode(secret))).status).toBe(401);
  });

  it('does not lock the owner out: a backup code needs no wait', async () => {
    const { account, codes, secret } = await members.enrolled();
    const { client: thief } = await members.begin(account);
    for (let n = 0; n < 5; n++) await give(thief, members.wrongCode(secret));
    const { client } = await members.begin(account);
    const refused = await give(client, members.code(secret));
    expect([refused.status, refused.body.error]).toEqual([
      429,
      'Too many wrong codes were entered. Try again in 60 seconds, or enter a backup code now.',
    ]);
    expect((await give(client, codes[1]!.replace(/.$/, codes[1]!.endsWith('0') ? '1' : '0'))).status).toBe(401);
    expect((await give(client, codes[0]!)).status).toBe(200);
  });

  it('does not lock the owner out: a password reset ends the wait, for one code', async () => {
    const { account, secret } = await members.enrolled();
    const { client: thief } = await members.begin(account);
    for (let n = 0; n < 5; n++) await give(thief, members.wrongCode(secret));
    const client = members.visitor();
    await client.csrf('/password/forgot');
    const before = await mailCount(members.forum, account.email);
    await client.post('/password/forgot', { email: account.email }, asJson);
    expect(
      (
        await client.post(
          linkIn(await nextMail(members.forum, account.email, before)),
          { password: 'Louder-harbour-43' },
          asJson,
        )
      ).status,
    ).toBe(200);
    expect((await give(thief, members.code(secret))).body.code).toBe('login_needed');
    await client.post('/login', { identifier: account.username, password: 'Louder-harbour-43' }, asJson);
    expect((await give(client, members.wrongCode(secret))).status).toBe(401);
    expect([
      (await give(client, members.code(secret))).status,
      (await give(client, members.code(secret))).headers.get('retry-after'),
    ]).toEqual([429, '120']);
    members.forum.clock.advance(120_000);
    expect((await give(client, members.code(secret))).status).toBe(200);
  });

  it('requires the password first', async () => {
    const { secret } = await members.enrolled();
    const client = members.visitor();
    await client.csrf();
    expect((await client.get('/login/two-factor')).headers.get('location')).toBe('/login');
    const answer = await give(client, members.code(secret));
    expect([answer.status, answer.body.code]).toEqual([401, 'login_needed']);
    expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'));
  });

  it('still requires the code after a password reset', async () => {
    const { account } = await members.enrolled();
    const client = members.visitor();
    await client.csrf('/password/forgot');
    const before = await mailCount(members.forum, account.email);
    await client.post('/password/forgot', { email: account.email }, asJson);
    const link = linkIn(await nextMail(members.forum, account.email, before));
    expect((await client.post(link, { password: 'Louder-harbour-43' }, asJson)).status).toBe(200);
    const answer = await client.post('/login', { identifier: account.username, password: 'Louder-harbour-43' }, asJson);
    expect(answer.body).toEqual({ success: true, two_factor: true });
  });
});
