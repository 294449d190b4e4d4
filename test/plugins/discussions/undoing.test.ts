import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { moderated } from 'parley-forum/plugins/discussions';
import { expectStatus, install, useForum, type Name } from './forum.ts';

const forum = useForum();
const MINUTE = 60_000;
const moderation: string[] = [];
const listener = definePlugin({
  id: 'test-undoing',
  setup: (_services, plugin) =>
    plugin.on(moderated, ({ entry }) => void moderation.push(entry.action), { awaited: true }),
});
beforeAll(() => install(forum.app, listener));

/** The page after a submitted form. */
const after = async (name: Name, path: string, fields: Record<string, string> = {}): Promise<string> => {
  const sent = await forum.as[name].submit(path, fields);
  expect(sent.status).toBe(303);
  let next = sent;
  while (next.headers.has('location')) next = await forum.as[name].get(next.headers.get('location') ?? '');
  return next.text;
};
/** The target of the button in a notice. */
const undoIn = (html: string): string | undefined =>
  /<div class="flash">.*?<form method="post" action="(\/p\/[^"]+\/restore)">.*?Undo<\/button>/s.exec(html)?.[1];
const isThere = async (path: string): Promise<boolean> => (await forum.guest.get(path)).status === 200;
const replied = async (by: Name) => {
  const { id, number } = await forum.start('ada', 'Said too fast');
  return { id, number, post: (await forum.reply(by, id, 'Words I regret')).id };
};

describe('the notice of a deletion', () => {
  test('has a button with which authors restore their post', async () => {
    const { number, post } = await replied('bob');
    const undo = undoIn(await after('bob', `/p/${post}/delete`));
    expect(undo).toBe(`/p/${post}/restore`);
    expect((await forum.guest.get(`/d/${number}-said-too-fast`)).text).not.toContain('Words I regret');
    expect(await after('bob', undo ?? '')).toContain('The post was restored.');
    expect((await forum.guest.get(`/d/${number}-said-too-fast`)).text).toContain('Words I regret');
  });

  test('restores a discussion, even if it was deleted by its first post', async () => {
    for (const path of [(number: number) => `/d/${number}/delete`, (_: number, post: string) => `/p/${post}/delete`]) {
      const { id, number, postId } = await forum.start('ada', 'All of it');
      const undo = undoIn(await after('ada', path(number, postId)));
      expect([undo, await isThere(`/api/discussions/${id}`)]).toEqual([`/p/${postId}/restore`, false]);
      expect(await after('ada', undo ?? '')).toContain('The discussion was restored.');
      expect(await isThere(`/api/discussions/${id}`)).toBe(true);
    }
  });

  test('is the same for moderators, who may use it at any time', async () => {
    const { post } = await replied('bob');
    const undo = undoIn(await after('mia', `/p/${post}/delete`));
    forum.app.clock.advance(50 * MINUTE);
    expect(await after('mia', undo ?? '')).toContain('The post was restored.');
  });

  test('is shown once, and has no button if nothing can be undone', async () => {
    const { number, post } = await replied('bob');
    expect(undoIn(await after('bob', `/p/${post}/delete`))).toBeDefined();
    expect(undoIn((await forum.as.bob.get(`/d/${number}-said-too-fast`)).text)).toBeUndefined();
    const saved = await after('ada', `/d/${number}/edit`, { title: 'Said too fast', category_id: 'general' });
    expect([saved.includes('class="flash"'), undoIn(saved)]).toEqual([true, undefined]);
  });

  test('leads to no other site, whatever the cookie contains', async () => {
    for (const undo of ['https://elsewhere.test/', '//elsewhere.test/', '/\\elsewhere.test/', 'p/1/restore']) {
      const cookie = `notice=${Buffer.from(`Done.\n${undo}`).toString('base64url')}`;
      const { text } = await forum.guest.get('/', { cookie });
      expect(text).toContain('Done.');
      expect(text).not.toContain('>Undo<');
    }
  });
});

describe('authors', () => {
  test('can restore what they deleted for as long as a setting allows', async () => {
    const { post } = await replied('bob');
    await forum.as.bob.delete(`/api/posts/${post}`);
    forum.app.clock.advance(11 * MINUTE);
    const late = await forum.as.bob.post(`/api/posts/${post}/restore`);
    expect([late.status, late.body.error]).toEqual([
      403,
      'It is too late to restore this yourself; moderators still can',
    ]);
    await forum.app.app.settings.set({ 'posts.undo_minutes': 30 });
    const { body } = expectStatus(await forum.as.bob.post(`/api/posts/${post}/restore`), 200);
    expect(body.post).toMatchObject({ id: post, is_deleted: false, content: 'Words I regret' });
  });

  test('are offered nothing if the setting disallows it', async () => {
    await forum.app.app.settings.set({ 'posts.undo_minutes': 0 });
    const { post } = await replied('bob');
    expect(undoIn(await after('bob', `/p/${post}/delete`))).toBeUndefined();
    await forum.app.app.settings.set({ 'posts.undo_minutes': 10 });
  });

  test('can restore neither what a moderator deleted nor what others wrote', async () => {
    const { id, post } = await replied('bob');
    await forum.as.mia.delete(`/api/posts/${post}`);
    expect((await forum.as.bob.post(`/api/posts/${post}/restore`)).status).toBe(404);
    await forum.as.mia.post(`/api/posts/${post}/restore`);
    await forum.as.bob.delete(`/api/posts/${post}`);
    expect((await forum.as.ada.post(`/api/posts/${post}/restore`)).status).toBe(404);
    await forum.as.mia.delete(`/api/discussions/${id}`);
    for (const path of [`/api/posts/${post}/restore`, `/api/discussions/${id}/restore`])
      expect([path, (await forum.as.bob.post(path)).status]).toEqual([path, 404]);
    expect((await forum.as.ada.post(`/api/discussions/${id}/restore`)).status).toBe(404);
  });

  test('cannot restore a post of a discussion that was locked meanwhile', async () => {
    const { id, post } = await replied('bob');
    await forum.as.bob.delete(`/api/posts/${post}`);
    await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true });
    expect((await forum.as.bob.post(`/api/posts/${post}/restore`)).status).toBe(403);
  });

  test('can restore their discussion by its own route, any number of times', async () => {
    const { id } = await forum.start('ada', 'Twice');
    await forum.as.ada.delete(`/api/discussions/${id}`);
    for (const time of ['first', 'second']) {
      const { status, body } = await forum.as.ada.post(`/api/discussions/${id}/restore`);
      expect([time, status, body.discussion?.title]).toEqual([time, 200, 'Twice']);
    }
    expect((await forum.as.bob.post(`/api/discussions/${id}/restore`)).status).toBe(403);
  });

  test('leave no entry in the moderation log by that', async () => {
    const { id, post } = await replied('bob');
    moderation.length = 0;
    await forum.as.bob.delete(`/api/posts/${post}`);
    await forum.as.bob.post(`/api/posts/${post}/restore`);
    await forum.as.ada.delete(`/api/discussions/${id}`);
    await forum.as.ada.post(`/api/discussions/${id}/restore`);
    expect(moderation).toEqual([]);
    await forum.as.mia.delete(`/api/posts/${post}`);
    await forum.as.mia.post(`/api/posts/${post}/restore`);
    expect(moderation).toEqual(['post.deleted', 'post.restored']);
  });
});
