import { beforeAll, describe, expect, test } from 'vitest';
import { sql, type Permission } from 'parley-forum';
import type { AuditRecord } from 'parley-forum/plugins/audit';
import { useForum, type Name } from '../discussions/forum.ts';
import { settled } from './settled.ts';

const forum = useForum({ 'approval.words': ['casino'] }, { allowedHosts: ['127.0.0.1'] });
const JSON_ONLY = { accept: 'application/json' };

/** A request to a route, its sender (by default an administrator), and the action that it leaves. */
interface Act {
  readonly leaves: string;
  readonly who?: Name;
  /** A form without JavaScript, or the method of an API call; POST by default. */
  readonly how?: 'form' | 'delete' | 'put' | 'post';
  /** Creates what the request needs; resolves to its path and body. */
  prepare(): Promise<readonly [path: string, body: object]>;
}

const about =
  (leaves: string, body: () => object | Promise<object>): ((path: string) => Act) =>
  (path) => ({ leaves, prepare: async () => [path, await body()] });
const post = async (path: string, body: object): Promise<any> => (await forum.as.root.post(path, body, JSON_ONLY)).body;
const category = async (): Promise<string> =>
  (await post('/admin/categories/save', { name: `Quay ${++count}` })).category.id;
const tag = async (): Promise<string> => (await post('/admin/tags/save', { name: `Rope ${++count}` })).tag.id;
const webhook = async (): Promise<string> =>
  (
    await post('/admin/webhooks/save', {
      name: 'Shed',
      url: 'http://127.0.0.1:9/',
      events: ['post.created'],
      active: false,
    })
  ).webhook.id;
const newProvider = (): object => ({
  slug: `quay-${++count}`,
  name: 'Quay',
  issuer: 'https://127.0.0.1.example.org',
  client_id: 'x',
});
const provider = async (): Promise<string> => (await post('/admin/single-sign-on/save', newProvider())).provider.id;
const deleted = async (): Promise<{ readonly id: string; readonly number: number; readonly postId: string }> => {
  const found = await forum.start('ada', `Lost ${++count}`);
  await forum.as.mia.delete(`/api/discussions/${found.id}`);
  return found;
};
const reply = async (): Promise<string> =>
  (await forum.reply('ada', (await forum.start('bob', `Found ${++count}`)).id, 'A reply')).id;
const reported = async (): Promise<string> =>
  (await forum.as.bob.post('/api/reports', { post_id: await reply(), reason: 'spam' })).body.report.id;
const reportedMessage = async (): Promise<string> => {
  const between = { to: ['bob'], subject: 'Between us', content: 'Rude' };
  const { message } = (await forum.as.ada.post('/api/conversations', between)).body;
  return (await forum.as.bob.post('/api/message-reports', { message_id: message.id, reason: 'abuse' })).body.report.id;
};
const held = async (): Promise<string> => {
  const { id } = await forum.start('bob', `Found ${++count}`);
  return (await forum.as.ada.post('/api/posts', { discussion_id: id, content: 'Casino' })).body.held_post.id;
};
const claimed = async (): Promise<string> => {
  const id = await reported();
  await forum.as.mia.submit(`/mod/reports/${id}/claim`);
  return id;
};
const failedWork = async (): Promise<object> => {
  await forum.app.app.data.all(
    sql`insert into job (id, listener, payload, failed_at) values (gen_random_uuid(), 'nobody/thing', '{}', now())`,
  );
  return { listener: 'nobody/thing' };
};
const withSecondFactor = async (): Promise<object> => {
  await forum.app.app.data.all(
    sql`insert into two_factor (account_id, secret, enabled_at) values (${forum.ids.bob}, 'sealed', now()) on conflict do nothing`,
  );
  return { id: forum.ids.bob };
};
const onForm =
  (leaves: string, prepare: Act['prepare'], who: Name = 'mia') =>
  (): Act => ({ leaves, who, how: 'form', prepare });
const noteOn = async (post: string): Promise<string> =>
  (await forum.as.mia.post(`/api/posts/${post}/notes`, { content: 'Between us' })).body.note.id;
const judged = (verb: string, leaves: string) =>
  onForm(leaves, async () => [`/mod/members/ada/${verb}`, { reason: 'Rude', days: '3' }]);
let count = 0;

