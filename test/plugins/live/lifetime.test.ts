import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { settled } from '../events/settled.ts';
import { listen } from './listen.ts';

const PASSWORD = 'Plain-Sailing-42';
let forum: TestForum;
let ada: Client;
let adaId: string;

// Heartbeats are sent every 25 s; with fake timers, tests decide when.
beforeAll(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  forum = await startForum();
  ({ id: adaId } = await forum.app
    .service(Accounts)
    .create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD }));
  ada = forum.client();
  await ada.login('ada', PASSWORD);
});
afterAll(async () => {
  vi.useRealTimers();
  await forum?.[Symbol.asyncDispose]();
});

// Streams of a test must not receive earlier events.
beforeEach(() => settled(forum));
const beat = (): Promise<unknown> => vi.advanceTimersByTimeAsync(25_000);
const start = async (title: string): Promise<void> => {
  expect((await ada.post('/api/discussions', { title, content: 'Words', category_id: 'general' })).status).toBe(201);
};

describe('a stream', () => {
  test('sends a heartbeat every 25 s, with its position in the log', async () => {
    await using stream = await listen(forum, undefined);
    await start('Told');
    await stream.until(1);
    const { last } = stream;
    await beat();
    await expect.poll(() => stream.beats).toBe(1);
    await beat();
    await expect.poll(() => stream.beats).toBe(2);
    expect(stream.last).toBe(last);
  });

  test('ends soon after its member logs out, while others stay open', async () => {
    const elsewhere = forum.client();
    await elsewhere.login('ada', PASSWORD);
    await using loggedOut = await listen(forum, elsewhere);
    await using stays = await listen(forum, ada);
    await elsewhere.submit('/logout');
    await beat();
    await expect.poll(() => loggedOut.ended).toBe(true);
    expect([stays.ended, loggedOut.retry]).toEqual([false, 2_000]);
  });

  test('is notified and closed immediately when its session ends; others of the member stay open', async () => {
    const [elsewhere, revoked] = [forum.client(), forum.client()];
    for (const client of [elsewhere, revoked]) await client.login('ada', PASSWORD);
    await using over = await listen(forum, elsewhere);
    await using stays = await listen(forum, ada);
    const signalsOf = ({ signals }: typeof over): readonly string[] => signals.map(({ event }) => event);
    await elsewhere.submit('/logout');
    await expect.poll(() => over.ended).toBe(true);
    expect([signalsOf(over), stays.ended, signalsOf(stays)]).toEqual([['session.ended'], false, []]);
    await using ended = await listen(forum, revoked);
    await using deaf = await listen(forum, revoked, '?events=post.created');
    await ada.submit('/login/confirm', { password: PASSWORD });
    await ada.submit('/settings/security/sessions/revoke-others');
    await expect.poll(() => [ended.ended, deaf.ended]).toEqual([true, true]);
    expect([signalsOf(ended), signalsOf(deaf), signalsOf(stays)]).toEqual([['session.ended'], [], []]);
    // The session has new ids by now, and its stream stays open.
    await beat();
    await expect.poll(() => stays.beats).toBeGreaterThan(0);
    expect(stays.ended).toBe(false);
  });

  test('of a page serves only the member that the page was rendered for', async () => {
    await using other = await listen(forum, undefined, `?viewer=${adaId}`);
    await expect.poll(() => other.ended).toBe(true);
    expect(other.signals.map(({ event }) => event)).toEqual(['session.ended']);
    await using own = await listen(forum, ada, `?viewer=${adaId}`);
    await start('Heard');
    await own.until(1);
    expect(own.signals).toEqual([]);
  });

  test('notifies a page once when the version of pages has changed', async () => {
    const version = async (): Promise<string> => /data-query="version=([\w-]+)/.exec((await ada.get('/')).text)![1]!;
    await using same = await listen(forum, ada, `?version=${await version()}`);
    await using old = await listen(forum, ada, '?version=old');
    await using program = await listen(forum, ada);
    const signalsOf = ({ signals }: typeof old): readonly string[] => signals.map(({ event }) => event);
    await expect.poll(() => signalsOf(old)).toEqual(['site.updated']);
    await forum.app.plugins.disable('emoji');
    try {
      for (const beats of [1, 2]) {
        await beat();
        await expect.poll(() => program.beats).toBe(beats);
      }
      await expect.poll(() => signalsOf(same)).toEqual(['site.updated']);
      expect([signalsOf(old), signalsOf(program)]).toEqual([['site.updated', 'site.updated'], []]);
    } finally {
      await forum.app.plugins.enable('emoji');
    }
  });

  test('ends on the next event after a password change', async () => {
    const elsewhere = forum.client();
    await elsewhere.login('ada', PASSWORD);
    await using stream = await listen(forum, elsewhere);
    await forum.app.service(Accounts).setPassword(adaId, 'Other-Sailing-42');
    ada = forum.client();
    await ada.login('ada', 'Other-Sailing-42');
    await start('Only for those who know the new one');
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.heard).toEqual([]);
  });

  test('does not keep an idle session alive', async () => {
    const idle = forum.client();
    await idle.login('ada', 'Other-Sailing-42');
    forum.clock.advance(3_000_000);
    await using stream = await listen(forum, idle);
    forum.clock.advance(700_000);
    await beat();
    await expect.poll(() => stream.ended).toBe(true);
    ada = forum.client();
    await ada.login('ada', 'Other-Sailing-42');
  });

  test('sends no events of a category while its reader has no access to it', async () => {
    await using stream = await listen(forum, undefined);
    const categories = forum.app.service(Categories);
    const general = categories.all().find(({ slug }) => slug === 'general')!;
    await start('Open');
    await stream.until(1);
    await categories.save({ ...general, view: 'members' });
    await using member = await listen(forum, ada);
    await start('Closed');
    await member.until(1);
    await categories.save({ ...general, view: 'everyone' });
    await start('Open again');
    await stream.until(2);
    expect(stream.heard.map(({ data }) => data.data.discussion.title)).toEqual(['Open', 'Open again']);
  });

  test('follows changes to the permissions of a group', async () => {
    const access = forum.app.service(Access);
    const group = await access.saveGroup({ name: 'Crew', level: 'moderator' });
    await forum.app
      .service(Accounts)
      .create({ username: 'cora', email: 'cora@forum.test', password: PASSWORD, groupId: group.id });
    const root = await forum.app
      .service(Accounts)
      .create({ username: 'root', email: 'root@forum.test', password: PASSWORD, groupId: 'admin' });
    expect(root.groupId).toBe('admin');
    const [cora, admin] = [forum.client(), forum.client()];
    await cora.login('cora', PASSWORD);
    await admin.login('root', PASSWORD);
    await settled(forum);
    await using stream = await listen(forum, cora);
    const staff = async (title: string): Promise<void> =>
      void (await admin.post('/api/discussions', { title, content: 'Words', category_id: 'staff' }));
    await staff('While they are crew');
    await stream.until(1);
    await access.saveGroup({ ...group, level: 'member' });
    await staff('When they no longer are');
    await start('For all');
    await stream.until(2);
    expect(stream.heard.map(({ data }) => data.data.discussion.title)).toEqual(['While they are crew', 'For all']);
  });
});

