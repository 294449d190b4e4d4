import { describe, expect, test } from 'vitest';
import type { LoggedEvent } from 'parley-forum/plugins/events';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { settled } from '../events/settled.ts';
import { listen, type Listener } from '../live/listen.ts';

const forum = useForum();
const toggle = async (client: Client, postId: string, reaction: string): Promise<unknown> =>
  expectStatus(await client.post('/api/reactions/toggle', { post_id: postId, reaction }), 200);
/** The events about reactions to a post that a client may see, once all pending ones have been logged. */
async function eventsOf(postId: string, client: Client): Promise<readonly LoggedEvent[]> {
  await settled(forum.app);
  const { events } = (await client.get('/api/events?limit=100&event=reaction.added,reaction.removed')).body;
  return events.filter(({ data }: any) => data.post_id === postId);
}
const names = (events: readonly LoggedEvent[]): readonly string[] => events.map(({ event }) => event);
const looks = ({ signals }: Listener): readonly unknown[] =>
  signals.filter(({ event }) => event === 'post.looks-changed').map(({ data }) => data);

describe('the event of a reaction', () => {
  test('says who gave or took back which reaction to which post', async () => {
    const { id, postId } = await forum.start('ada', 'Liked by all');
    await toggle(forum.as.bob, postId, 'like');
    await settled(forum.app);
    await toggle(forum.as.bob, postId, 'like');
    const events = await eventsOf(postId, forum.guest);
    const data = {
      reaction: 'like',
      emoji: '👍',
      post_id: postId,
      discussion_id: id,
      author_id: forum.ids.ada,
      actor: { id: forum.ids.bob, username: 'bob' },
    };
    expect(events.map((event) => [event.event, event.data])).toEqual([
      ['reaction.added', data],
      ['reaction.removed', data],
    ]);
  });

  test('is for those alone who may read the post', async () => {
    const { postId } = await forum.start('mia', 'Among us', 'staff');
    await toggle(forum.as.mia, postId, 'love');
    expect(names(await eventsOf(postId, forum.as.root))).toEqual(['reaction.added']);
    for (const client of [forum.guest, forum.as.ada, forum.as.bad]) expect(await eventsOf(postId, client)).toEqual([]);
  });

  test('is left out while its post is deleted or its discussion is hidden', async () => {
    const { id } = await forum.start('mia', 'Comes and goes');
    const reply = await forum.reply('bob', id, 'A reply to love');
    await toggle(forum.as.ada, reply.id, 'love');
    expect(names(await eventsOf(reply.id, forum.guest))).toEqual(['reaction.added']);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' });
    expect(await eventsOf(reply.id, forum.guest)).toEqual([]);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'general' });
    expect(names(await eventsOf(reply.id, forum.guest))).toEqual(['reaction.added']);
    await forum.as.bob.delete(`/api/posts/${reply.id}`);
    expect(await eventsOf(reply.id, forum.guest)).toEqual([]);
  });

  test('names the discussion that its post is in now', async () => {
    const [from, to] = [await forum.start('mia', 'Left behind', 'staff'), await forum.start('mia', 'Come here')];
    const reply = await forum.reply('mia', from.id, 'Moves out');
    await toggle(forum.as.mia, reply.id, 'love');
    const path = `/api/discussions/${from.id}/move-posts`;
    expectStatus(await forum.as.mia.post(path, { post_ids: [reply.id], discussion_id: to.id }), 200);
    const [event] = await eventsOf(reply.id, forum.guest);
    expect(event?.data).toMatchObject({ discussion_id: to.id });
    expect(JSON.stringify(event)).not.toContain(from.id);
  });

  test('takes the same number of SQL statements however many there are', async () => {
    const { postId } = await forum.start('ada', 'Counted');
    await Promise.all([forum.as.ada, forum.as.bob, forum.as.mia].map((client) => toggle(client, postId, 'sad')));
    await settled(forum.app);
    const asked = (limit: number): Promise<number> =>
      forum.app.statements(() => forum.as.ada.get(`/api/events?event=reaction.added&limit=${limit}`));
    await asked(4);
    expect(await asked(1)).toBe(await asked(3));
  });
});

describe('open pages', () => {
  test('are told that the reactions to a post changed, once for a burst and once after it', async () => {
    const { id, postId } = await forum.start('ada', 'A burst');
    await using reader = await listen(forum.app, forum.as.mia, `?discussion_id=${id}`);
    for (const kind of ['like', 'love', 'laugh', 'wow', 'sad']) await toggle(forum.as.bob, postId, kind);
    await expect
      .poll(() => looks(reader), { timeout: 10_000 })
      .toEqual([
        { discussion_id: id, number: 1 },
        { discussion_id: id, number: 1 },
      ]);
    await toggle(forum.as.bob, (await forum.start('ada', 'Elsewhere')).postId, 'like');
    expect(looks(reader)).toHaveLength(2);
  });

  test('are told nothing about posts that their reader may not see', async () => {
    const hidden = await forum.start('mia', 'Quiet', 'staff');
    const open = await forum.start('mia', 'Loud');
    await using reader = await listen(forum.app, forum.as.ada);
    await toggle(forum.as.mia, hidden.postId, 'like');
    await toggle(forum.as.mia, open.postId, 'like');
    await expect.poll(() => looks(reader)).toEqual([{ discussion_id: open.id, number: 1 }]);
  });
});
