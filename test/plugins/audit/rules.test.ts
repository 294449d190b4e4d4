import { beforeAll, expect, test } from 'vitest';
import { commandLine, sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import type { AuditRecord } from 'parley-forum/plugins/audit';
import { uploadFiles } from 'parley-forum/plugins/uploads';
import { useForum } from '../discussions/forum.ts';
import { settled } from './settled.ts';

const forum = useForum({ 'pro.enabled': true }, { allowedHosts: ['receiver.test'] });
const JSON_ONLY = { accept: 'application/json' };

/** The audit entries that `work` leaves, oldest first. */
async function left(work: () => Promise<unknown>): Promise<readonly AuditRecord[]> {
  await settled(forum.app);
  const before = new Set((await entries()).map(({ id }) => id));
  await work();
  await settled(forum.app);
  return (await entries()).filter(({ id }) => !before.has(id)).toReversed();
}
const entries = async (): Promise<readonly AuditRecord[]> =>
  (await forum.as.root.get('/admin/audit?limit=100', JSON_ONLY)).body.entries;
const post = async (path: string, body: object): Promise<any> => {
  const { status, body: answer, text } = await forum.as.root.post(path, body, JSON_ONLY);
  expect(status, text).toBeLessThan(300);
  return answer;
};
const root = (): AuditRecord['actor'] => ({ id: forum.ids.root, username: 'root' });

beforeAll(() => forum.as.root.csrf('/admin'));

test('saving settings logs their keys and who saved them, never their values', async () => {
  const done = await left(async () => {
    await post('/admin/settings/save', {
      'site.name': 'Another name',
      'webhooks.inbound_secret': `whsec_${Buffer.from('k'.repeat(32)).toString('base64')}`,
    });
    await post('/admin/settings/reset', { key: 'site.name' });
  });
  expect(done).toMatchObject([
    { action: 'settings.saved', actor: root(), details: { keys: 'site.name, webhooks.inbound_secret' } },
    { action: 'settings.reset', actor: root(), details: { keys: 'site.name' } },
  ]);
  expect(JSON.stringify(done)).not.toMatch(/Another name|whsec_/);
});

test('switching a plugin logs which one, and what stopped with it', async () => {
  const done = await left(async () => {
    await post('/admin/plugins/disable', { id: 'pro-feeds' });
    await post('/admin/plugins/enable', { id: 'pro-feeds' });
    await post('/admin/plugins/release', { id: 'pro-feeds' });
  });
  const subject = { type: 'plugin', id: 'pro-feeds' };
  expect(done).toMatchObject([
    { action: 'plugin.disabled', actor: root(), subject },
    { action: 'plugin.enabled', actor: root(), subject },
    { action: 'plugin.released', actor: root(), subject },
  ]);
});

test('changing a member logs what was changed, without their e-mail address', async () => {
  const done = await left(async () => {
    await post('/admin/users/save', { id: forum.ids.bad, group_id: 'member' });
    await post('/admin/users/save', { id: forum.ids.bad, group_id: 'banned', status: 'disabled' });
  });
  const subject = { type: 'account', id: forum.ids.bad };
  expect(done.filter(({ action }) => action.startsWith('account.'))).toMatchObject([
    { action: 'account.group-changed', actor: root(), subject, details: { from: 'banned', to: 'member' } },
    { action: 'account.group-changed', actor: root(), subject, details: { from: 'member', to: 'banned' } },
    { action: 'account.status-changed', actor: root(), subject, details: { from: 'active', to: 'disabled' } },
  ]);
  expect(
    done
      .filter(({ action }) => action.startsWith('moderation.'))
      .map(({ action, actor, subject: whom }) => [action, actor?.username, whom?.id]),
  ).toEqual([
    ['moderation.member.unbanned', 'root', forum.ids.bad],
    ['moderation.member.banned', 'root', forum.ids.bad],
  ]);
  expect(JSON.stringify(done)).not.toContain('@');
  expect(done[0]!.subject).toEqual({ ...subject, username: 'bad' });
});

test('saving and deleting categories, tags and reaction types is logged', async () => {
  const done = await left(async () => {
    const { category } = await post('/admin/categories/save', { name: 'Garden' });
    await post('/admin/categories/delete', { id: category.id });
    const { tag } = await post('/admin/tags/save', { name: 'Roses' });
    await post('/admin/tags/delete', { id: tag.id });
    await post('/admin/reactions/save', { slug: 'like', enabled: false });
  });
  expect(done.map(({ action, details }) => [action, details])).toEqual([
    ['category.saved', { name: 'Garden' }],
    ['category.deleted', {}],
    ['tag.saved', { name: 'Roses' }],
    ['tag.deleted', {}],
    ['reaction-type.saved', { enabled: false }],
  ]);
  expect(done.every(({ actor }) => actor?.username === 'root')).toBe(true);
});

test('groups and permissions log what was decided, and by whom', async () => {
  const access = forum.app.app.service(Access);
  const group = { id: 'crew', name: 'Crew', level: 'member' } as const;
  const done = await left(async () => {
    await access.saveGroup(group, forum.ids.root);
    await access.decide('crew', uploadFiles, false, forum.ids.root);
    await access.decide('crew', uploadFiles, undefined, commandLine);
    await expect(access.decide('admin', uploadFiles, false, forum.ids.root)).rejects.toThrow(
      'Admins have every permission',
    );
  });
  const subject = { type: 'group', id: 'crew' };
  expect(done).toMatchObject([
    { action: 'group.saved', actor: root(), subject, details: { name: 'Crew', level: 'member' } },
    { action: 'permission.decided', actor: root(), subject, details: { permission: 'uploads.upload', allowed: false } },
    {
      action: 'permission.decided',
      actor: null,
      subject,
      details: { permission: 'uploads.upload', by: 'command line' },
    },
  ]);
});

test('changing a webhook logs only the host of its URL', async () => {
  const done = await left(async () => {
    const { webhook } = await post('/admin/webhooks/save', {
      name: 'Receiver',
      url: 'https://receiver.test/hook?key=secret',
      events: ['post.created'],
    });
    await post('/admin/webhooks/rotate-secret', { id: webhook.id });
    await post('/admin/webhooks/delete', { id: webhook.id });
  });
  expect(done.map(({ action, details }) => [action, details])).toEqual([
    ['webhook.saved', { name: 'Receiver', host: 'receiver.test', active: true }],
    ['webhook.secret-rotated', {}],
    ['webhook.deleted', { name: 'Receiver' }],
  ]);
  expect(JSON.stringify(done)).not.toMatch(/secret=|key=|whsec_/);
});

test('feed addresses log who created and revoked them, never the token', async () => {
  let token = '';
  const done = await left(async () => {
    const made = (await forum.as.ada.post('/settings/feeds', { name: 'Reader' }, JSON_ONLY)).body;
    token = made.token;
    expect((await forum.as.ada.post('/settings/feeds/revoke', { id: made.feed_token.id }, JSON_ONLY)).status).toBe(200);
  });
  expect(done.map(({ action, actor }) => [action, actor?.username])).toEqual([
    ['feed-token.made', 'ada'],
    ['feed-token.revoked', 'ada'],
  ]);
  expect(token).not.toBe('');
  expect(JSON.stringify(done)).not.toContain(token);
});

test('retrying jobs logs their listener and how many there were', async () => {
  await forum.app.app.data.all(
    sql`insert into job (id, listener, payload, failed_at) values (gen_random_uuid(), 'nobody/thing', '{}', now())`,
  );
  const done = await left(() => post('/admin/jobs/retry', { listener: 'nobody/thing' }));
  expect(done).toMatchObject([
    { action: 'work.retried', actor: root(), subject: { type: 'listener', id: 'nobody/thing' }, details: { count: 1 } },
  ]);
});

test('a refused change logs nothing', async () => {
  const done = await left(async () => {
    expect((await forum.as.ada.post('/admin/settings/save', { 'site.name': 'Mine' }, JSON_ONLY)).status).toBe(403);
    expect((await forum.as.root.post('/admin/settings/save', { 'no.such': 1 }, JSON_ONLY)).status).toBe(400);
    expect((await forum.as.root.post('/admin/tags/delete', { id: 'nothing' }, JSON_ONLY)).status).toBe(404);
  });
  expect(done).toEqual([]);
});
