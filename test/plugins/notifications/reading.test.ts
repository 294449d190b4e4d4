import { beforeEach, describe, expect, test, vi } from 'vitest';
import { Live } from 'parley-forum/ports/live';
import { leastOf } from 'parley-forum/testing';
import { Notifications } from 'parley-forum/ports/notifications';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { countOf, listOf, POLL, readAll, settled } from './inbox.ts';

const forum = useForum();
const notify = (count: number, more: object = {}) =>
  forum.app.app.service(Notifications).notify(
    Array.from({ length: count }, (_, at) => ({
      type: 'reply',
      userId: forum.ids.ada,
      actorId: forum.ids.bob,
      url: '/',
      title: `Told ${at}`,
      key: crypto.randomUUID(),
      ...more,
    })),
  );
const page = async (path: string): Promise<string> => expectStatus(await forum.as.ada.get(path), 200).text;

beforeEach(() => readAll(forum.as.ada));

describe('the list', () => {
  test('is paginated, newest first, and can be filtered by unread', async () => {
    await notify(5);
    forum.app.clock.advance(1_000);
    await notify(2);
    const first = (await forum.as.ada.get('/api/notifications?limit=3')).body;
    expect([first.count, first.hasMore, first.notifications.map((one: any) => one.title)]).toEqual([
      3,
      true,
      ['Told 1', 'Told 0', 'Told 4'],
    ]);
    const second = (await forum.as.ada.get(`/api/notifications?limit=3&cursor=${first.next_cursor}`)).body;
    expect(second.notifications.map((one: any) => one.title)).toEqual(['Told 3', 'Told 2', 'Told 1']);
    expect((await listOf(forum.as.ada, '?offset=3&limit=3')).map((one) => one.title)).toEqual([
      'Told 3',
      'Told 2',
      'Told 1',
    ]);
    expect(
      expectStatus(await forum.as.ada.post('/api/notifications/mark-read', { id: first.notifications[0].id }), 200)
        .body,
    ).toEqual({ success: true, count: 6 });
    expect((await listOf(forum.as.ada, '?unread=true')).length).toBe(6);
    for (const wrong of ['limit=0', 'offset=-1', 'cursor=x', 'unread=perhaps'])
      expect((await forum.as.ada.get(`/api/notifications?${wrong}`)).status).toBe(400);
  });

  test('can be filtered by type, and on its page by types with the same name', async () => {
    await notify(1, { title: 'A reply' });
    await notify(1, { type: 'mention', title: 'A mention' });
    for (const type of ['moderation_removed', 'moderation_member']) await notify(1, { type, title: `By ${type}` });
    const titles = async (query: string): Promise<string[]> =>
      (await listOf(forum.as.ada, query)).map(({ title }) => title);
    expect(await titles('?type=mention&unread=true')).toEqual(['A mention']);
    expect(await titles('?type=moderation_member&unread=true')).toEqual(['By moderation_member']);
    expect(await titles('?type=other')).toEqual([]);
    const shown = await page('/notifications?unread=true');
    const [, link] = /<a class="menu-item" href="([^"]*)"><span>Moderation<\/span>/.exec(shown)!;
    expect(shown).not.toContain('<span>Reports</span>');
    const narrowed = await page(link!.replaceAll('&amp;', '&'));
    expect(narrowed).toMatch(/By moderation_removed/);
    expect(narrowed).toMatch(/By moderation_member/);
    expect(narrowed).toMatch(/aria-current="page"><span>Moderation<\/span>/);
    expect(narrowed).not.toMatch(/A mention|A reply/);
  });

  test('takes the same number of SQL statements whatever its length', async () => {
    await notify(20);
    const read = (limit: number) => forum.app.statements(() => forum.as.ada.get(`/api/notifications?limit=${limit}`));
    await read(20);
    expect(await read(19)).toBe(await read(2));
  });

  test('contains only the caller’s own, and requires a login', async () => {
    await notify(1);
    const [{ id }] = (await listOf(forum.as.ada)) as [{ id: string }];
    expect(await listOf(forum.as.bob)).toEqual([]);
    expectStatus(
      await forum.as.bob.post('/api/notifications/mark-read', {
        ids: [id, 'nonsense', '00000000-0000-7000-8000-000000000000'],
      }),
      200,
    );
    expect(await countOf(forum.as.ada)).toBe(1);
    for (const path of ['/api/notifications', '/api/notifications/count'])
      expect((await forum.guest.get(path)).status).toBe(401);
    expect((await forum.guest.post('/api/notifications/mark-read', {})).status).toBe(401);
  });

  test('can be marked as read by ids, or entirely without a body', async () => {
    await notify(4);
    const ids = (await listOf(forum.as.ada, '?unread=true')).map((one) => one.id);
    expect((await forum.as.ada.post('/api/notifications/mark-read', { ids: ids.slice(0, 3) })).body.count).toBe(1);
    expect((await forum.as.ada.post('/api/notifications/mark-read', { ids: ids.slice(0, 3) })).body.count).toBe(1);
    expect((await forum.as.ada.post('/api/notifications/mark-read', { ids: [] })).body.count).toBe(1);
    expect((await forum.as.ada.post('/api/notifications/mark-read')).body).toEqual({ success: true, count: 0 });
    expect((await forum.as.ada.post('/api/notifications/mark-read', { ids: 'all' })).status).toBe(400);
  });
});

