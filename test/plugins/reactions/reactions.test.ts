import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { reactionAdded, reactionRemoved } from 'parley-forum/ports/reactions';
import { react } from 'parley-forum/plugins/reactions';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, install, useForum, type Happening } from '../discussions/forum.ts';

const forum = useForum();
const heard: Happening['payload'][] = [];
const listener = definePlugin({
  id: 'test-ear',
  setup(_services, plugin) {
    for (const hook of [reactionAdded, reactionRemoved])
      plugin.on(hook, (payload) => void heard.push({ hook: hook.id, ...payload }));
  },
});
beforeAll(() => install(forum.app, listener));

const toggle = (client: Client, postId: string, reaction: string) =>
  client.post('/api/reactions/toggle', { post_id: postId, reaction });
const reactionsOf = async (postId: string, client: Client = forum.guest): Promise<any> =>
  expectStatus(await client.get(`/api/posts/${postId}`), 200).body.post.reactions;
const page = async (number: number, slug: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(`/d/${number}-${slug}`), 200).text;

describe('a reaction', () => {
  test('is added and removed; a member may add several to one post', async () => {
    const { postId, id } = await forum.start('ada', 'Liked');
    expect((await toggle(forum.as.bob, postId, 'like')).body).toEqual({
      success: true,
      action: 'added',
      reactions: [{ reaction: 'like', count: 1, reacted: true }],
    });
    expect((await toggle(forum.as.bob, postId, 'thanks')).body.reactions).toHaveLength(2);
    await toggle(forum.as.mia, postId, 'like');
    expect(await reactionsOf(postId)).toEqual([
      { reaction: 'like', count: 2, reacted: false },
      { reaction: 'thanks', count: 1, reacted: false },
    ]);
    expect(await reactionsOf(postId, forum.as.mia)).toEqual([
      { reaction: 'like', count: 2, reacted: true },
      { reaction: 'thanks', count: 1, reacted: false },
    ]);
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.posts[0].reactions).toHaveLength(2);
    expect((await toggle(forum.as.bob, postId, 'like')).body).toEqual({
      success: true,
      action: 'removed',
      reactions: [
        { reaction: 'like', count: 1, reacted: false },
        { reaction: 'thanks', count: 1, reacted: true },
      ],
    });
  });

  test('is named by slug or emoji, with or without the variation selector', async () => {
    const { postId } = await forum.start('ada', 'By emoji');
    expect((await toggle(forum.as.bob, postId, '👍')).body.reactions[0].reaction).toBe('like');
    expect((await toggle(forum.as.bob, postId, '❤')).body.action).toBe('added');
    expect((await toggle(forum.as.bob, postId, '❤️')).body.action).toBe('removed');
  });

  test('may be added to one’s own post, and in a locked discussion', async () => {
    const { id, postId } = await forum.start('ada', 'My own');
    await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true });
    expect((await toggle(forum.as.ada, postId, 'love')).body.action).toBe('added');
  });

  test('notifies listeners when it is added and when it is taken back', async () => {
    const { id, postId } = await forum.start('ada', 'Heard');
    heard.length = 0;
    await toggle(forum.as.bob, postId, 'wow');
    await toggle(forum.as.bob, postId, 'wow');
    const payload = {
      reaction: 'wow',
      emoji: '😮',
      post_id: postId,
      discussion_id: id,
      author_id: forum.ids.ada,
      actor: { id: forum.ids.bob, username: 'bob' },
    };
    expect(heard).toEqual([
      { hook: 'reaction.added', ...payload },
      { hook: 'reaction.removed', ...payload },
    ]);
  });

  test('stays consistent under concurrent identical toggles', async () => {
    const { postId } = await forum.start('ada', 'Raced');
    for (const times of [2, 7, 8]) {
      const answers = await Promise.all(Array.from({ length: times }, () => toggle(forum.as.bob, postId, 'sad')));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    }
    expect(await reactionsOf(postId, forum.as.bob)).toEqual([{ reaction: 'sad', count: 1, reacted: true }]);
    await Promise.all([forum.as.ada, forum.as.mia, forum.as.root].map((client) => toggle(client, postId, 'sad')));
    expect((await reactionsOf(postId))[0].count).toBe(4);
  });

  test.each([
    ['unknown', { reaction: 'shrug' }, 400],
    ['empty', { reaction: '' }, 400],
    ['absent', {}, 400],
    ['on no post', { post_id: 'xyz', reaction: 'like' }, 404],
    ['on an unknown post', { post_id: '00000000-0000-7000-8000-000000000000', reaction: 'like' }, 404],
  ])('is refused when it is %s', async (_what, body, status) => {
    const { postId } = await forum.start('ada', 'Refused');
    expect((await forum.as.bob.post('/api/reactions/toggle', { post_id: postId, ...body })).status).toBe(status);
  });

  test('is refused for guests, banned members, and posts the caller cannot see', async () => {
    const { postId } = await forum.start('ada', 'Closed to some');
    const hidden = await forum.start('mia', 'Among us', 'staff');
    const { id: replyId } = await forum.reply('bob', (await forum.start('ada', 'With a reply')).id, 'Gone soon');
    await forum.as.bob.delete(`/api/posts/${replyId}`);
    await forum.guest.csrf();
    expect((await toggle(forum.guest, postId, 'like')).status).toBe(401);
    expect((await toggle(forum.as.bad, postId, 'like')).status).toBe(403);
    expect((await toggle(forum.as.ada, hidden.postId, 'like')).status).toBe(404);
    expect((await toggle(forum.as.ada, replyId, 'like')).status).toBe(404);
    expect((await toggle(forum.as.mia, replyId, 'like')).status).toBe(404);
    await forum.app.app.service(Access).decide('member', react, false);
    expect((await toggle(forum.as.bob, postId, 'like')).status).toBe(403);
    await forum.app.app.service(Access).decide('member', react, undefined);
  });
});

