import { beforeAll, describe, expect, test } from 'vitest';
import type { Permission } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts, manageAccounts, seeAddresses } from 'parley-forum/plugins/accounts';
import { administer, configure } from 'parley-forum/plugins/admin';
import { reviewPosts } from 'parley-forum/plugins/approval';
import { openModeration } from 'parley-forum/plugins/moderation';
import { handleReports } from 'parley-forum/plugins/reports';
import type { Client } from 'parley-forum/testing';
import { expectStatus, PASSWORD, useForum } from '../discussions/forum.ts';

const forum = useForum({ 'approval.words': ['contraband'] });
const json = { accept: 'application/json' };
let count = 0;

/** A member whose group has these permissions in addition to those of members. */
async function holderOf(
  ...permissions: readonly Permission[]
): Promise<{ readonly client: Client; readonly id: string }> {
  const access = forum.app.app.service(Access);
  const group = await access.saveGroup({ name: `Crew ${++count}`, level: 'member' });
  for (const permission of permissions) await access.decide(group.id, permission, true);
  const username = `crew${count}`;
  const values = { username, email: `${username}@forum.test`, password: PASSWORD, groupId: group.id };
  const { id } = await forum.app.app.service(Accounts).create(values);
  const client = forum.app.client();
  await client.login(username, PASSWORD);
  return { client, id };
}
const statuses = async (client: Client, paths: readonly string[]): Promise<readonly number[]> =>
  Promise.all(paths.map(async (path) => (await client.get(path)).status));

let heldId: string;
let reportId: string;

beforeAll(async () => {
  const { id, postId } = await forum.start('ada', 'A crate');
  const body = { post_id: postId, reason: 'illegal', note: 'Look into the crate' };
  reportId = expectStatus(await forum.as.bob.post('/api/reports', body), 201).body.report.id;
  const held = { discussion_id: id, content: 'Contraband inside' };
  heldId = expectStatus(await forum.as.bob.post('/api/posts', held), 202).body.held_post.id;
});

describe('a single permission grants only what its name says', () => {
  test('reviewing posts: held posts, and nothing else that moderators may do', async () => {
    const { client } = await holderOf(reviewPosts);
    expect((await client.get('/mod/approval')).text).toContain('Contraband inside');
    expect(
      await statuses(client, ['/mod', '/mod/log', '/mod/reports', '/mod/members/bob', '/mod/discussions']),
    ).toEqual(Array.from({ length: 5 }, () => 403));
    const hidden = await forum.start('mia', 'For staff', 'staff');
    expect(await statuses(client, [`/d/${hidden.number}`, '/c/staff'])).toEqual([404, 404]);
    expect((await client.get('/api/events?limit=100')).text).not.toContain('report.created');
    expect((await client.delete(`/api/discussions/${hidden.id}`)).status).toBe(404);
  });

  test('opening the moderators’ pages: neither reports, reporters nor held posts', async () => {
    const { client } = await holderOf(openModeration);
    const { status, text } = await client.get('/mod');
    expect([status, text.includes('bob'), text.includes('/mod/reports')]).toEqual([200, false, false]);
    expect((await client.get('/mod/members/ada')).text).not.toContain('/mod/reports');
    expect(
      await statuses(client, ['/mod/reports', `/mod/reports/${reportId}`, '/mod/approval', `/mod/approval/${heldId}`]),
    ).toEqual([403, 403, 403, 403]);
    const both = await holderOf(openModeration, handleReports);
    expect((await both.client.get('/mod')).text).toContain(`/mod/reports/${reportId}`);
  });

  test('opening the admin panel: its first page, but no settings, plugins or jobs', async () => {
    const { client } = await holderOf(administer);
    const closed = ['/admin/settings', '/admin/settings/security', '/admin/plugins', '/admin/jobs', '/admin/users'];
    expect(await statuses(client, ['/admin', ...closed])).toEqual([200, 403, 403, 403, 403, 403]);
    for (const [path, body] of [
      ['/admin/settings/save', { 'site.name': 'Taken over' }],
      ['/admin/settings/reset', { key: 'site.name' }],
      ['/admin/plugins/disable', { id: 'audit' }],
      ['/admin/jobs/retry', { listener: 'mail' }],
    ] as const)
      expect((await client.post(path, body, json)).status).toBe(403);
    const { client: other } = await holderOf(configure);
    expect(await statuses(other, closed)).toEqual([200, 200, 200, 200, 403]);
  });

  test('managing members: those of lower rank, up to the caller’s own, and no e-mail addresses', async () => {
    const { client, id } = await holderOf(manageAccounts);
    const { text } = await client.get('/admin/users');
    expect([text.includes('ada'), text.includes('@forum.test'), text.includes('/admin/users/save')]).toEqual([
      true,
      false,
      true,
    ]);
    const { users } = expectStatus(await client.get('/admin/users', json), 200).body;
    expect(users.some((user: object) => 'email' in user)).toBe(false);
    expect(expectStatus(await client.get('/admin/users?q=ada%40forum', json), 200).body.users).toEqual([]);
    const save = async (body: object): Promise<number> => (await client.post('/admin/users/save', body, json)).status;
    for (const name of ['ada', 'mia', 'root'] as const) {
      for (const change of [
        { group_id: 'admin' },
        { group_id: 'moderator' },
        { group_id: 'banned' },
        { status: 'disabled' },
      ])
        expect(await save({ id: forum.ids[name], ...change })).toBeOneOf([400, 403]);
      expect((await client.post('/admin/users/end-sessions', { id: forum.ids[name] }, json)).status).toBe(403);
      expect((await client.post('/admin/users/reset-two-factor', { id: forum.ids[name] }, json)).status).toBe(403);
    }
    for (const name of ['ada', 'mia', 'root'] as const)
      expect((await forum.as[name].get('/settings/profile')).status).toBe(200);
    expect(await save({ id: forum.ids.bad, status: 'disabled' })).toBe(200);
    expect(await save({ id: forum.ids.bad, group_id: 'admin' })).toBe(403);
    expect(await save({ id, group_id: 'admin' })).toBe(400);
    const { client: seeing } = await holderOf(manageAccounts, seeAddresses);
    expect((await seeing.get('/admin/users?q=ada%40forum')).text).toContain('ada@forum.test');
  });
});
