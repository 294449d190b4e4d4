import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { EventLog } from 'parley-forum/plugins/events';
import { expectStatus } from '../discussions/forum.ts';
import { settled } from '../events/settled.ts';
import { confirm, exported, looked, places } from '../privacy/forum.ts';
import { send } from '../uploads/forum.ts';
import { useApproval } from './forum.ts';

const { forum, reply, discuss, held, queue, approve, reject, newcomer } = useApproval();
const DAY = 86_400_000;
let lobby: { readonly id: string; readonly number: number };

beforeAll(async () => {
  lobby = await forum.start('mia', 'The lobby');
});

describe('a held post is announced', () => {
  test('to moderators in one notification while it is unread, and to its author once it is decided', async () => {
    const { client } = await newcomer('nora');
    const [one, two] = [await held(reply(client, lobby.id, 'One')), await held(discuss(client, 'Two'))];
    const notified = async (name: 'mia' | 'root' | 'bob') =>
      (await forum.as[name].get('/api/notifications?unread=true')).body.notifications.filter(
        ({ type }: { type: string }) => type === 'post_held',
      );
    await vi.waitUntil(async () => (await notified('mia'))[0]?.count === 2, { timeout: 20_000 });
    expect(await notified('mia')).toMatchObject([
      { title: 'see what it is', actor: null, url: 'http://forum.test/mod/approval', count: 2 },
    ]);
    expect(await notified('bob')).toEqual([]);
    const { post_id: post } = expectStatus(await approve('mia', one), 200).body;
    expectStatus(await reject('mia', two), 200);
    const received = async () => (await client.get('/api/notifications')).body.notifications;
    await vi.waitUntil(async () => (await received()).length === 2, { timeout: 20_000 });
    const byType = (await received()).toSorted((a: { type: string }, b: { type: string }) =>
      a.type < b.type ? -1 : 1,
    );
    expect(byType).toMatchObject([
      { type: 'post_approved', title: 'The lobby', actor: null, post_id: post },
      { type: 'post_rejected', title: 'see what you wrote', actor: null },
    ]);
  });

  test('to API clients of staff in an event without the text, as long as it is held', async () => {
    const { client, id: author } = await newcomer('otto');
    await settled(forum.app);
    const { newest } = await forum.app.app.service(EventLog).bounds();
    const id = await held(reply(client, lobby.id, 'An echidna'));
    await settled(forum.app);
    const events = async (who: { get(path: string): Promise<{ readonly body: any }> }): Promise<any[]> =>
      (await who.get(`/api/events?limit=100&after=${newest}`)).body.events;
    expect(await events(forum.as.mia)).toMatchObject([
      {
        event: 'post.held',
        data: {
          held_post: {
            id,
            discussion_id: lobby.id,
            reason: 'first_posts',
            author: { id: author, username: 'otto' },
          },
        },
      },
    ]);
    expect(JSON.stringify(await events(forum.as.root))).not.toContain('echidna');
    for (const who of [forum.guest, forum.as.bob, client]) expect(await events(who)).toEqual([]);
    expectStatus(await reject('mia', id), 200);
    await settled(forum.app);
    expect(await events(forum.as.mia)).toEqual([]);
  });
});

describe('disabling the plugin', () => {
  test('keeps held posts, and lets new ones appear at once meanwhile', async () => {
    const { client } = await newcomer('paul');
    const id = await held(reply(client, lobby.id, 'Before'));
    await forum.app.app.plugins.disable('approval');
    expectStatus(await reply(client, lobby.id, 'Meanwhile'), 201);
    expect((await forum.as.mia.get('/api/approval')).status).toBe(404);
    expect((await forum.as.mia.get('/mod/approval')).status).toBe(404);
    await forum.app.app.plugins.enable('approval');
    expect((await queue()).map((post) => post.id)).toContain(id);
    expect((await reply(client, lobby.id, 'After')).status).toBe(202);
    expectStatus(await approve('mia', id), 200);
  });
});

describe('a member who', () => {
  test('is banned has no posts left in the queue', async () => {
    const { client, id: author } = await newcomer('quin');
    const id = await held(reply(client, lobby.id, 'Spam'));
    await forum.app.app.service(Accounts).setGroup(author, 'banned', forum.ids.root);
    await vi.waitUntil(async () => !(await queue()).some((post) => post.id === id), { timeout: 20_000 });
    expect((await approve('mia', id)).body.error).toBe('This post was already rejected');
  });

  test('exports their data gets held and rejected posts, and approved ones as posts', async () => {
    const { client } = await newcomer('rosa');
    await held(reply(client, lobby.id, 'Waiting bilby'));
    expectStatus(await reject('mia', await held(reply(client, lobby.id, 'Rejected bilby')), 'No bilbies'), 200);
    expectStatus(await approve('mia', await held(reply(client, lobby.id, 'Approved bilby'))), 200);
    await confirm(client);
    const files = await exported(forum.app, client);
    expect(JSON.parse(files.get('held-posts.json')!)).toMatchObject([
      { status: 'held', draft: { content: 'Waiting bilby' } },
      { status: 'rejected', draft: { content: 'Rejected bilby' }, review_reason: 'No bilbies' },
    ]);
    expect(files.get('posts.json')).toContain('Approved bilby');
  });

  test.each(['anonymise', 'remove'])(
    'deletes their account (%s) deletes their held and rejected posts',
    async (mode) => {
      const name = `leaver${mode.length}`;
      const { client } = await newcomer(name);
      await held(reply(client, lobby.id, `Bandicoot waits ${mode}`));
      expectStatus(await reject('mia', await held(discuss(client, `Bandicoot rejected ${mode}`))), 200);
      expect(await places(forum.app, 'bandicoot')).not.toEqual([]);
      await forum.app.calm();
      await confirm(client);
      expect((await client.submit('/settings/privacy/delete', { username: name, mode })).status).toBe(303);
      forum.app.clock.advance(15 * DAY);
      await looked(forum.app);
      await forum.app.calm();
      expect(await places(forum.app, 'bandicoot')).toEqual([]);
      for (const one of ['mia', 'root', 'bob'] as const) await forum.as[one].login(one, 'Plain-Sailing-42');
    },
  );
});

test('files in held or rejected posts are kept until those are deleted', async () => {
  const { client } = await newcomer('sue');
  const file = async () => {
    const { url } = expectStatus(await send(client, `file ${Math.random()}`, 'x.txt'), 201).body.upload;
    return new URL(url).pathname;
  };
  const [waiting, rejected, unused] = [await file(), await file(), await file()];
  const id = await held(reply(client, lobby.id, `[A file](${waiting})`));
  expectStatus(await reject('mia', await held(reply(client, lobby.id, `[Another](${rejected})`))), 200);
  const there = async () =>
    Promise.all([waiting, rejected, unused].map(async (path) => (await forum.guest.get(path)).status === 200));
  const tidied = async (days: number): Promise<void> => {
    forum.app.clock.advance(days * DAY);
    await forum.app.runSchedule('approval/job:forget');
    await forum.app.runSchedule('uploads/job:tidy');
    await forum.as.mia.login('mia', 'Plain-Sailing-42');
  };
  await tidied(8);
  expect(await there()).toEqual([true, true, false]);
  await tidied(8);
  expect(await there()).toEqual([true, true, false]);
  await tidied(24);
  await tidied(8);
  expect(await there()).toEqual([true, false, false]);
  expectStatus(await approve('mia', id), 200);
  await tidied(40);
  expect(await there()).toEqual([true, false, false]);
});