describe('GET /api/reactions/post/{post_id}', () => {
  test('lists a post’s reactions with the latest members who reacted', async () => {
    const { postId } = await forum.start('ada', 'Who');
    for (const name of ['bob', 'mia'] as const) await toggle(forum.as[name], postId, 'laugh');
    await toggle(forum.as.bob, postId, 'like');
    const { body } = expectStatus(await forum.as.bob.get(`/api/reactions/post/${postId}`), 200);
    expect(body).toMatchObject({ success: true, count: 2, hasMore: false, next_cursor: null });
    expect(body.reactions[1]).toEqual({
      reaction: 'laugh',
      emoji: '😄',
      label: 'Laugh',
      count: 2,
      reacted: true,
      users: [
        { id: forum.ids.mia, username: 'mia', display_name: null, avatar_url: null },
        { id: forum.ids.bob, username: 'bob', display_name: null, avatar_url: null },
      ],
    });
    const first = (await forum.guest.get(`/api/reactions/post/${postId}?limit=1`)).body;
    expect([first.count, first.hasMore]).toEqual([1, true]);
    expect(
      (await forum.guest.get(`/api/reactions/post/${postId}?limit=1&cursor=${first.next_cursor}`)).body.reactions[0]
        .reaction,
    ).toBe('laugh');
  });

  test('responds 404 for a post that the caller may not see', async () => {
    const { postId } = await forum.start('mia', 'Not for all', 'staff');
    expect((await forum.as.ada.get(`/api/reactions/post/${postId}`)).status).toBe(404);
    expect((await forum.guest.get('/api/reactions/post/xyz')).status).toBe(404);
    expect((await forum.as.mia.get(`/api/reactions/post/${postId}`)).body.reactions).toEqual([]);
  });
});