describe('when the plugin', () => {
  test('restarts, streams end with a retry delay and resume where they were', async () => {
    await using stream = await listen(forum, ada);
    const restarting = forum.app.kernel.restart('live');
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.retry).toBeGreaterThanOrEqual(1_000);
    await start('Meanwhile');
    await restarting;
    await using again = await listen(forum, ada, '', { 'last-event-id': stream.last });
    await again.until(1);
    expect(again.heard[0]!.data.data.discussion.title).toBe('Meanwhile');
  });

  test('is disabled, streams end and the endpoint returns 404, while pages keep working', async () => {
    await using stream = await listen(forum, ada);
    await forum.app.kernel.disable('live');
    await expect.poll(() => stream.ended).toBe(true);
    expect((await ada.get('/api/live')).status).toBe(404);
    const page = await ada.get('/');
    expect([page.status, page.text.includes('<x-live')]).toEqual([200, false]);
    await forum.app.kernel.enable('live');
  });
});

describe('pages', () => {
  test('open a stream for members, and for guests if the setting allows it', async () => {
    const guest = forum.client();
    expect((await ada.get('/')).text).toMatch(
      /<x-live data-eager data-events="[^"]*post\.created[^"]*" data-query="[^"]+"><\/x-live>/,
    );
    expect((await guest.get('/')).text).not.toContain('<x-live');
    await forum.app.settings.set({ 'live.guests': true });
    expect((await guest.get('/')).text).toContain('<x-live');
  });
});

test('a server that shuts down ends its streams first, so that it does not wait for them', async () => {
  vi.useRealTimers();
  const stopping = await startForum();
  const streams = await Promise.all(Array.from({ length: 5 }, () => listen(stopping, undefined)));
  const stopped = stopping[Symbol.asyncDispose]();
  await expect
    .poll(() => streams.map(({ ended }) => ended), { timeout: 1_000 })
    .toEqual([true, true, true, true, true]);
  await stopped;
  expect(streams.every(({ retry }) => retry! >= 1_000)).toBe(true);
});
