import { describe, expect, it } from 'vitest';
import { sealedStores, Secrets, sql } from 'parley-forum';
import { settled } from '../audit/settled.ts';
import { ADMIN, JSON_ONLY, PASSWORD, target, useSignOn } from './forum.ts';
import { CLIENT } from './identity-provider.ts';

const forum = useSignOn();
const problems = async (body: object): Promise<readonly string[]> => {
  const { details = [] } = (await forum.save(body)).body;
  return details.map(({ field, message }: { field: string; message: string }) => `${field} ${message}`);
};
const valid = { slug: 'fourth', name: 'Fourth', issuer: 'https://login.example.org', client_id: 'x' };

describe('identity providers', () => {
  it('can only be viewed and changed by administrators', async () => {
    await forum.create('ada');
    const [member, guest] = [forum.visitor(), forum.visitor()];
    await member.login('ada', PASSWORD);
    expect((await member.get(ADMIN)).status).toBe(403);
    expect(target(await guest.get(ADMIN))).toContain('/login');
    for (const path of ['save', 'check', 'delete'])
      expect((await member.post(`${ADMIN}/${path}`, { id: forum.provider.id }, JSON_ONLY)).status).toBe(403);
  });

  it('never reveal their secret again, on pages, in the API, or in logs', async () => {
    const page = await forum.root.get(`${ADMIN}?id=${forum.provider.id}`);
    expect(page.text).toContain('One is stored and not shown');
    expect(page.text).toContain('http://forum.test/auth/example/callback');
    await forum.save({ id: forum.provider.id, name: 'Example', client_secret: '' });
    await settled(forum.forum);
    const { providers } = (await forum.root.get(ADMIN, JSON_ONLY)).body;
    expect(providers[0]).toMatchObject({ slug: 'example', has_secret: true });
    const audit = (await forum.root.get('/admin/audit', JSON_ONLY)).text;
    const rows = await forum.forum.app.data.all(sql`select * from single_sign_on_provider`);
    const seen = JSON.stringify([page.text, providers, audit, rows, forum.forum.lines]);
    expect(seen).not.toContain(CLIENT.secret);
    // The stored secret is still in use.
    expect(target(await forum.signOn(forum.visitor(), 'bob'))).toBe('/login/link');
  });

  it('are resealed with a new root key', async () => {
    const { app } = forum.forum;
    const secrets = app.service(Secrets);
    const stored = async () =>
      (await app.data.one(sql<{ secret: string }>`select client_secret as secret
      from single_sign_on_provider where slug = 'example'`))!.secret;
    const before = await stored();
    await app.data.transaction(async () => {
      for (const { value } of app.extensions.read(sealedStores))
        await value.reseal((text) => secrets.seal(secrets.open(text)));
    });
    expect(await stored()).not.toBe(before);
    expect(secrets.open(await stored())).toBe(CLIENT.secret);
  });

  it('are validated, and a refused form is returned without the secret', async () => {
    expect(await problems({})).toEqual(['slug is required']);
    expect(await problems({ ...valid, slug: 'Not good' })).toEqual([expect.stringContaining('slug must have')]);
    expect(await problems({ ...valid, slug: 'example' })).toEqual(['slug is the short name of another provider']);
    expect(await problems({ ...valid, name: ' ' })).toEqual(['name is required']);
    expect(await problems({ ...valid, name: 'Exa\u202Emple' })).toEqual(['name has invisible characters']);
    expect(await problems({ ...valid, client_id: '' })).toEqual(['client_id is required']);
    expect(await problems({ ...valid, scopes: 'openid "x' })).toEqual([expect.stringContaining('scopes')]);
    const page = await forum.root.submit(`${ADMIN}/save`, { ...valid, issuer: 'nowhere', client_secret: 'top-secret' });
    expect([page.status, page.text.includes('value="Fourth"')]).toEqual([400, true]);
    expect(page.text).not.toContain('top-secret');
  });

  it.each([
    ['nowhere', 'is not an address'],
    ['http://login.example.org', 'must begin with https://'],
    [
      'https://10.0.0.1',
      'is not on the public internet; an operator can allow the host in the variable SSO_ALLOWED_HOSTS',
    ],
    ['https://localhost', 'must be a full host name'],
    ['https://login.example.org:8443', 'must use one of the ports 443'],
    ['https://a:b@login.example.org', 'must not contain a name or password'],
    ['https://login.example.org?x=1', 'is not an address'],
  ])('cannot point to an internal network: %s', async (issuer, words) => {
    expect(await problems({ ...valid, issuer })).toEqual([expect.stringContaining(words)]);
  });

  it('keep their issuer while members have linked accounts, which others could take over', async () => {
    await forum.linked('cleo');
    const moved = { id: forum.provider.id, issuer: 'https://login.example.org' };
    expect(await problems(moved)).toEqual([
      expect.stringContaining('issuer cannot be changed while members have linked'),
    ]);
    const { id } = await forum.addProvider({ slug: 'third', name: 'Third', issuer: 'https://login.example.org' });
    const { issuer } = forum.elsewhere;
    expect((await forum.save({ id, issuer, client_secret: CLIENT.secret })).status).toBe(200);
    await forum.root.post(`${ADMIN}/delete`, { id }, JSON_ONLY);
  });

  it('require a new secret for another issuer', async () => {
    const { id, issuer } = await forum.addProvider({ slug: 'third', name: 'Third' });
    const moved = { id, issuer: 'https://login.example.org' };
    expect(await problems(moved)).toEqual(['client_secret must be entered again for a different issuer']);
    expect(await problems({ ...moved, client_secret: '' })).toHaveLength(1);
    expect((await forum.root.get(ADMIN, JSON_ONLY)).body.providers).toContainEqual(
      expect.objectContaining({ id, issuer }),
    );
    expect((await forum.save({ ...moved, client_secret: 'another' })).status).toBe(200);
    await forum.root.post(`${ADMIN}/delete`, { id }, JSON_ONLY);
  });

  it('show the result of a check', async () => {
    const page = await forum.root.submit(`${ADMIN}/check`, { id: forum.provider.id });
    expect(page.status).toBe(200);
    expect(page.text).toContain('and says the same of itself');
    expect(page.text).toContain('It knows PKCE with S256');
    const { id } = await forum.addProvider({ slug: 'other', name: 'Other', issuer: 'http://127.0.0.1:1' });
    const { findings } = (await forum.root.post(`${ADMIN}/check`, { id }, JSON_ONLY)).body;
    expect(findings).toEqual([{ state: 'bad', text: expect.stringContaining('It cannot be reached') }]);
    const { issuer } = forum.elsewhere;
    await forum.save({ id, issuer: `${issuer}/nothing`, client_secret: CLIENT.secret });
    expect((await forum.root.post(`${ADMIN}/check`, { id }, JSON_ONLY)).body.findings).toEqual([
      { state: 'bad', text: `There is no document at ${issuer}/nothing/.well-known/openid-configuration.` },
    ]);
    const client = forum.visitor();
    await client.csrf();
    expect((await client.submit('/auth/other')).status).toBe(502);
  });

  it('show before deletion who would be unable to log in, and are deleted with their links', async () => {
    const client = forum.visitor();
    await forum.signOn(client, 'dora');
    await client.csrf('/login/link');
    await client.submit('/register/link', { username: 'dora', email: 'dora@elsewhere.test' });
    const page = (await forum.root.get(`${ADMIN}?id=${forum.provider.id}`)).text;
    expect(page).toContain('The links of 2 members go with it');
    expect(page).toContain('One member could no longer log in');
    expect((await forum.root.post(`${ADMIN}/delete`, { id: forum.provider.id }, JSON_ONLY)).status).toBe(200);
    await settled(forum.forum);
    const { entries } = (await forum.root.get('/admin/audit?action=single-sign-on.provider-removed', JSON_ONLY)).body;
    expect(entries[0].details).toMatchObject({ name: 'Example', members: 2 });
    expect(await forum.forum.app.data.all(sql`select 1 from single_sign_on_identity`)).toEqual([]);
    const { id } = await forum.addProvider();
    expect(target(await forum.signOn(forum.visitor(), 'cleo'))).toBe('/login/link');
    expect((await forum.root.post(`${ADMIN}/delete`, { id }, JSON_ONLY)).status).toBe(200);
  });

  it('are limited to twenty', async () => {
    const statuses = new Set<number>();
    for (let n = 0; n < 19; n++) statuses.add((await forum.save({ ...valid, slug: `p-${n}` })).status);
    expect([...statuses]).toEqual([201]);
    expect((await forum.save({ ...valid, slug: 'p-20' })).status).toBe(409);
  });
});