describe('GET /api/users/reactions', () => {
  const mine = async (client: Client, query = ''): Promise<any> =>
    expectStatus(await client.get(`/api/users/reactions${query}`), 200).body;

  test('lists a member’s reactions, newest first, in pages', async () => {
    const posts: string[] = [];
    for (let count = 0; count < 5; count++) posts.push((await forum.start('ada', `Given ${count}`)).postId);
    for (const postId of posts) await toggle(forum.as.root, postId, 'like');
    const all = await mine(forum.as.root);
    expect(all.reactions.slice(0, 5).map(({ post_id }: any) => post_id)).toEqual(posts.toReversed());
    expect(all.reactions[0]).toEqual({ post_id: posts[4], reaction: 'like', created_at: expect.stringMatching(/Z$/) });
    const first = await mine(forum.as.root, '?limit=2');
    expect([first.count, first.hasMore]).toEqual([2, true]);
    expect(
      (await mine(forum.as.root, `?limit=2&cursor=${first.next_cursor}`)).reactions.map(({ post_id }: any) => post_id),
    ).toEqual([posts[2], posts[1]]);
    expect((await mine(forum.as.root, '?limit=2&offset=2')).reactions.map(({ post_id }: any) => post_id)).toEqual([
      posts[2],
      posts[1],
    ]);
    expect((await forum.as.root.get('/api/users/reactions?cursor=abc')).status).toBe(400);
  });

  test('shows only posts that the caller may read when listing another member', async () => {
    const [open, hidden] = [await forum.start('mia', 'Open'), await forum.start('mia', 'Staff only', 'staff')];
    const gone = await forum.start('mia', 'Deleted later');
    for (const { postId } of [open, hidden, gone]) await toggle(forum.as.mia, postId, 'thanks');
    await forum.as.mia.delete(`/api/discussions/${gone.id}`);
    const ids = async (client: Client) =>
      (await mine(client, `?user_id=${forum.ids.mia}&limit=3`)).reactions.map(({ post_id }: any) => post_id);
    expect((await ids(forum.as.mia)).slice(0, 3)).toContain(hidden.postId);
    for (const client of [forum.guest, forum.as.ada]) {
      const shown = await ids(client);
      expect([shown[0], shown.includes(hidden.postId), shown.includes(gone.postId)]).toEqual([
        open.postId,
        false,
        false,
      ]);
    }
  });

  test('requires a user id from guests', async () => {
    expect((await forum.guest.get('/api/users/reactions')).body).toMatchObject({
      success: false,
      details: [{ field: 'user_id' }],
    });
    expect((await forum.guest.get('/api/users/reactions')).status).toBe(400);
    for (const user of ['xyz', '00000000-0000-7000-8000-000000000000'])
      expect((await forum.guest.get(`/api/users/reactions?user_id=${user}`)).status).toBe(404);
  });
});

