import { describe, expect, it } from 'vitest';
import { Settings } from 'parley-forum';
import { asJson, PAGE, useMembers } from './forum.ts';

const members = useMembers();
const KEY = 'two_factor.required_for_staff';

describe('mandatory two-factor login for staff', () => {
  it('can only be turned on by an administrator who has it on', async () => {
    const { client } = await members.loggedIn('admin');
    const refused = await client.post('/admin/settings/save', { [KEY]: true }, asJson);
    expect([refused.status, refused.body.details[0].field]).toEqual([400, KEY]);
    const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
    await client.post(`${PAGE}/confirm`, { code: members.code(secret) }, asJson);
    expect((await client.post('/admin/settings/save', { [KEY]: true }, asJson)).status).toBe(200);
    expect((await client.get('/admin')).status).toBe(200);
  });

  it('limits staff without it to the rights of members, and redirects them to its page', async () => {
    await members.forum.app.service(Settings).set({ [KEY]: true });
    for (const group of ['admin', 'moderator']) {
      const account = await members.create(group);
      const client = members.visitor();
      await client.csrf();
      const entered = await client.submit('/login', { identifier: account.username, password: 'Quiet-harbour-42' });
      expect([group, entered.status, entered.headers.get('location')]).toEqual([group, 303, PAGE]);
      await client.csrf('/');
      const page = await client.get('/mod/reports');
      expect([group, page.status, page.headers.get('location')]).toEqual([group, 303, PAGE]);
      // A requirement is an info notice, not a success.
      expect((await client.get(PAGE)).text).toContain('<div class="flash"><div class="notice info"');
      expect((await client.get('/mod/reports', asJson)).body).toMatchObject({ code: 'second_factor_needed' });
      expect((await client.post('/admin/settings/save', { 'site.name': 'x' }, asJson)).body).toMatchObject({
        code: 'second_factor_needed',
      });
      const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
      expect((await client.post(`${PAGE}/confirm`, { code: members.code(secret) }, asJson)).status).toBe(200);
      expect((await client.get('/mod/reports')).status).toBe(200);
    }
    const { client: member } = await members.loggedIn();
    expect((await member.get('/mod/reports', asJson)).body.code).toBe('forbidden');
    await members.forum.app.service(Settings).set({ [KEY]: false });
  });

  it('also applies to their API and feed tokens', async () => {
    const settings = members.forum.app.service(Settings);
    await settings.set({ 'pro.enabled': true });
    const { client } = await members.loggedIn('moderator');
    const { token } = (await client.post('/settings/security/api-token', {}, asJson)).body;
    const { token: feedToken } = (await client.post('/settings/feeds', { name: 'Phone' }, asJson)).body;
    const written = { title: 'Among the staff alone', content: 'Words', category_id: 'staff' };
    expect((await client.post('/api/discussions', written)).status).toBe(201);
    const program = members.forum.client({ authorization: `Bearer ${token}` });
    const seen = async (): Promise<readonly boolean[]> => {
      const answers = [
        await program.get('/api/discussions'),
        await program.get(`/feed/json?token=${token}`),
        await members.visitor().get(`/feed/json?token=${feedToken}`),
      ];
      return answers.map(({ text }) => text.includes(written.title));
    };
    expect(await seen()).toEqual([true, true, true]);
    await settings.set({ [KEY]: true });
    expect(await seen()).toEqual([false, false, false]);
    const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
    expect((await client.post(`${PAGE}/confirm`, { code: members.code(secret) }, asJson)).status).toBe(200);
    expect(await seen()).toEqual([true, true, true]);
    await settings.set({ [KEY]: false, 'pro.enabled': false });
  });
});
