import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { draftAccepted } from 'parley-forum/plugins/discussions';
import type { Answer } from 'parley-forum/testing';
import { expectStatus, install, useForum } from './forum.ts';

const forum = useForum();
const discussionOf = async (id: string, client = forum.guest) =>
  (await client.get(`/api/discussions/${id}`)).body.discussion;
const countsOf = async (slug: string) => {
  const { discussion_count: discussions, post_count: posts } = (await forum.guest.get(`/api/categories/${slug}`)).body
    .category;
  return { discussions, posts };
};
const writtenBy = async (name: 'ada' | 'bob') => {
  const { discussion_count: discussions, post_count: posts } = (await forum.guest.get(`/api/users/${forum.ids[name]}`))
    .body.user;
  return { discussions, posts };
};

describe('editing a post', () => {
  test('shows the new text and the time of the edit, and updates the discussion’s updated_at', async () => {
    const { id, postId } = await forum.start('ada', 'Draft');
    forum.app.clock.advance(5_000);
    forum.happened.length = 0;
    const { status, body } = await forum.as.ada.put(`/api/posts/${postId}`, { content: 'Better **now**' });
    expect([status, body.post.content]).toEqual([200, 'Better **now**']);
    expect(body.post.html).toContain('<strong>now</strong>');
    expect(body.post.edited_at).toBe(body.post.updated_at);
    expect(await discussionOf(id)).toMatchObject({ content: 'Better **now**', updated_at: body.post.edited_at });
    expect(forum.happened.map(({ action }) => action)).toEqual(['post.updated']);
    expect((await forum.as.ada.put(`/api/posts/${postId}`, { content: ' ' })).status).toBe(400);
  });
});

describe('changing a discussion', () => {
  test('renames it, and the old URL redirects to the new one', async () => {
    const { id, number } = await forum.start('ada', 'Tpyo');
    const { body } = await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Typo' });
    expect(body.discussion).toMatchObject({ title: 'Typo', slug: 'typo', url: `http://forum.test/d/${number}-typo` });
    expect((await forum.guest.get(`/d/${number}-tpyo`)).headers.get('location')).toBe(`/d/${number}-typo`);
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { title: '' })).status).toBe(400);
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { category_id: 'nowhere' })).status).toBe(400);
  });

  test('moves it with all its counters', async () => {
    const { id } = await forum.start('ada', 'Lost');
    await forum.reply('bob', id, 'Try help');
    const [general, help, ada, bob] = [
      await countsOf('general'),
      await countsOf('help'),
      await writtenBy('ada'),
      await writtenBy('bob'),
    ];
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'help' });
    expect(await countsOf('general')).toEqual({ discussions: general.discussions - 1, posts: general.posts - 2 });
    expect(await countsOf('help')).toEqual({ discussions: help.discussions + 1, posts: help.posts + 2 });
    expect([await writtenBy('ada'), await writtenBy('bob')]).toEqual([ada, bob]);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' });
    expect((await forum.guest.get(`/api/discussions/${id}`)).status).toBe(404);
    expect(await writtenBy('bob')).toEqual({ ...bob, posts: bob.posts - 1 });
  });
});