describe('a page of posts', () => {
  test('runs the same number of statements for any number of posts', async () => {
    const { id } = await forum.start('ada', 'Long');
    for (let count = 0; count < 12; count++)
      await toggle(forum.as.bob, (await forum.reply('bob', id, `Reply ${count}`)).id, 'like');
    const asked = (limit: number) =>
      leastOf(async () => {
        await forum.app.app.cache.purge(`discussion:${id}`);
        return forum.app.statements(() => forum.as.ada.get(`/api/discussions/${id}?limit=${limit}`));
      });
    expect(await asked(12)).toBe(await asked(3));
  });

  test('shows current reactions to guests and members, even when cached', async () => {
    const { number, postId } = await forum.start('ada', 'Fresh');
    for (let time = 0; time < 2; time++)
      for (const client of [forum.guest, forum.as.bob]) await page(number, 'fresh', client);
    expect(await page(number, 'fresh')).not.toContain('class="reactions"');
    await toggle(forum.as.mia, postId, 'thanks');
    expect(await page(number, 'fresh')).toMatch(
      /<a class="reaction" href="[^"]*" rel="nofollow" title="Thanks">.*thanks\.svg.*1/s,
    );
    expect(await page(number, 'fresh', forum.as.bob)).toMatch(/name="reaction" value="thanks" aria-pressed="false"/);
    expect(await page(number, 'fresh', forum.as.mia)).toMatch(/name="reaction" value="thanks" aria-pressed="true"/);
    expect(await page(number, 'fresh', forum.as.bad)).not.toContain(`/p/${postId}/react"`);
  });

  test('links to a page that lists who reacted, with a form to react without JavaScript', async () => {
    const { number, postId } = await forum.start('ada', 'Buttons');
    expect(await page(number, 'buttons', forum.as.bob)).toContain(`href="/p/${postId}/reactions"`);
    const reactors = async (client = forum.as.bob) =>
      expectStatus(await client.get(`/p/${postId}/reactions`), 200).text;
    expect(await reactors()).toContain(`action="/p/${postId}/react"`);
    expect(await reactors()).toContain('No reactions yet');
    for (const client of [forum.guest, forum.as.bad]) expect(await reactors(client)).not.toContain('/react"');
    await toggle(forum.as.mia, postId, 'wow');
    expect(await reactors(forum.guest)).toMatch(/Wow.*<a href="\/u\/mia">/s);
    await toggle(forum.as.mia, postId, 'wow');
    expect(await reactors(forum.guest)).not.toContain('/u/mia');
    expect((await forum.guest.get('/p/xyz/reactions')).status).toBe(404);
    const given = await forum.as.bob.submit(`/p/${postId}/react`, { reaction: 'love' });
    expect([given.status, given.headers.get('location')]).toEqual([303, `/d/${number}/1`]);
    expect(await reactionsOf(postId, forum.as.bob)).toEqual([{ reaction: 'love', count: 1, reacted: true }]);
    expect((await forum.as.bob.submit(`/p/${postId}/react`, { reaction: 'shrug' })).status).toBe(400);
    expect((await forum.as.bad.submit(`/p/${postId}/react`, { reaction: 'love' })).status).toBe(403);
    expect((await forum.as.bob.submit('/p/xyz/react', { reaction: 'love' })).status).toBe(404);
  });
});

describe('a member’s profile', () => {
  const given = async (client: Client = forum.guest, query = ''): Promise<readonly string[]> => {
    const { text } = expectStatus(await client.get(`/u/bob/reactions${query}`), 200);
    return [...text.matchAll(/<h3 class="card-title"><a [^>]*>([^<]*)</g)].map(([, title = '']) => title);
  };

  test('lists the posts they reacted to, newest first, that the viewer may see', async () => {
    const { postId } = await forum.start('ada', 'Oakum');
    const { postId: closed } = await forum.start('mia', 'Rota', 'staff');
    const before = await given();
    await toggle(forum.as.bob, postId, 'love');
    expect(await given()).toEqual(['Oakum', ...before]);
    expect((await forum.guest.get('/u/bob/reactions')).text).toMatch(/Love[^]*to a post of <bdi>ada<\/bdi>/);
    await toggle(forum.as.mia, closed, 'like');
    const mias = async (client: Client) => (await client.get('/u/mia/reactions')).text.includes('Rota');
    expect([await mias(forum.as.root), await mias(forum.as.ada), await mias(forum.guest)]).toEqual([
      true,
      false,
      false,
    ]);
    await toggle(forum.as.bob, postId, 'love');
    expect(await given()).toEqual(before);
  });

  test('runs the same number of statements for any length of the list', async () => {
    const { postId: first } = await forum.start('ada', 'First knot');
    await toggle(forum.as.root, first, 'like');
    const measure = () => forum.app.statements(() => forum.guest.get(`/u/root/reactions?x=${Math.random()}`));
    const few = await leastOf(measure);
    for (let at = 0; at < 22; at++)
      await toggle(forum.as.root, (await forum.start('ada', `Knot ${at}`)).postId, 'like');
    expect(await leastOf(measure)).toBe(few);
    expect((await forum.guest.get('/u/root/reactions')).text).toContain('href="/u/root/reactions?page=2"');
    expect((await forum.guest.get('/u/root/reactions?page=2')).text).toContain('First knot');
  });
});