/** Every route by which administrators and moderators change something, in an order that works. */
const ACTS: Readonly<Record<string, (path: string) => Act>> = {
  '/admin/settings/save': about('settings.saved', () => ({ 'site.name': 'Quay' })),
  '/admin/settings/reset': about('settings.reset', () => ({ key: 'site.name' })),
  '/admin/plugins/disable': about('plugin.disabled', () => ({ id: 'typing' })),
  '/admin/plugins/enable': about('plugin.enabled', () => ({ id: 'typing' })),
  '/admin/plugins/release': about('plugin.released', () => ({ id: 'typing' })),
  '/admin/jobs/retry': about('work.retried', failedWork),
  '/admin/users/save': about('account.status-changed', () => ({ id: forum.ids.bad, status: 'disabled' })),
  '/admin/users/end-sessions': about('account.sessions-revoked', () => ({ id: forum.ids.bad })),
  '/admin/users/reset-two-factor': about('two-factor.reset', withSecondFactor),
  '/admin/categories/save': about('category.saved', () => ({ name: `Quay ${++count}` })),
  '/admin/categories/delete': about('category.deleted', async () => ({ id: await category() })),
  '/admin/tags/save': about('tag.saved', () => ({ name: `Rope ${++count}` })),
  '/admin/tags/delete': about('tag.deleted', async () => ({ id: await tag() })),
  '/admin/reactions/save': about('reaction-type.saved', () => ({ slug: 'like', enabled: true })),
  '/admin/webhooks/save': about('webhook.saved', () => ({
    name: 'Shed',
    url: 'http://127.0.0.1:9/',
    events: ['post.created'],
    active: false,
  })),
  '/admin/webhooks/test': about('webhook.tested', async () => ({ id: await webhook() })),
  '/admin/webhooks/redeliver': about('webhook.redelivered', async () => {
    const id = await webhook();
    await post('/admin/webhooks/test', { id });
    await post('/admin/webhooks/save', { id, active: true });
    return { webhook_id: id, from: '2020-01-01' };
  }),
  '/admin/webhooks/rotate-secret': about('webhook.secret-rotated', async () => ({ id: await webhook() })),
  '/admin/webhooks/delete': about('webhook.deleted', async () => ({ id: await webhook() })),
  '/admin/single-sign-on/save': about('single-sign-on.provider-saved', newProvider),
  '/admin/single-sign-on/check': about('single-sign-on.provider-checked', async () => ({ id: await provider() })),
  '/admin/single-sign-on/delete': about('single-sign-on.provider-removed', async () => ({ id: await provider() })),
  '/api/discussions/bulk': () => ({
    leaves: 'moderation.discussion.locked',
    who: 'mia',
    prepare: async () => [
      '/api/discussions/bulk',
      { discussion_ids: [(await forum.start('ada', `Lost ${++count}`)).id], action: 'lock' },
    ],
  }),
  '/mod/discussions': onForm('moderation.discussion.locked', async () => [
    '/mod/discussions',
    { 'ids[]': (await forum.start('ada', `Lost ${++count}`)).id, action: 'lock' },
  ]),
  '/api/discussions/:id/restore': () => ({
    leaves: 'moderation.discussion.restored',
    who: 'mia',
    prepare: async () => [`/api/discussions/${(await deleted()).id}/restore`, {}],
  }),
  '/api/discussions/:id/move-posts': () => ({
    leaves: 'moderation.posts.moved',
    who: 'mia',
    async prepare() {
      const { id } = await forum.start('ada', `Whole ${++count}`);
      const { id: post } = await forum.reply('bob', id, 'Apart');
      return [`/api/discussions/${id}/move-posts`, { post_ids: [post], title: 'Apart', category_id: 'general' }];
    },
  }),
  '/api/discussions/:id/merge': () => ({
    leaves: 'moderation.discussion.merged',
    who: 'mia',
    async prepare() {
      const [{ id }, { id: into }] = [await forum.start('ada', 'One'), await forum.start('ada', 'Two')];
      return [`/api/discussions/${id}/merge`, { into }];
    },
  }),
  '/d/:address/move': onForm('moderation.posts.moved', async () => {
    const { id, number } = await forum.start('ada', `Whole ${++count}`);
    const { id: post } = await forum.reply('bob', id, 'Apart');
    return [`/d/${number}/move`, { 'post_ids[]': post, to: 'new', title: 'Apart', category_id: 'general' }];
  }),
  '/api/posts/:id/restore': () => ({
    leaves: 'moderation.post.restored',
    who: 'mia',
    async prepare() {
      const id = await reply();
      await forum.as.mia.delete(`/api/posts/${id}`);
      return [`/api/posts/${id}/restore`, {}];
    },
  }),
  '/p/:id/restore': onForm('moderation.post.restored', async () => {
    const id = await reply();
    await forum.as.mia.delete(`/api/posts/${id}`);
    return [`/p/${id}/restore`, {}];
  }),
  '/d/:address/moderate': onForm('moderation.discussion.locked', async () => [
    `/d/${(await forum.start('ada', `Lost ${++count}`)).number}/moderate`,
    { action: 'lock', reason: 'Too loud' },
  ]),
  '/api/reports/:id': () => ({
    leaves: 'moderation.report.dismissed',
    who: 'mia',
    how: 'put',
    prepare: async () => [`/api/reports/${await reported()}`, { status: 'dismissed' }],
  }),
  '/mod/reports/:id': onForm('moderation.report.resolved', async () => [
    `/mod/reports/${await reported()}`,
    { status: 'resolved' },
  ]),
  '/api/message-reports/:id': () => ({
    leaves: 'moderation.message-report.dismissed',
    who: 'mia',
    how: 'put',
    prepare: async () => [`/api/message-reports/${await reportedMessage()}`, { status: 'dismissed' }],
  }),
  '/mod/message-reports/:id': onForm('moderation.message-report.resolved', async () => [
    `/mod/message-reports/${await reportedMessage()}`,
    { status: 'resolved' },
  ]),
  '/api/approval/:id/approve': () => ({
    leaves: 'moderation.post.approved',
    who: 'mia',
    prepare: async () => [`/api/approval/${await held()}/approve`, {}],
  }),
  '/api/approval/:id/reject': () => ({
    leaves: 'moderation.post.rejected',
    who: 'mia',
    prepare: async () => [`/api/approval/${await held()}/reject`, {}],
  }),
  '/mod/approval/:id': onForm('moderation.post.approved', async () => [
    `/mod/approval/${await held()}`,
    { decision: 'approve' },
  ]),
  '/mod/reports/:id/claim': onForm('report.claimed', async () => [`/mod/reports/${await reported()}/claim`, {}]),
  '/mod/reports/:id/release': onForm('report.released', async () => [`/mod/reports/${await claimed()}/release`, {}]),
  '/mod/reports/:id/notes': onForm('report.noted', async () => [
    `/mod/reports/${await reported()}/notes`,
    { content: 'Between us' },
  ]),
  '/mod/members/:username/notes': onForm('moderation.member.noted', async () => [
    '/mod/members/ada/notes',
    { content: 'Between us' },
  ]),
  '/p/:id/notes': onForm('moderation.post.noted', async () => [`/p/${await reply()}/notes`, { content: 'Between us' }]),
  '/p/:id/notes/remove': onForm('moderation.post.note-removed', async () => {
    const id = await reply();
    return [`/p/${id}/notes/remove`, { note: await noteOn(id) }];
  }),
  '/api/posts/:id/notes': () => ({
    leaves: 'moderation.post.noted',
    who: 'mia',
    prepare: async () => [`/api/posts/${await reply()}/notes`, { content: 'Between us' }],
  }),
  '/api/posts/:id/notes/:note': () => ({
    leaves: 'moderation.post.note-removed',
    who: 'mia',
    how: 'delete',
    async prepare() {
      const id = await reply();
      return [`/api/posts/${id}/notes/${await noteOn(id)}`, {}];
    },
  }),
  '/mod/log/export': onForm('moderation.log-exported', async () => ['/mod/log/export', {}]),
  '/mod/members/:username/addresses': onForm(
    'account.addresses-viewed',
    async () => ['/mod/members/ada/addresses', {}],
    'root',
  ),
  '/u/:username/clear': onForm('profile.cleared', async () => ['/u/ada/clear', {}]),
  '/api/users/:id/profile': () => ({
    leaves: 'profile.cleared',
    who: 'mia',
    how: 'delete',
    prepare: async () => [`/api/users/${forum.ids.ada}/profile`, {}],
  }),
  '/mod/members/:username/warn': judged('warn', 'moderation.member.warned'),
  '/mod/members/:username/suspend': judged('suspend', 'moderation.member.suspended'),
  '/mod/members/:username/release': judged('release', 'moderation.member.released'),
  '/mod/members/:username/ban': judged('ban', 'moderation.member.banned'),
  '/mod/members/:username/unban': judged('unban', 'moderation.member.unbanned'),
};