describe('deleting', () => {
  test('a reply leaves a stub, so that numbers stay, and updates every counter', async () => {
    const { id } = await forum.start('ada', 'Counted');
    const first = await forum.reply('bob', id, 'One');
    forum.app.clock.advance(1_000);
    const second = await forum.reply('bob', id, 'Two');
    const [general, bob] = [await countsOf('general'), await writtenBy('bob')];
    forum.happened.length = 0;
    expect((await forum.as.bob.delete(`/api/posts/${second.id}`)).body).toEqual({ success: true });
    expect(await discussionOf(id)).toMatchObject({
      reply_count: 1,
      participant_count: 2,
      last_post_at: first.created_at,
    });
    expect((await forum.guest.get(`/api/discussions/${id}/posts`)).body.posts[2]).toEqual({
      id: second.id,
      number: 3,
      is_deleted: true,
    });
    expect((await forum.as.mia.get(`/api/discussions/${id}/posts`)).body.posts[2]).toMatchObject({
      content: 'Two',
      is_deleted: true,
    });
    await forum.as.bob.delete(`/api/posts/${first.id}`);
    expect(await discussionOf(id)).toMatchObject({ reply_count: 0, participant_count: 1 });
    expect(await countsOf('general')).toEqual({ ...general, posts: general.posts - 2 });
    expect(await writtenBy('bob')).toEqual({ ...bob, posts: bob.posts - 2 });
    expect((await forum.reply('ada', id, 'Three')).number).toBe(4);
    expect(forum.happened.map(({ action }) => action)).toEqual(['post.deleted', 'post.deleted', 'post.created']);
    await forum.as.mia.post(`/api/posts/${second.id}/restore`);
    expect(await discussionOf(id)).toMatchObject({ reply_count: 2, participant_count: 2 });
    expect(await writtenBy('bob')).toEqual({ ...bob, posts: bob.posts - 1 });
  });

  test('a first post deletes the discussion, and a moderator can restore it as it was', async () => {
    const { id, postId } = await forum.start('ada', 'Gone');
    await forum.reply('bob', id, 'A reply');
    const before = {
      general: await countsOf('general'),
      ada: await writtenBy('ada'),
      bob: await writtenBy('bob'),
      discussion: await discussionOf(id),
    };
    await forum.as.ada.delete(`/api/posts/${postId}`);
    expect((await forum.guest.get(`/api/discussions/${id}`)).status).toBe(404);
    expect((await forum.guest.get('/api/discussions')).text).not.toContain(id);
    expect((await forum.as.mia.get('/api/discussions')).text).not.toContain(id);
    expect(await countsOf('general')).toEqual({
      discussions: before.general.discussions - 1,
      posts: before.general.posts - 2,
    });
    expect(await writtenBy('ada')).toEqual({ discussions: before.ada.discussions - 1, posts: before.ada.posts - 1 });
    expect(await writtenBy('bob')).toEqual({ ...before.bob, posts: before.bob.posts - 1 });
    expect((await forum.as.mia.post(`/api/discussions/${id}/restore`)).body.discussion.is_deleted).toBe(false);
    expect({
      general: await countsOf('general'),
      ada: await writtenBy('ada'),
      bob: await writtenBy('bob'),
      discussion: await discussionOf(id),
    }).toEqual(before);
  });

  test('twice changes nothing more', async () => {
    const { id } = await forum.start('ada', 'Twice');
    const post = await forum.reply('bob', id, 'Once');
    const answers = await Promise.all([
      forum.as.mia.delete(`/api/posts/${post.id}`),
      forum.as.mia.delete(`/api/posts/${post.id}`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await discussionOf(id)).toMatchObject({ reply_count: 0, participant_count: 1 });
  });
});

describe('concurrent changes of a discussion', () => {
  test('wait for one another and lose nothing', async () => {
    const { id } = await forum.start('ada', 'Busy');
    const posts = await Promise.all(Array.from({ length: 10 }, (_, index) => forum.reply('bob', id, `Post ${index}`)));
    const deletions = posts.map((post) => forum.as.mia.delete(`/api/posts/${post.id}`));
    const replies = Array.from({ length: 10 }, (_, index) => forum.reply('bob', id, `Late ${index}`));
    const edits = posts.map((post) => forum.as.root.put(`/api/posts/${post.id}`, { content: 'Edited' }));
    const moves = ['help', 'general', 'help', 'general'].map((category_id) =>
      forum.as.mia.put(`/api/discussions/${id}`, { category_id }),
    );
    const settled = await Promise.allSettled([...deletions, ...replies, ...edits, ...moves]);
    const late = settled.slice(10, 20).filter(({ status }) => status === 'fulfilled').length;
    expect(
      settled.filter((one) => one.status === 'fulfilled' && (one.value as { status?: number }).status === 500),
    ).toEqual([]);
    expect(await discussionOf(id)).toMatchObject({ reply_count: late });
    const { posts: shown } = (await forum.guest.get(`/api/discussions/${id}/posts?limit=100`)).body;
    expect(shown.map((post: any) => post.number)).toEqual(
      Array.from({ length: shown.length }, (_, index) => index + 1),
    );
    expect(shown).toHaveLength(11 + late);
  });
});

describe('a concurrent change', () => {
  /** Runs between the check of whether the change is permitted and the change. */
  let meanwhile: (() => Promise<Answer>) | undefined;
  beforeAll(() =>
    install(
      forum.app,
      definePlugin({
        id: 'meanwhile',
        setup(_services, plugin) {
          plugin.on(draftAccepted, async (draft) => {
            const work = meanwhile;
            meanwhile = undefined;
            if (work) expectStatus(await work(), 200);
            return draft;
          });
        },
      }),
    ),
  );

  test.each<readonly [string, (id: string) => Promise<Answer>]>([
    ['locks the discussion', (id) => forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true })],
    ['moves the discussion', (id) => forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'help' })],
    [
      'moves the discussion to a hidden category',
      (id) => forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' }),
    ],
    ['deletes the discussion', (id) => forum.as.mia.delete(`/api/discussions/${id}`)],
  ])('by an author is refused when a moderator %s', async (_what, work) => {
    const { id, postId } = await forum.start('ada', 'As it was');
    const { id: reply } = await forum.reply('ada', id, 'Says this');
    for (const change of [
      () => forum.as.ada.put(`/api/posts/${postId}`, { content: 'Says that' }),
      () => forum.as.ada.put(`/api/posts/${reply}`, { content: 'Says that' }),
      () => forum.as.ada.put(`/api/discussions/${id}`, { title: 'As it is', category_id: 'general' }),
    ]) {
      meanwhile = () => work(id);
      expect((await change()).status).toBe(409);
      await forum.as.mia.post(`/api/discussions/${id}/restore`);
      await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: false, category_id: 'general' });
    }
    const { body } = await forum.guest.get(`/api/discussions/${id}`);
    expect(body.discussion).toMatchObject({ title: 'As it was', content: 'About As it was' });
    expect(body.posts[1].content).toBe('Says this');
  });

  test('by a moderator is accepted when another one changes the discussion', async () => {
    const { id, postId } = await forum.start('ada', 'Two of them');
    meanwhile = () => forum.as.root.put(`/api/discussions/${id}`, { is_locked: true });
    expect((await forum.as.mia.put(`/api/posts/${postId}`, { content: 'Tidied up' })).status).toBe(200);
  });
});
