import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin, HttpError } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Discussions, postSent, type NewDiscussion, type NewReply } from 'parley-forum/plugins/discussions';
import { phrase } from 'parley-forum/plugins/web';
import { expectStatus, install, useForum, type Name } from './forum.ts';

const forum = useForum();
/** Drafts held by a plugin: those with “hold” in their text. */
const kept: (NewDiscussion | NewReply)[] = [];
const seen: object[] = [];
let lobby: { readonly id: string; readonly number: number };

const send = (name: Name, content: string, more: object = {}) =>
  forum.as[name].post('/api/posts', { discussion_id: lobby.id, content, ...more });
const discussions = () => forum.app.app.service(Discussions);
const viewerOf = async (name: Name) =>
  (await forum.app.app.service(Accounts).viewers([forum.ids[name]])).get(forum.ids[name])!;

beforeAll(async () => {
  lobby = await forum.start('mia', 'The lobby');
  await install(
    forum.app,
    definePlugin({
      id: 'test-holder',
      setup(_services, plugin) {
        plugin.on(postSent, async (held, post) => {
          if (post.content.includes('refuse')) throw new HttpError(409, 'Too much waits already');
          if (!post.content.includes('hold')) return held;
          seen.push({ title: post.title, html: post.html, discussion: post.discussion?.id, author: post.author.id });
          kept.push(JSON.parse(JSON.stringify(await post.draft())) as NewReply);
          return { id: String(kept.length), path: '/held', notice: phrase('discussions:replied', { number: 0 }) };
        });
      },
    }),
  );
});

describe('what a member sends', () => {
  test('can be held by a plugin: nothing of it is stored, and the response states that', async () => {
    const happened = forum.happened.length;
    const answer = expectStatus(await send('bob', '**hold** this'), 202);
    expect(answer.body).toEqual({
      success: true,
      held: true,
      held_post: { id: '1', url: 'http://forum.test/held' },
    });
    const page = await forum.as.bob.submit(`/d/${lobby.number}/reply`, { content: 'hold that' });
    expect([page.status, page.headers.get('location')]).toEqual([303, '/held']);
    const started = { title: 'A title', content: 'hold it', category_id: 'general', tags: ['rope'], nonsense: 1 };
    expectStatus(await forum.as.bob.post('/api/discussions', started), 202);
    expect(seen).toMatchObject([
      {
        title: '',
        html: expect.stringContaining('<strong>hold</strong>'),
        discussion: lobby.id,
        author: forum.ids.bob,
      },
      { discussion: lobby.id },
      { title: 'A title', html: expect.stringContaining('hold it') },
    ]);
    expect(seen[2]).toHaveProperty('discussion', undefined);
    expect(kept[2]).toMatchObject({ title: 'A title', fields: { tags: ['rope'] } });
    expect((kept[2] as NewDiscussion).fields).toEqual({ tags: ['rope'] });
    expect(forum.happened).toHaveLength(happened);
    expect((await forum.guest.get(`/api/discussions/${lobby.id}`)).body.discussion.reply_count).toBe(0);
    expect((await forum.guest.get('/api/tags?q=rope')).body.tags).toEqual([]);
  });

  test('is validated first, and can be refused instead', async () => {
    const before = kept.length;
    const tags = Array.from({ length: 30 }, (_, at) => `tag-${at}`);
    const wrong = { title: 'A title', content: 'hold it', category_id: 'general', tags };
    expect((await forum.as.bob.post('/api/discussions', wrong)).body.details).toMatchObject([{ field: 'tags' }]);
    expect((await forum.as.bob.post('/api/discussions', { ...wrong, category_id: 'staff' })).status).toBe(400);
    expect((await send('bob', 'hold', { reply_to_id: '99' })).status).toBe(400);
    expect((await send('bad', 'hold')).status).toBe(403);
    const refused = await send('bob', 'refuse this');
    expect([refused.status, refused.body.error]).toEqual([409, 'Too much waits already']);
    expect(kept).toHaveLength(before);
  });

  test('is published later as its author, with all effects, answering its post if that still exists', async () => {
    const [one, two] = [await forum.reply('mia', lobby.id, 'One'), await forum.reply('mia', lobby.id, 'Two')];
    for (const { id } of [one, two]) expectStatus(await send('bob', 'hold on', { reply_to_id: id }), 202);
    await forum.as.mia.delete(`/api/posts/${two.id}`);
    const bob = await viewerOf('bob');
    const [discussion, first, second] = [kept[2]!, kept.at(-2)!, kept.at(-1)!];
    const happened = forum.happened.length;
    const published = await discussions().publish(bob, first);
    expect(published).toMatchObject({ discussionId: lobby.id, discussionNumber: lobby.number, title: 'The lobby' });
    expect((await forum.guest.get(`/api/posts/${published.postId}`)).body.post).toMatchObject({
      author: { username: 'bob' },
      number: published.number,
      reply_to_number: one.number,
    });
    const { postId } = await discussions().publish(bob, second);
    expect((await forum.guest.get(`/api/posts/${postId}`)).body.post.reply_to_number).toBe(null);
    const started = await discussions().publish(bob, discussion);
    expect(started).toMatchObject({ title: 'A title', number: 1 });
    const record = (await forum.guest.get(`/api/discussions/${started.discussionId}`)).body.discussion;
    expect(record.tags).toMatchObject([{ name: 'rope' }]);
    await forum.app.calm();
    expect(forum.happened.slice(happened).map(({ action }) => action)).toEqual([
      'post.created',
      'post.created',
      'discussion.created',
    ]);
    await expect(discussions().publish(await viewerOf('bad'), first)).rejects.toMatchObject({ status: 403 });
  });

  test('is not held if a plugin writes it', async () => {
    const { number } = await discussions().reply(await viewerOf('bob'), { discussionId: lobby.id, content: 'hold me' });
    expect(number).toBeGreaterThan(1);
  });

  test('is counted by author, without deleted posts', async () => {
    const before = (await discussions().postCounts([forum.ids.ada, forum.ids.bob])).get(forum.ids.ada);
    const { id } = await forum.reply('ada', lobby.id, 'Mine');
    const count = async () => (await discussions().postCounts([forum.ids.ada])).get(forum.ids.ada);
    expect([before, await count()]).toEqual([0, 1]);
    await forum.as.mia.delete(`/api/posts/${id}`);
    expect(await count()).toBe(0);
    expect(await forum.app.statements(() => discussions().postCounts([forum.ids.ada, forum.ids.bob]))).toBe(1);
  });
});
