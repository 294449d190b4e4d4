import { beforeEach, describe, expect, test } from 'vitest';
import { Categories } from 'parley-forum/plugins/discussions';
import { leastOf } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

/** Moderators' notes on posts. */
const forum = useForum();
let number: number;
let post: string;
let discussion: string;
const add = (who: Name, content: string, of = post) => forum.as[who].post(`/api/posts/${of}/notes`, { content });
const notes = async (who: Name = 'mia') => (await forum.as[who].get(`/api/posts/${post}/notes`)).body.notes;
const page = async (who: Name, path: string) => (await forum.as[who].get(path)).text;

beforeEach(async () => {
  ({ id: discussion, number, postId: post } = await forum.start('ada', 'Barnacles'));
});

describe('a note on a post', () => {
  test('is written from the menu of the post, and shown below it to moderators, who may remove their own', async () => {
    expect(await page('mia', `/p/${post}/menu`)).toContain(`href="/p/${post}/notes"`);
    const sent = await forum.as.mia.submit(`/p/${post}/notes`, { content: ' Sells <b>hulls</b> ' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/d/${number}/1`]);
    expect(await page('root', `/d/${number}-barnacles`)).toMatch(
      /<aside class="staff-notes"[^]*Sells &lt;b&gt;hulls&lt;\/b&gt;[^]*<bdi>mia<\/bdi>/,
    );
    const [note] = await notes();
    expect(note).toMatchObject({ content: 'Sells <b>hulls</b>', author: { username: 'mia' }, can_remove: true });
    expect(await page('mia', `/p/${post}/notes`)).toContain(`name="note" value="${note.id}"`);
    expect((await forum.as.mia.submit(`/p/${post}/notes/remove`, { note: note.id })).status).toBe(303);
    expect(await notes()).toEqual([]);
    expect(await page('mia', `/d/${number}-barnacles`)).not.toContain('staff-notes');
  });

  test('is not for the author, other members or guests', async () => {
    expectStatus(await add('mia', 'Quiet word'), 201);
    for (const path of [`/d/${number}-barnacles`, `/p/${post}/menu`, '/settings/standing', '/notifications'])
      for (const who of ['ada', 'bob', 'bad'] as const)
        expect(await page(who, path), `${who} ${path}`).not.toMatch(/Quiet word|staff-notes|\/notes/);
    expect((await forum.guest.get(`/d/${number}-barnacles`)).text).not.toMatch(/Quiet word|staff-notes/);
    for (const who of ['ada', 'bob', 'bad'] as const) {
      expect((await forum.as[who].get(`/p/${post}/notes`)).status).toBe(403);
      expect((await forum.as[who].submit(`/p/${post}/notes`, { content: 'x' })).status).toBe(403);
      expect((await forum.as[who].submit(`/p/${post}/notes/remove`, { note: 'x' })).status).toBe(403);
      expect((await add(who, 'x')).status).toBe(403);
      expect((await forum.as[who].get(`/api/posts/${post}/notes`)).status).toBe(403);
    }
    expect(await notes()).toHaveLength(1);
  });

  test('is out of reach where the moderator may not see the post', async () => {
    const hidden = await forum.app.app.service(Categories).save({ name: 'Owners', view: [] });
    const { postId } = await forum.start('root', 'Hidden', hidden.slug);
    const { note } = expectStatus(await add('root', 'Secret', postId), 201).body;
    expect((await add('mia', 'x', postId)).status).toBe(404);
    expect((await forum.as.mia.get(`/api/posts/${postId}/notes`)).status).toBe(404);
    expect((await forum.as.mia.get(`/p/${postId}/notes`)).status).toBe(404);
    expect((await forum.as.mia.delete(`/api/posts/${postId}/notes/${note.id}`)).status).toBe(404);
    // Nor by way of a post that they may see.
    expect((await forum.as.mia.delete(`/api/posts/${post}/notes/${note.id}`)).status).toBe(404);
  });

  test('is removed by its author or an administrator, not by another moderator', async () => {
    const { note } = expectStatus(await add('root', 'Mine'), 201).body;
    expect((await notes())[0].can_remove).toBe(false);
    expect((await forum.as.mia.delete(`/api/posts/${post}/notes/${note.id}`)).status).toBe(403);
    const { note: other } = expectStatus(await add('mia', 'Theirs'), 201).body;
    for (const { id } of [note, other])
      expect((await forum.as.root.delete(`/api/posts/${post}/notes/${id}`)).status).toBe(200);
    expect((await forum.as.root.delete(`/api/posts/${post}/notes/${note.id}`)).status).toBe(404);
    expect(await notes()).toEqual([]);
  });

  test('is in the moderation log without its text, and the member is not told', async () => {
    const { note } = expectStatus(await add('mia', 'Unsaid'), 201).body;
    await forum.as.mia.delete(`/api/posts/${post}/notes/${note.id}`);
    for (const action of ['post.noted', 'post.note-removed']) {
      const log = await page('mia', `/mod/log?action=${action}&member=ada`);
      expect(log).toContain('Barnacles');
      expect(log).not.toContain('Unsaid');
    }
    expect(await page('ada', '/settings/standing')).not.toContain('Note on a post');
  });

  test('goes along when the post moves to another discussion', async () => {
    const reply = await forum.reply('bob', discussion, 'Elsewhere');
    expectStatus(await add('mia', 'Came along', reply.id), 201);
    const to = await forum.start('ada', 'Moorings');
    expectStatus(
      await forum.as.mia.post(`/api/discussions/${discussion}/move-posts`, {
        post_ids: [reply.id],
        discussion_id: to.id,
      }),
      200,
    );
    expect(await page('mia', `/d/${to.number}-moorings`)).toContain('Came along');
    expect(await page('mia', `/d/${number}-barnacles`)).not.toContain('Came along');
  });

  test('needs some text, of which there may be 2,000 characters, and a post has at most 20', async () => {
    for (const content of [' ', 'x'.repeat(2_001)]) expect((await add('mia', content)).status).toBe(400);
    const asked = await forum.as.mia.submit(`/p/${post}/notes`, { content: ' ' });
    expect([asked.status, asked.text.includes('is required')]).toEqual([400, true]);
    for (let at = 0; at < 20; at++) expectStatus(await add('mia', `Note ${at}`), 201);
    expect((await add('mia', 'One more')).status).toBe(409);
  });

  test('costs as many SQL statements on a page with many noted posts as on one with a single one', async () => {
    const least = () => leastOf(() => forum.app.statements(() => forum.as.mia.get(`/d/${number}-barnacles`)));
    const replies = [await forum.reply('bob', discussion, 'One'), await forum.reply('bob', discussion, 'Two')];
    await add('mia', 'First');
    const few = await least();
    for (const { id } of replies) await add('root', 'More', id);
    expect(await least()).toBe(few);
  });
});
