import { describe, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { leastOf } from 'parley-forum/testing';
import { useForum, type Name } from './forum.ts';

const forum = useForum();
const history = async (id: string, name: Name = 'ada', query = '') =>
  (await forum.as[name].get(`/api/posts/${id}/revisions${query}`)).body;
const edit = (id: string, content: string, name: Name = 'ada', more: object = {}) =>
  forum.as[name].put(`/api/posts/${id}`, { content, ...more });

describe('the history of a post', () => {
  test('has each edit with its editor, its time and, for moderators, the reason', async () => {
    const { id, postId } = await forum.start('ada', 'Sails');
    const reply = await forum.reply('ada', id, 'First');
    expect((await history(reply.id)).revisions).toEqual([]);
    await edit(reply.id, 'Second');
    await edit(reply.id, 'Third', 'mia', { reason: ' No names ' });
    const { revisions, count, hasMore } = await history(reply.id);
    expect([count, hasMore]).toEqual([2, false]);
    expect(revisions).toMatchObject([
      {
        post_id: reply.id,
        editor: { username: 'mia' },
        reason: 'No names',
        content: 'Second',
        title: null,
        category_id: null,
      },
      { post_id: reply.id, editor: { username: 'ada' }, reason: '', content: 'First' },
    ]);
    expect((await history(postId)).revisions).toEqual([]);
  });

  test('has no entry if nothing changed or the edit was refused', async () => {
    const { postId } = await forum.start('ada', 'Ropes');
    await edit(postId, 'About Ropes');
    expect((await edit(postId, '')).status).toBe(400);
    expect((await edit(postId, 'Mine now', 'bob')).status).toBe(403);
    expect((await history(postId)).revisions).toEqual([]);
  });

  test('includes the discussion’s title and category for its first post', async () => {
    const { id, postId } = await forum.start('ada', 'Old title');
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'New title' });
    const general = (await forum.as.ada.get('/api/categories/general')).body.category.id;
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'help', is_pinned: true });
    expect((await history(postId)).revisions).toMatchObject([
      { title: null, category_id: general, content: null, editor: { username: 'mia' } },
      { title: 'Old title', category_id: null },
    ]);
  });

  test('is returned in pages, newest first', async () => {
    const { postId } = await forum.start('ada', 'Many');
    for (let at = 0; at < 5; at++) await edit(postId, `Version ${at}`);
    const first = await history(postId, 'ada', '?limit=2');
    expect(first).toMatchObject({
      count: 2,
      hasMore: true,
      revisions: [{ content: 'Version 3' }, { content: 'Version 2' }],
    });
    expect((await history(postId, 'ada', `?limit=2&cursor=${first.next_cursor}`)).revisions).toMatchObject([
      { content: 'Version 1' },
      { content: 'Version 0' },
    ]);
    expect(await history(postId, 'ada', '?offset=4')).toMatchObject({
      count: 1,
      hasMore: false,
      revisions: [{ content: 'About Many' }],
    });
    for (const query of ['?limit=0', '?cursor=nonsense', '?offset=-1'])
      expect((await forum.as.ada.get(`/api/posts/${postId}/revisions${query}`)).status).toBe(400);
  });
});

describe('the history of a post is readable', () => {
  test('by its author and moderators; for others it does not exist', async () => {
    const { id } = await forum.start('ada', 'Private');
    const reply = await forum.reply('ada', id, 'Secret marmalade');
    await edit(reply.id, 'Nothing');
    for (const path of [`/api/posts/${reply.id}/revisions`, `/p/${reply.id}/history`]) {
      for (const name of ['ada', 'mia', 'root'] as const)
        expect((await forum.as[name].get(path)).text).toContain('marmalade');
      for (const client of [forum.as.bob, forum.as.bad, forum.guest]) {
        const answer = await client.get(path);
        expect([answer.status, answer.text.includes('marmalade')]).toEqual([404, false]);
      }
    }
    const missing = (await forum.as.bob.get('/api/posts/00000000-0000-7000-8000-000000000000/revisions')).body;
    expect({ ...(await forum.as.bob.get(`/api/posts/${reply.id}/revisions`)).body, request_id: '' }).toEqual({
      ...missing,
      request_id: '',
    });
    await forum.as.mia.delete(`/api/posts/${reply.id}`);
    expect((await forum.as.ada.get(`/api/posts/${reply.id}/revisions`)).status).toBe(404);
    expect((await forum.as.mia.get(`/api/posts/${reply.id}/revisions`)).status).toBe(200);
  });

  test('by all readers of the post if a setting allows it, without categories hidden from them', async () => {
    const { id, postId } = await forum.start('mia', 'From the back room', 'staff');
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'general' });
    await edit(postId, 'Changed', 'mia');
    const settings = forum.app.app.service(Settings);
    expect((await forum.guest.get(`/api/posts/${postId}/revisions`)).status).toBe(404);
    await settings.set({ 'posts.public_history': true });
    const { text, body } = await forum.guest.get(`/api/posts/${postId}/revisions`);
    expect(body.revisions).toMatchObject([{ content: 'About From the back room' }, { category_id: null }]);
    expect(text).not.toContain((await forum.as.mia.get('/api/categories/staff')).body.category.id);
    const page = (await forum.guest.get(`/p/${postId}/history`)).text;
    expect(page).toContain('another category');
    expect(page).not.toContain('>Staff<');
    const hidden = await forum.start('mia', 'Stays there', 'staff');
    await edit(hidden.postId, 'Changed', 'mia');
    expect((await forum.as.bob.get(`/api/posts/${hidden.postId}/revisions`)).status).toBe(404);
    await settings.set({ 'posts.public_history': false });
  });
});