describe('counting', () => {
  test('stays correct under concurrent notifications and reads', async () => {
    await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        await notify(5, { group: `g${at % 3}` });
        if (at % 4 === 0) await readAll(forum.as.ada);
      }),
    );
    expect(await countOf(forum.as.ada)).toBe((await listOf(forum.as.ada, '?unread=true&limit=100')).length);
  });

  test('takes as many SQL statements for thousands as for one', async () => {
    await notify(1);
    const count = () => leastOf(() => forum.app.statements(() => countOf(forum.as.ada)));
    const few = await count();
    await notify(1_500);
    expect(await count()).toBe(few);
    expect(await countOf(forum.as.ada)).toBe(1_501);
  });

  test('is signalled to the member’s open pages', async () => {
    const sent = vi.spyOn(forum.app.app.service(Live), 'send');
    await notify(2);
    await readAll(forum.as.ada);
    expect(sent.mock.calls).toEqual([
      ['notifications', { count: 2 }, forum.ids.ada],
      ['notifications', { count: 0 }, forum.ids.ada],
    ]);
    sent.mockRestore();
  });
});

describe('pages', () => {
  test('the bell shows the number, never an outdated one', async () => {
    for (let time = 0; time < 2; time++)
      expect(await page('/')).toMatch(/class="icon-button bell"[^>]*aria-label="Notifications"/);
    await notify(3);
    for (let time = 0; time < 2; time++) expect(await page('/')).toContain('aria-label="Notifications, unread: 3"');
    await readAll(forum.as.ada);
    expect(await page('/')).toMatch(/class="icon-count" aria-hidden="true" hidden/);
    expect((await forum.guest.get('/')).text).not.toContain('icon-button bell');
  });

  test('the list shows what happened, and is marked as read by a form', async () => {
    await notify(1, { title: 'Ropes & <knots>' });
    expect(await page('/notifications')).toMatch(/bob replied in <strong>Ropes &amp; &lt;knots&gt;<\/strong>/);
    expect(await page('/notifications?unread=true')).toContain('Mark all as read');
    const answer = await forum.as.ada.submit('/notifications/read');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/notifications']);
    expect(await page('/notifications?unread=true')).toContain('No notifications yet');
    const guest = await forum.guest.get('/notifications');
    expect([guest.status, guest.headers.get('location')]).toEqual([303, '/login?return_to=%2Fnotifications']);
  });

  test('opening a discussion marks only its own notifications as read', async () => {
    const { id, number } = await forum.start('ada', 'Opened');
    await forum.reply('bob', id, 'Hello');
    await notify(1);
    await settled(forum);
    expect(await countOf(forum.as.ada)).toBe(2);
    for (let time = 0; time < 2; time++) await page(`/d/${number}-opened`);
    await vi.waitFor(async () => expect(await countOf(forum.as.ada)).toBe(1), POLL);
  });

  test('preferences are set by a form, next to the other settings', async () => {
    const settings = await page('/settings/notifications');
    expect(settings).toMatch(
      /<th scope="row">someone mentions me<\/th>(?:(?!<tr>)[^])*name="channels\[mention\]" value="mail" checked>/,
    );
    expect(settings).toMatch(/href="\/settings\/profile"[\s\S]*href="\/settings\/notifications" aria-current="page"/);
    expect(await page('/settings/profile')).toContain('href="/settings/notifications"');
    const saved = await forum.as.ada.submit('/settings/notifications', {
      'channels[mention]': 'off',
      'channels[unheard]': 'off',
      digest: 'weekly',
    });
    expect(saved.status).toBe(303);
    const json = (await forum.as.ada.get('/settings/notifications', { accept: 'application/json' })).body;
    expect(json).toMatchObject({
      success: true,
      digest: 'weekly',
      channels: { reply: 'mail', mention: 'off', quote: 'mail', reaction: 'site', report_handled: 'site' },
    });
    expect(json.channels).not.toHaveProperty('unheard');
    expect((await forum.as.ada.submit('/settings/notifications', { 'channels[mention]': 'pigeon' })).status).toBe(400);
  });

  test('are read and changed by programs, and only what is named changes', async () => {
    const path = '/api/notifications/preferences';
    const before = expectStatus(await forum.as.bob.get(path), 200).body.preferences;
    expect(before).toMatchObject({ channels: { reply: expect.any(String) }, digest: 'none' });
    const change = { channels: { reply: 'off' }, digest: 'weekly' };
    const after = { channels: { ...before.channels, reply: 'off' }, digest: 'weekly' };
    expect(expectStatus(await forum.as.bob.put(path, change), 200).body.preferences).toEqual(after);
    expectStatus(await forum.as.bob.put(path, {}), 200);
    expect((await forum.as.bob.get(path)).body.preferences).toEqual(after);
    expect((await forum.as.bob.get('/settings/notifications', { accept: 'application/json' })).body).toMatchObject(
      after,
    );
    const refused = await forum.as.bob.put(path, { channels: { pigeon: 'site', reply: 'site' } });
    expect([refused.status, refused.body.details]).toEqual([
      400,
      [{ field: 'channels.pigeon', message: 'does not exist' }],
    ]);
    const birds = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`bird${at}`, 'site']));
    const many = await forum.as.bob.put(path, { channels: birds });
    expect([many.status, many.body.details.length]).toEqual([400, 100]);
    expect(many.text.length).toBeLessThan(20_000);
    expect((await forum.as.bob.put(path, { digest: 'hourly' })).status).toBe(400);
    expect((await forum.as.bob.get(path)).body.preferences).toEqual(after);
    expect((await forum.guest.get(path)).status).toBe(401);
  });
});
