import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { definePlugin, Plugins } from 'parley-forum';
import { reactionAdded } from 'parley-forum/ports/reactions';
import { reportHandled } from 'parley-forum/ports/moderation';
import { expectStatus, install, useForum, type Name } from '../discussions/forum.ts';
import { listOf, readAll, settled, shortly } from './inbox.ts';

const forum = useForum();
let react: (name: Name, post: { id: string; discussion_id: string }, author: Name, reaction?: string) => Promise<void>;
let handle: (id: string, post: { id: string; discussion_id: string }, reporter: Name) => Promise<void>;
const unread = async (name: Name) => {
  await settled(forum);
  return listOf(forum.as[name], '?unread=true');
};

/** Replaces the plugins that emit these actions. */
const raiser = definePlugin({
  id: 'test-raiser',
  hooks: [reactionAdded, reportHandled],
  setup(_services, plugin) {
    react = (name, post, author, reaction = 'like') =>
      plugin.emit(reactionAdded, {
        reaction,
        emoji: '👍',
        post_id: post.id,
        discussion_id: post.discussion_id,
        author_id: forum.ids[author],
        actor: { id: forum.ids[name], username: name },
      });
    handle = (id, post, reporter) =>
      plugin.emit(reportHandled, {
        report: {
          id,
          lead_id: id,
          post_id: post.id,
          discussion_id: post.discussion_id,
          reporter_id: forum.ids[reporter],
          author_id: forum.ids.ada,
          outcome: 'resolved' as const,
          handler_id: forum.ids.mia,
          note: '',
          handled_at: '2026-01-15T12:00:00.000Z',
        },
      });
  },
});

beforeAll(async () => {
  const { app } = forum.app;
  for (const { id } of app.service(Plugins).list())
    if (id === 'moderation' || id === 'reactions' || id === 'reports') await app.kernel.disable(id);
  await install(forum.app, raiser);
});
beforeEach(async () => {
  for (const name of ['ada', 'bob'] as const) await readAll(forum.as[name]);
});

describe('reactions', () => {
  test('notify the author, once for all to one post', async () => {
    const { id, number } = await forum.start('ada', 'Liked');
    const post = await forum.reply('bob', id, 'Hello');
    await react('mia', post, 'bob');
    await settled(forum);
    await react('root', post, 'bob');
    const [one, ...others] = await unread('bob');
    expect([shortly([one]), others]).toEqual([[['reaction', 'Liked', 2, false]], []]);
    expect(one).toMatchObject({
      post_id: post.id,
      url: `http://forum.test/d/${number}/2`,
      actor: { username: 'root' },
    });
    expect((await forum.as.bob.get('/notifications')).text).toContain(
      'root and mia reacted to your post in <strong>Liked</strong>',
    );
  });

  test('of one member to one post are counted, but the member is named once', async () => {
    const { id } = await forum.start('ada', 'Liked and loved');
    const post = await forum.reply('bob', id, 'Hello');
    await react('mia', post, 'bob');
    await settled(forum);
    await react('mia', post, 'bob', 'love');
    const [one] = await unread('bob');
    expect([one.count, one.actor_count]).toEqual([2, 1]);
    expect((await forum.as.bob.get('/notifications')).text).toContain(
      '2 reactions, the last by mia, to your post in <strong>Liked and loved</strong>',
    );
  });

  test('do not notify oneself or when repeated, and disappear with their post', async () => {
    const { id } = await forum.start('ada', 'Again');
    const post = await forum.reply('bob', id, 'Hello');
    await react('bob', post, 'bob');
    for (let time = 0; time < 3; time++) await react('mia', post, 'bob');
    expect(shortly(await unread('bob'))).toEqual([['reaction', 'Again', 1, false]]);
    await react('mia', post, 'bob', 'love');
    expect(shortly(await unread('bob'))).toEqual([['reaction', 'Again', 2, false]]);
    expectStatus(await forum.as.mia.delete(`/api/posts/${post.id}`), 200);
    expect(await unread('bob')).toEqual([]);
    await react('root', post, 'bob');
    expect(await unread('bob')).toEqual([]);
  });
});

describe('a handled report', () => {
  test('notifies its reporter, even if the post was deleted', async () => {
    const { id } = await forum.start('ada', 'Reported');
    const post = await forum.reply('mia', id, 'Spam');
    expectStatus(await forum.as.mia.delete(`/api/posts/${post.id}`), 200);
    await handle('r1', post, 'bob');
    await handle('r1', post, 'bob');
    expect(shortly(await unread('bob'))).toEqual([['report_handled', 'Reported', 1, false]]);
    expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
    expect(await unread('bob')).toEqual([]);
  });

  test('reveals nothing of a deleted discussion', async () => {
    const { id, postId } = await forum.start('ada', 'Gone');
    expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
    await handle('r2', { id: postId, discussion_id: id }, 'bob');
    const [one] = await unread('bob');
    expect(one).toMatchObject({
      type: 'report_handled',
      title: 'something that is gone',
      discussion_id: null,
      post_id: null,
      url: 'http://forum.test/notifications',
    });
  });
});

test('a restarted plugin continues where it was', async () => {
  const { id } = await forum.start('ada', 'Meanwhile');
  const { kernel } = forum.app.app;
  await forum.reply('bob', id, 'Before');
  await settled(forum);
  await kernel.restart('notifications');
  await forum.reply('bob', id, 'After');
  expect(shortly(await unread('ada'))).toEqual([['reply', 'Meanwhile', 2, false]]);
});
