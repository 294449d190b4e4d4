import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { Access } from 'parley-forum/plugins/access';
import { leastOf, type Client } from 'parley-forum/testing';
import { useForum, type Name } from '../discussions/forum.ts';

const forum = useForum({ 'reports.rate_limit': 1_000 });

const report = async (name: Name, post: string): Promise<string> =>
  (await forum.as[name].post('/api/reports', { post_id: post, reason: 'spam' })).body.report.id;
const handle = (name: Name, id: string) => forum.as[name].put(`/api/reports/${id}`, { status: 'resolved' });
/**
 * The number next to the link to the reports in the account menu: zero if there is none, undefined if the link is
 * missing too.
 */
const numberOn = async (client: Client, path = '/'): Promise<number | undefined> => {
  const [, item] = /<a class="menu-item" href="\/mod\/reports">(.*?)<\/a>/s.exec((await client.get(path)).text) ?? [];
  return item === undefined ? undefined : Number(/class="count">(\d+)/.exec(item)?.[1] ?? 0);
};
const number = (name: Name, path?: string) => numberOn(forum.as[name], path);
const notified = async (name: Name) =>
  (await forum.as[name].get('/api/notifications?unread=true')).body.notifications.filter(
    (one: { type: string }) => one.type === 'report',
  );
/** Resolves once listeners have handled everything. */
const settled = async (): Promise<void> => void (await forum.app.calm());

beforeEach(async () => {
  for (const name of ['mia', 'root'] as const) {
    for (const { id } of (await forum.as.root.get('/api/reports?status=open&limit=100')).body.reports)
      await handle('root', id);
    await settled();
    await forum.as[name].post('/api/notifications/mark-read', {});
  }
});

describe('the number of open reports', () => {
  test('is shown in the menu of members who handle them, exact after each report, claim and decision', async () => {
    const [one, two] = [(await forum.start('ada', 'One')).postId, (await forum.start('ada', 'Two')).postId];
    for (const path of ['/', '/categories', '/mod']) expect(await number('mia', path)).toBe(0);
    const id = await report('bob', one);
    for (const path of ['/', '/categories', '/mod']) expect(await number('mia', path)).toBe(1);
    const other = await report('bob', two);
    await report('root', one);
    expect([await number('mia'), await number('root')]).toEqual([3, 3]);
    await forum.as.mia.submit(`/mod/reports/${id}/claim`);
    expect(await number('root')).toBe(3);
    await handle('mia', id);
    expect([await number('mia'), await number('root')]).toEqual([1, 1]);
    await forum.as.root.submit(`/mod/reports/${other}`, { status: 'dismissed' });
    expect([await number('mia'), await number('root')]).toEqual([0, 0]);
  });

  test('counts reports that a moderator may see, except on their own posts', async () => {
    await report('bob', (await forum.start('mia', 'By Mia')).postId);
    expect([await number('mia'), await number('root')]).toEqual([0, 1]);
    const group = await forum.app.app.service(Access).saveGroup({ name: 'Insiders', level: 'member' });
    const secret = await forum.app.app
      .service(Categories)
      .save({ name: 'Insiders', view: [group.id], create: 'staff', reply: 'staff' });
    const { id, postId } = await forum.start('ada', 'Goes away');
    await report('bob', postId);
    expect([await number('mia'), await number('root')]).toEqual([1, 2]);
    await forum.as.root.put(`/api/discussions/${id}`, { category_id: secret.id });
    expect([await number('mia'), await number('root')]).toEqual([0, 2]);
  });

  test('is not shown to others, and leaves their pages unchanged', async () => {
    const pages = async () => [
      (await forum.guest.get('/categories')).headers.get('etag'),
      (await forum.as.bob.get('/categories')).headers.get('etag'),
    ];
    const { postId } = await forum.start('ada', 'Quiet');
    const before = await pages();
    await report('root', postId);
    expect([await number('bob'), await numberOn(forum.guest)]).toEqual([undefined, undefined]);
    expect(await pages()).toEqual(before);
    expect(await forum.app.statements(() => forum.guest.get('/categories'))).toBe(0);
    expect(await forum.app.statements(() => forum.as.bob.get('/categories'))).toBe(0);
  });

  test('runs no statement while nothing changes', async () => {
    await report('bob', (await forum.start('ada', 'Warm')).postId);
    await settled();
    for (const path of ['/categories', '/categories', '/settings/profile']) await number('mia', path);
    expect(await forum.app.statements(() => forum.as.mia.get('/categories'))).toBe(0);
    const profile = (name: 'mia' | 'bob') =>
      leastOf(() => forum.app.statements(() => forum.as[name].get('/settings/profile')));
    expect(await profile('mia')).toBe(await profile('bob'));
  });
});

describe('a member who handles reports', () => {
  test('gets one unread notification for many reports, without e-mail', async () => {
    for (const title of ['First', 'Second', 'Third']) await report('bob', (await forum.start('ada', title)).postId);
    await vi.waitUntil(async () => (await notified('mia'))[0]?.count === 3, { timeout: 20_000 });
    expect(await notified('mia')).toMatchObject([
      { title: 'see what was reported', actor: null, url: 'http://forum.test/mod/reports', count: 3 },
    ]);
    expect((await forum.as.mia.get('/notifications')).text).toContain('Posts were reported, 3 times:');
    for (const name of ['ada', 'bob'] as const) expect(await notified(name)).toEqual([]);
    expect((await forum.as.mia.get('/settings/notifications')).text).toMatch(
      /name="channels\[report\]" value="site" checked/,
    );
    expect((await forum.as.bob.get('/settings/notifications')).text).not.toContain('channels[report]');
  });

  test('is not notified of their own reports and posts, or after turning it off', async () => {
    await report('bob', (await forum.start('mia', 'By Mia again')).postId);
    await report('mia', (await forum.start('ada', 'Reported by Mia')).postId);
    await vi.waitUntil(async () => (await notified('root'))[0]?.count === 2, { timeout: 20_000 });
    await settled();
    expect(await notified('mia')).toEqual([]);
    const answer = await forum.as.mia.submit('/settings/notifications', { 'channels[report]': 'off' });
    expect(answer.status).toBe(303);
    await report('bob', (await forum.start('ada', 'Unheard')).postId);
    await vi.waitUntil(async () => (await notified('root'))[0]?.count === 3, { timeout: 20_000 });
    await settled();
    expect(await notified('mia')).toEqual([]);
  });

  test('is notified right after becoming a moderator, and no longer after ceasing to be one', async () => {
    const accounts = forum.app.app.service(Accounts);
    await accounts.setGroup(forum.ids.ada, 'moderator');
    await report('root', (await forum.start('bob', 'For Ada')).postId);
    await forum.as.ada.login('ada', 'Plain-Sailing-42');
    await vi.waitUntil(async () => (await notified('ada')).length === 1, { timeout: 20_000 });
    expect(await number('ada')).toBe(1);
    await accounts.setGroup(forum.ids.ada, 'member');
    await forum.as.ada.login('ada', 'Plain-Sailing-42');
    expect(await number('ada')).toBeUndefined();
  });
});
