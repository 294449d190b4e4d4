import { describe, expect, it } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { settled } from '../audit/settled.ts';
import { Members } from '../two-factor/forum.ts';
import { ADMIN, hasSession, JSON_ONLY, LINKED, target, useSignOn } from './forum.ts';

const forum = useSignOn();
const MINUTE = 60_000;

describe('logging in with a provider', () => {
  it('logs in the member who linked the account, and returns to the previous page', async () => {
    const { account } = await forum.linked('ada');
    const client = forum.visitor();
    const answer = await forum.signOn(client, 'ada', '/auth/example', { return_to: '/members' });
    expect([answer.status, target(answer)]).toEqual([303, '/members']);
    expect((await client.get('/settings/security')).status).toBe(200);
    await settled(forum.forum);
    const { entries } = (await forum.root.get('/admin/audit?action=account.logged-in', JSON_ONLY)).body;
    expect(entries[0]).toMatchObject({ action: 'account.logged-in', actor: { id: account.id } });
  });

  it('works without JavaScript: a form button, and a page that redirects by itself', async () => {
    await forum.linked('bob');
    const client = forum.visitor();
    const page = (await client.get('/login?return_to=%2Fmembers')).text;
    expect(page).toContain('formaction="/auth/example"');
    expect(page).toContain('Log in with Example');
    expect(/action="\/auth\/example"[^]*?name="return_to" value="([^"]*)"/.exec(page)?.[1]).toBe('/members');
    const answer = await client.submit('/auth/example', { return_to: '/members' });
    expect(answer.status).toBe(200);
    const [, location = ''] = /^0;url=(.*)$/.exec(answer.headers.get('refresh') ?? '') ?? [];
    expect(answer.text).toContain(`href="${location.replaceAll('&', '&amp;')}"`);
    expect([answer.headers.get('referrer-policy'), answer.headers.get('cache-control')]).toEqual([
      'no-referrer',
      'private, no-store',
    ]);
    const returned = await forum.back(client, await forum.elsewhere.logIn(location, 'bob'));
    expect([returned.status, target(returned)]).toEqual([303, '/members']);
  });

  it('sends a fresh state, nonce and challenge each time', async () => {
    const client = forum.visitor();
    const sent = [await forum.leave(client), await forum.leave(client)];
    const [first, second] = sent.map((location) => Object.fromEntries(new URL(location).searchParams));
    expect(first).toMatchObject({
      client_id: 'the-forum',
      response_type: 'code',
      redirect_uri: 'http://forum.test/auth/example/callback',
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) expect(first![name]).not.toBe(second![name]);
  });

  it('creates a persistent session if requested', async () => {
    await forum.linked('cleo');
    const client = forum.visitor();
    const answer = await forum.signOn(client, 'cleo', '/auth/example', { remember: true });
    expect(answer.headers.getSetCookie().find((line) => line.includes('sid'))).toMatch(/expires=/i);
  });

  it('redirects only within this site', async () => {
    await forum.linked('dora');
    for (const path of ['https://evil.test/', '//evil.test', '/\\evil.test', 'javascript:alert(1)']) {
      const answer = await forum.signOn(forum.visitor(), 'dora', '/auth/example', { return_to: path });
      expect([path, target(answer)]).toEqual([path, '/']);
    }
  });

  it('requires the two-factor code, as after a password', async () => {
    const members = new Members(forum.forum);
    const { account, secret, client: own } = await members.enrolled();
    await forum.signOn(own, 'careful', `${LINKED}/example/link`);
    const client = forum.visitor();
    const answer = await forum.signOn(client, 'careful', '/auth/example', { return_to: '/members' });
    expect(target(answer)).toBe('/login/two-factor');
    expect(hasSession(client)).toBe(false);
    expect(target(await client.get(LINKED))).toContain('/login');
    forum.forum.clock.advance(MINUTE);
    await client.csrf('/login/two-factor');
    const entered = await client.submit('/login/two-factor', { code: members.code(secret) });
    expect([entered.status, target(entered)]).toEqual([303, '/members']);
    expect((await client.get(LINKED)).text).toContain('Account of');
    expect(account.status).toBe('active');
  });

  it('is refused for a disabled account', async () => {
    const { account } = await forum.linked('eve');
    await forum.forum.app.service(Accounts).setStatus(account.id, 'disabled');
    const client = forum.visitor();
    const answer = await forum.signOn(client, 'eve');
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('This account is not active');
    expect(hasSession(client)).toBe(false);
  });

  it('reports a login cancelled at the provider', async () => {
    const client = forum.visitor();
    const answer = await forum.back(client, await forum.elsewhere.cancel(await forum.leave(client)));
    expect(answer.status).toBe(403);
    expect(answer.text).toContain('The login was cancelled at Example');
    expect(answer.text).toContain('href="/login?return_to=%2F"');
  });
});