beforeAll(() => forum.as.root.csrf('/admin'));

const entries = async (): Promise<readonly AuditRecord[]> => {
  await settled(forum.app);
  return (await forum.as.root.get('/admin/audit?limit=100', JSON_ONLY)).body.entries;
};

/** Routes that members may also use for their own content. */
const SHARED = ['/api/discussions/:id/restore', '/api/posts/:id/restore', '/p/:id/restore'];

describe('every change by administrators and moderators leaves an audit entry', () => {
  test('and its route is listed here', () => {
    const STAFF = ['admin', 'moderator'];
    const routes = forum.app.app.routes
      .list()
      .filter(({ method, can }) => method !== 'get' && can !== 'public' && STAFF.includes((can as Permission).default));
    const paths = routes.map(({ surface: { prefix }, path }) =>
      path.startsWith('/admin') || path.startsWith('/mod') || prefix === '/' ? path : prefix + path,
    );
    expect([...new Set([...paths, ...SHARED])].toSorted()).toEqual(Object.keys(ACTS).toSorted());
  });

  test.each(Object.keys(ACTS))('%s', async (route) => {
    const { who = 'root', leaves, how = 'post', prepare } = ACTS[route]!(route);
    const [path, body] = await prepare();
    const before = new Set((await entries()).map(({ id }) => id));
    const client = forum.as[who];
    const sent = {
      form: () => client.submit(path, body as Record<string, string>),
      delete: () => client.delete(path, JSON_ONLY),
      put: () => client.put(path, body, JSON_ONLY),
      post: () => client.post(path, body, JSON_ONLY),
    };
    const answer = await sent[how]();
    expect(answer.status, answer.text).toBeLessThan(400);
    const left = (await entries()).filter(({ id }) => !before.has(id));
    expect(left).toContainEqual(
      expect.objectContaining({ action: leaves, actor: { id: forum.ids[who], username: who } }),
    );
  });
});