describe('an admin', () => {
  const save = (body: object, client: Client = forum.as.root) =>
    client.post('/admin/reactions/save', body, { accept: 'application/json' });

  test('adds a kind of reaction and renames it; omitted fields are unchanged', async () => {
    const made = await save({ slug: 'rocket', emoji: '🚀', label: 'Rocket' });
    expect([made.status, made.body]).toEqual([
      201,
      { success: true, reaction: { slug: 'rocket', emoji: '🚀', label: 'Rocket', position: 6, enabled: true } },
    ]);
    const changed = await save({ slug: 'rocket', label: 'To the moon' });
    expect([changed.status, changed.body.reaction]).toEqual([
      200,
      { slug: 'rocket', emoji: '🚀', label: 'To the moon', position: 6, enabled: true },
    ]);
    const { postId } = await forum.start('ada', 'Flying');
    expect((await toggle(forum.as.bob, postId, '🚀')).body.reactions).toEqual([
      { reaction: 'rocket', count: 1, reacted: true },
    ]);
  });

  test('disables a kind: existing reactions remain, and new ones are refused', async () => {
    const { number, postId } = await forum.start('ada', 'Sadness');
    await toggle(forum.as.bob, postId, 'sad');
    await save({ slug: 'sad', enabled: false });
    expect((await toggle(forum.as.mia, postId, 'sad')).status).toBe(400);
    expect(await reactionsOf(postId)).toEqual([{ reaction: 'sad', count: 1, reacted: false }]);
    expect(await page(number, 'sadness', forum.as.mia)).toMatch(/value="sad"[^>]*disabled/);
    await save({ slug: 'sad', enabled: true });
  });

  test.each([
    [{ slug: 'No Spaces', emoji: '🎉', label: 'x' }, 'slug'],
    [{ slug: 'party', emoji: 'abc', label: 'x' }, 'emoji'],
    [{ slug: 'party', emoji: '👍', label: 'x' }, 'emoji'],
    [{ slug: 'party', emoji: '🎉' }, 'label'],
    [{ slug: 'party', emoji: '🎉', label: 'x', position: -1 }, 'position'],
  ])('gets a validation error for %j', async (body, field) => {
    const answer = await save(body);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, field]);
  });

  test('lists the kinds of reactions as JSON, in pages', async () => {
    const listed = (query: string) => forum.as.root.get(`/admin/reactions?${query}`, { accept: 'application/json' });
    const { reactions: all, count, hasMore } = (await listed('')).body;
    expect([count, hasMore]).toEqual([all.length, false]);
    expect((await listed('limit=1&offset=1')).body).toMatchObject({
      reactions: [{ slug: all[1].slug }],
      count: 1,
      hasMore: all.length > 2,
    });
  });

  test('is the only one allowed to, and has a page for it', async () => {
    expect((await save({ slug: 'like', label: 'Mine' }, forum.as.mia)).status).toBe(403);
    const text = expectStatus(await forum.as.root.get('/admin/reactions?slug=like'), 200).text;
    expect(text).toContain('value="Like"');
    const refused = await forum.as.root.submit('/admin/reactions/save', {
      slug: 'joy',
      emoji: 'nothing',
      label: 'Joy',
      position: '9',
      enabled: 'true',
    });
    expect([refused.status, refused.text.includes('value="Joy"')]).toEqual([400, true]);
    expect(
      (
        await forum.as.root.submit('/admin/reactions/save', {
          slug: 'joy',
          emoji: '🎉',
          label: 'Joy',
          position: '9',
          enabled: 'true',
        })
      ).headers.get('location'),
    ).toBe('/admin/reactions');
  });
});