describe('on pages', () => {
  test('the mark of an edited post links to its history for those who may read it', async () => {
    const { id, number } = await forum.start('ada', 'Marked');
    const reply = await forum.reply('ada', id, 'One <i>two</i> three');
    await edit(reply.id, 'One **four** three');
    const link = `href="/p/${reply.id}/history"`;
    const page = async (name: Name) => (await forum.as[name].get(`/d/${number}-marked`)).text;
    const menu = async (name: Name) => (await forum.as[name].get(`/p/${reply.id}/menu`)).text;
    expect(await page('mia')).toContain(link);
    expect(await menu('ada')).toContain(link);
    for (const seen of [await page('bob'), await menu('bob')]) expect(seen).not.toContain(link);
    const { text } = await forum.as.ada.get(`/p/${reply.id}/history`);
    expect(text).toContain('One <del>&lt;i&gt;two&lt;/i&gt;</del> three');
    expect(text).toContain('One <ins>**four**</ins> three');
    expect((await forum.as.ada.get(`/p/${reply.id}/history?page=2`)).text).toContain('This post has never been edited');
    expect((await forum.as.ada.get(`/p/${reply.id}/history?page=0`)).status).toBe(400);
    expect((await forum.as.ada.get('/p/xyz/history')).status).toBe(404);
  });

  test('the history takes as many statements for many changes as for few', async () => {
    const { postId } = await forum.start('ada', 'Counted');
    await edit(postId, 'Once');
    const least = () => leastOf(() => forum.app.statements(() => forum.as.ada.get(`/p/${postId}/history`)));
    const few = await least();
    for (let at = 0; at < 6; at++) await edit(postId, `Version ${at}`);
    expect(await least()).toBe(few);
  });

  test('moderators can still read what they deleted, and everyone else sees a stub without it', async () => {
    const { id, number } = await forum.start('ada', 'Stubs');
    const reply = await forum.reply('bob', id, 'Porcupine stew');
    expect((await forum.as.mia.get(`/p/${reply.id}/delete`)).text).toContain('name="reason"');
    expect((await forum.as.bob.get(`/p/${reply.id}/delete`)).text).not.toContain('name="reason"');
    expect((await forum.as.mia.submit(`/p/${reply.id}/delete`, { reason: 'x'.repeat(501) })).status).toBe(400);
    expect((await forum.as.mia.submit(`/p/${reply.id}/delete`, { reason: 'Recipes go elsewhere' })).status).toBe(303);
    const page = async (client = forum.guest) => (await client.get(`/d/${number}-stubs`)).text;
    expect(await page(forum.as.mia)).toContain('Porcupine stew');
    for (const client of [forum.guest, forum.as.bob, forum.as.ada]) {
      for (const path of [
        `/d/${number}-stubs`,
        '/feed/rss',
        '/feed/atom',
        '/search?q=porcupine&type=posts',
        '/api/search?q=stew&type=posts',
        `/api/discussions/${id}/posts`,
        `/u/bob/posts`,
        '/api/events?event=post.created',
      ]) {
        const { text } = await client.get(path);
        expect([path, text.includes('Porcupine'), text.includes('Recipes')]).toEqual([path, false, false]);
      }
    }
    expect(await page()).toContain('was removed');
  });
});