describe('the callback', () => {
  it('is accepted once', async () => {
    await forum.linked('fay');
    const client = forum.visitor();
    const location = await forum.elsewhere.logIn(await forum.leave(client), 'fay');
    const answers = await Promise.all([forum.back(client, location), forum.back(client, location)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400]);
    const refused = await forum.back(client, location);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('was already used');
  });

  it('is accepted only in the browser that started the login', async () => {
    await forum.linked('gina');
    const [attacker, victim] = [forum.visitor(), forum.visitor()];
    const location = await forum.elsewhere.logIn(await forum.leave(attacker), 'gina');
    await forum.leave(victim);
    const answer = await forum.back(victim, location);
    expect(answer.status).toBe(400);
    expect(hasSession(victim)).toBe(false);
    expect((await forum.back(forum.visitor(), location)).status).toBe(400);
    expect((await forum.back(attacker, location)).status).toBe(303);
  });

  it('is accepted for ten minutes', async () => {
    await forum.linked('hedy');
    const client = forum.visitor();
    const location = await forum.elsewhere.logIn(await forum.leave(client), 'hedy');
    expect((await forum.later(10 * MINUTE + 1, () => forum.back(client, location))).status).toBe(400);
  });

  it('is refused without a known state, or with another code', async () => {
    const client = forum.visitor();
    const location = await forum.elsewhere.logIn(await forum.leave(client), 'ida');
    for (const query of ['', '?code=x', '?code=x&state=y', '?state[a]=b', `?code=x&state=${'a'.repeat(43)}`])
      expect((await client.get(`/auth/example/callback${query}`)).status).toBe(400);
    const url = new URL(location);
    url.searchParams.set('code', 'another');
    expect((await forum.back(client, url.href)).status).toBe(502);
  });

  it('is recorded in the audit log when refused, without the parameters', async () => {
    await forum.visitor().get('/auth/example/callback?code=secret-code&state=secret-state');
    await settled(forum.forum);
    const { entries } = (await forum.root.get('/admin/audit?action=single-sign-on.refused', JSON_ONLY)).body;
    expect(entries[0]).toMatchObject({ subject: { id: forum.provider.id }, details: { reason: 'state' } });
    expect(JSON.stringify([entries, forum.forum.lines])).not.toContain('secret-');
  });

  it('supports several logins in one browser', async () => {
    await forum.linked('judy');
    const client = forum.visitor();
    const first = await forum.leave(client);
    const second = await forum.leave(client);
    for (const location of [first, second])
      expect((await forum.back(client, await forum.elsewhere.logIn(location, 'judy'))).status).toBe(303);
  });

  it('deletes expired attempts and pending identities', async () => {
    const client = forum.visitor();
    await forum.leave(client);
    await forum.signOn(client, 'stranger');
    await forum.later(31 * MINUTE, () => forum.forum.runSchedule('single-sign-on/job:clean'));
    for (const table of ['single_sign_on_attempt', 'single_sign_on_pending'])
      expect(await forum.forum.app.data.all(sql`select 1 from ${sql.ref(table)}`)).toEqual([]);
  });
});

describe('provider buttons', () => {
  const buttons = async (path: string): Promise<boolean> =>
    (await forum.visitor().get(path)).text.includes(' with Third');

  it('are shown to guests while the provider exists and is enabled', async () => {
    expect([await buttons('/login'), await buttons('/register')]).toEqual([false, false]);
    const { id } = await forum.addProvider({ slug: 'third', name: 'Third' });
    expect([await buttons('/login'), await buttons('/register')]).toEqual([true, true]);
    await forum.save({ id, active: false });
    expect([await buttons('/login'), await buttons('/register')]).toEqual([false, false]);
    await forum.save({ id, active: true });
    const client = forum.visitor();
    const location = await forum.leave(client, '/auth/third');
    await forum.save({ id, active: false });
    const answer = await forum.back(client, await forum.elsewhere.logIn(location, 'kate'));
    expect(answer.status).toBe(404);
    await forum.save({ id, active: true });
    const other = await forum.leave(client, '/auth/third');
    await forum.root.post(`${ADMIN}/delete`, { id }, JSON_ONLY);
    expect((await forum.back(client, await forum.elsewhere.logIn(other, 'kate'))).status).toBe(404);
    expect(await buttons('/login')).toBe(false);
  });

  it('require the CSRF token of their form', async () => {
    const client = forum.visitor();
    expect((await client.request('POST', '/auth/example', { form: {} })).status).toBe(403);
  });

  it('disappear with the plugin, and reappear with it', async () => {
    await forum.linked('lena');
    const { kernel } = forum.forum.app;
    const client = forum.visitor();
    const location = await forum.leave(client);
    await kernel.disable('single-sign-on');
    expect((await client.get('/login')).text).not.toContain('Example');
    expect((await client.get('/auth/example/callback')).status).toBe(404);
    await kernel.enable('single-sign-on');
    expect((await forum.back(client, await forum.elsewhere.logIn(location, 'lena'))).status).toBe(303);
  });

  it('are rate-limited per address, as is the callback', async () => {
    await forum.root.login('root', 'Quiet-harbour-42');
    const limit = (value: number) =>
      forum.root.post('/admin/settings/save', { 'single-sign-on.rate_limit': value }, JSON_ONLY);
    expect((await limit(2)).status).toBe(200);
    const client = forum.visitor();
    await forum.leave(client);
    await forum.leave(client);
    const refused = await client.post('/auth/example', {}, JSON_ONLY);
    expect([refused.status, refused.body.error]).toEqual([429, expect.stringContaining('Too many logins')]);
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await client.get('/auth/example/callback?state=x')).status);
    expect(statuses).toEqual([400, 400, 429]);
    await limit(100_000);
  });
});
