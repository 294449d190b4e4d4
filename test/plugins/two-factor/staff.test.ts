import { describe, expect, it } from 'vitest';
import { Settings } from 'parley-forum';
import { asJson, PAGE, useMembers } from './forum.ts';

const members = useMembers();
const KEY = 'two_factor.required_for_staff';

describe('two-factor login of the staff', () => {
  it('is demanded by an administrator only who has it', async () => {
    const { client } = await members.loggedIn('admin');
    const refused = await client.post('/admin/settings/save', { [KEY]: true }, asJson);
    expect([refused.status, refused.body.details[0].field]).toEqual([400, KEY]);
    const { secret } = (await client.post(`${PAGE}/begin`, {}, asJson)).body;
    await client.post(`${PAGE}/confirm`, { code: members.code(secret) }, asJson);
    expect((await client.post('/admin/settings/save', { [KEY]: true }, asJson)).status).toBe(200);
    expect((await client.get('/admin')).status).toBe(200);
  });

  it('leaves whoever has none the rights of a member, and leads there', async () => {
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
});
