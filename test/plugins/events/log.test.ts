import { beforeAll, describe, expect, test } from 'vitest';
import { responsesTag } from 'parley-forum/plugins/api';
import { defineAction, definePlugin, sql, Type, type PluginHandle } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { EventLog, type LoggedEvent } from 'parley-forum/plugins/events';
import type { Client } from 'parley-forum/testing';
import { install, useForum } from '../discussions/forum.ts';
import { settled } from './settled.ts';

const forum = useForum();
const log = (): EventLog => forum.app.app.service(EventLog);

/** The events that a client may see, once all pending ones have been logged. */
async function visibleEvents(client: Client, query = ''): Promise<readonly LoggedEvent[]> {
  await settled(forum.app);
  return (await client.get(`/api/events?limit=100${query}`)).body.events;
}
const names = (events: readonly LoggedEvent[]): readonly string[] => events.map(({ event }) => event);

let after: number;
const since = (): string => `&after=${after}`;
const mark = async (): Promise<void> => {
  await settled(forum.app);
  after = (await log().bounds()).newest;
};

describe('the event log', () => {
  beforeAll(mark);

  test('lists in order the events that guests may see, with the ids and field names of the API', async () => {
    const { id, number } = await forum.start('ada', 'Told to all');
    await settled(forum.app);
    const reply = await forum.reply('bob', id, 'A **reply**');
    await settled(forum.app);
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Told to everybody' });
    const events = await visibleEvents(forum.guest, since());
    expect(names(events)).toEqual(['discussion.created', 'post.created', 'discussion.updated']);
    expect(events.map(({ position }) => position)).toEqual(
      events.map(({ position }) => position).toSorted((a, b) => a - b),
    );
    expect(events[1]).toEqual({
      position: expect.any(Number),
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      event: 'post.created',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        post: {
          id: reply.id,
          discussion_id: id,
          number: 2,
          content: 'A **reply**',
          html: reply.html,
          url: `http://forum.test/d/${number}/2#post-2`,
          author: { id: forum.ids.bob, username: 'bob' },
          created_at: reply.created_at,
          reply_to_number: null,
        },
      },
    });
  });

  test('shows events in a staff category only to staff', async () => {
    await mark();
    await forum.start('mia', 'Between us', 'staff');
    expect(names(await visibleEvents(forum.as.mia, since()))).toEqual(['discussion.created']);
    for (const client of [forum.guest, forum.as.ada, forum.as.bad])
      expect(await visibleEvents(client, since())).toEqual([]);
  });

  test('reduces content that has since been deleted to its ids', async () => {
    await mark();
    const { id, number } = await forum.start('ada', 'Short-lived words');
    const reply = await forum.reply('bob', id, 'A secret that slipped out');
    await forum.as.bob.delete(`/api/posts/${reply.id}`);
    const withoutReply = await visibleEvents(forum.guest, since());
    expect(names(withoutReply).toSorted()).toEqual(['discussion.created', 'post.deleted']);
    expect(withoutReply.find(({ event }) => event === 'post.deleted')!.data).toEqual({
      post: { id: reply.id, discussion_id: id, number: 2, reply_to_number: null },
    });
    await forum.as.ada.delete(`/api/discussions/${id}`);
    for (const client of [forum.guest, forum.as.mia, forum.as.root]) {
      const left = await visibleEvents(client, since());
      expect(left.map(({ event, data }) => [event, data])).toEqual([
        ['discussion.deleted', { discussion: { id, number } }],
      ]);
    }
  });

  test('shows the current text of content that has since been edited', async () => {
    await mark();
    const { id } = await forum.start('ada', 'A name to be taken back');
    const reply = await forum.reply('bob', id, 'Call me at 555-0100');
    await forum.as.bob.put(`/api/posts/${reply.id}`, { content: 'Call me maybe' });
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Another name' });
    const text = JSON.stringify(await visibleEvents(forum.guest, since()));
    expect(text).not.toMatch(/555-0100|taken back|taken-back/);
    expect(text).toMatch(/Call me maybe/);
    expect(text).toMatch(/another-name/);
  });

  test('hides events of a discussion while it is in a category that the viewer may not see', async () => {
    await mark();
    const { id } = await forum.start('mia', 'On the move');
    expect(names(await visibleEvents(forum.as.ada, since()))).toEqual(['discussion.created']);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' });
    expect(await visibleEvents(forum.as.ada, since())).toEqual([]);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'general' });
    expect(names(await visibleEvents(forum.as.ada, since()))).toEqual([
      'discussion.created',
      'discussion.updated',
      'discussion.updated',
    ]);
  });

  test('lists registrations without the e-mail address', async () => {
    await mark();
    const { id } = await forum.app.app
      .service(Accounts)
      .create({ username: 'newcomer', email: 'new@forum.test', password: 'Plain-Sailing-42' });
    const [event] = await visibleEvents(forum.guest, since());
    expect([event!.event, event!.data]).toEqual([
      'user.registered',
      { user: { id, username: 'newcomer', joined_at: expect.any(String) } },
    ]);
  });

  test('is paginated, even across pages with no visible events', async () => {
    await mark();
    for (let n = 0; n < 5; n++) await forum.start(n % 2 ? 'ada' : 'mia', `Page ${n}`, n % 2 ? 'general' : 'staff');
    await settled(forum.app);
    const seen: string[] = [];
    let page = (await forum.guest.get(`/api/events?limit=2${since()}`)).body;
    for (let rounds = 0; ; rounds++) {
      expect([page.success, page.count, rounds < 4]).toEqual([true, page.events.length, true]);
      seen.push(...page.events.map(({ data }: any) => data.discussion.title));
      expect(page.next_cursor === null).toBe(!page.hasMore);
      if (!page.hasMore) break;
      page = (await forum.guest.get(`/api/events?limit=2&cursor=${page.next_cursor}`)).body;
    }
    expect(seen).toEqual(['Page 1', 'Page 3']);
    expect(page.position).toBe((await log().bounds()).newest);
  });

  test('returns smaller pages when texts are long, without skipping events', async () => {
    const long = 'A long line of a long text.\n'.repeat(2_000);
    const posts: string[] = [];
    const { id } = await forum.start('ada', 'A discussion of long texts');
    await settled(forum.app);
    await mark();
    for (let n = 0; n < 6; n++) posts.push((await forum.reply('bob', id, n % 2 ? long : 'Short, to begin with')).id);
    for (const post of posts) await forum.as.bob.put(`/api/posts/${post}`, { content: long });
    await settled(forum.app);
    let seen = 0;
    for (
      let page: any, next = since(), rounds = 0;
      page?.hasMore ?? true;
      next = `&cursor=${page.next_cursor}`, rounds++
    ) {
      const { body, text } = await forum.guest.get(`/api/events?limit=100${next}`);
      expect([text.length < 1024 * 1024, body.count > 0, rounds < 12]).toEqual([true, true, true]);
      seen += body.events.filter(
        ({ data }: any) => posts.includes(data.post?.id) && data.post.content.length > 50_000,
      ).length;
      page = body;
    }
    expect(seen).toBe(12);
  });

  test('can be filtered by event, and still returns the position to continue from', async () => {
    await mark();
    const { id } = await forum.start('ada', 'Kinds');
    await forum.reply('bob', id, 'One kind');
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Kinds of things' });
    expect(names(await visibleEvents(forum.guest, `${since()}&event=post.created,user.registered`))).toEqual([
      'post.created',
    ]);
    const nothing = (await forum.guest.get(`/api/events?event=user.registered${since()}`)).body;
    expect([nothing.events, nothing.hasMore, nothing.position]).toEqual([[], false, (await log().bounds()).newest]);
  });

  test.each([
    'after=-1',
    'after=x',
    'after=1.5',
    'limit=0',
    'limit=x',
    'cursor=x',
    'event=a b',
    'event=,',
    'event=no.such',
    'event=post.created,post.creatde',
  ])('refuses %s', async (query) => {
    expect((await forum.guest.get(`/api/events?${query}`)).status).toBe(400);
  });

  test('refuses an invalid token', async () => {
    expect((await forum.guest.get('/api/events', { authorization: 'Bearer parley_nothing' })).status).toBe(401);
  });

  test('takes the same number of SQL statements however many events it returns', async () => {
    await settled(forum.app);
    const asked = async (limit: number): Promise<number> => {
      await forum.app.app.cache.purge(responsesTag);
      return forum.app.statements(() => forum.as.ada.get(`/api/events?limit=${limit}`));
    };
    await asked(3);
    expect(await asked(30)).toBeLessThanOrEqual(1 + 7);
    expect(await asked(60)).toBe(await asked(30));
  });

  test('keeps events for the configured number of days', async () => {
    await forum.start('ada', 'Old news');
    await settled(forum.app);
    const old = forum.app.clock.now() - 8 * 86_400_000;
    // An id contains the time at which the event was emitted.
    await forum.app.app.data.all(sql`update event_log set created_at = ${new Date(old)},
      id = (lpad(to_hex(${old}::bigint), 12, '0') || right(replace(id::text, '-', ''), 20))::uuid`);
    const { newest } = await log().bounds();
    const forget = (): Promise<void> => forum.app.runSchedule('events/job:forget');
    await forget();
    expect((await log().bounds()).newest).toBe(newest);
    await forum.app.app.settings.set({ 'events.days': 7 });
    await forget();
    expect(await log().bounds()).toEqual({ oldest: 0, newest: 0 });
  });
});

describe('events of moved posts', () => {
  beforeAll(mark);

  test('name both discussions, or only the one that the viewer may see', async () => {
    const [from, to] = [await forum.start('ada', 'Left'), await forum.start('mia', 'Staff', 'staff')];
    const { id } = await forum.reply('bob', from.id, 'Moves');
    await mark();
    const path = `/api/discussions/${from.id}/move-posts`;
    expect((await forum.as.mia.post(path, { post_ids: [id], discussion_id: to.id })).status).toBe(200);
    const published = async (client: Client) =>
      (await visibleEvents(client, since())).map(({ event, data }) => [event, data]);
    const source = { id: from.id, number: from.number };
    expect(await published(forum.as.mia)).toEqual([
      [
        'posts.moved',
        {
          source,
          discussion: expect.objectContaining({ id: to.id, title: 'Staff' }),
          posts: [{ id, from_number: 2, number: 2 }],
          merged: false,
        },
      ],
    ]);
    expect(await published(forum.guest)).toEqual([
      ['posts.moved', { source, discussion: null, posts: [{ id, from_number: 2, number: null }], merged: false }],
    ]);
    // Earlier events of the post show its current location, to viewers who may see it.
    const written = async (client: Client) =>
      (await visibleEvents(client)).filter(({ event, data }: any) => event === 'post.created' && data.post.id === id);
    expect(await written(forum.guest)).toEqual([]);
    expect((await written(forum.as.mia))[0]!.data).toMatchObject({
      post: { discussion_id: to.id, number: 2, url: `http://forum.test/d/${to.number}/2#post-2` },
    });
    await mark();
    expect((await forum.as.mia.post(`/api/discussions/${to.id}/merge`, { into: from.id })).status).toBe(200);
    const events = await visibleEvents(forum.guest, since());
    expect(events.map(({ event, data }: any) => [event, data.source, data.discussion?.id, data.merged])).toEqual([
      ['posts.moved', null, from.id, true],
    ]);
    expect(names(await visibleEvents(forum.as.mia, since())).toSorted()).toEqual(['discussion.deleted', 'posts.moved']);
  });
});

describe('an action of a plugin installed while the server runs', () => {
  const spoken = defineAction<{ word: string; secret: string }>('parrot.spoken', {
    public: Type.Object({ word: Type.String() }),
  });
  const silent = defineAction<{ word: string }>('parrot.silent');
  let parrot: PluginHandle;
  const definition = definePlugin({
    id: 'parrot',
    hooks: [spoken, silent],
    setup: (_services, plugin) => void (parrot = plugin),
  });

  test('is logged with the fields of its public schema, visible only to administrators if there is no rule', async () => {
    await mark();
    await install(forum.app, definition);
    await parrot.emit(spoken, { word: 'Polly', secret: 'cracker' });
    await parrot.emit(silent, { word: 'Hush' });
    const events = await visibleEvents(forum.as.root, since());
    expect(events.map(({ event, data }) => [event, data])).toEqual([['parrot.spoken', { word: 'Polly' }]]);
    for (const client of [forum.guest, forum.as.ada, forum.as.mia])
      expect(await visibleEvents(client, since())).toEqual([]);
  });

  test('is still logged after the plugin is enabled again, and only once if its job is repeated', async () => {
    await mark();
    await forum.app.app.kernel.disable('parrot');
    await forum.app.app.kernel.enable('parrot');
    await forum.app.app.data.all(sql`insert into job (id, listener, payload)
      select '01990000-0000-7000-8000-000000000001', 'events/parrot.spoken', '{"word":"Again"}'`);
    await parrot.emit(spoken, { word: 'Wake', secret: '' });
    await settled(forum.app);
    await forum.app.app.data.all(sql`insert into job (id, listener, payload)
      select '01990000-0000-7000-8000-000000000001', 'events/parrot.spoken', '{"word":"Again"}'`);
    await parrot.emit(spoken, { word: 'Wake', secret: '' });
    const words = (await visibleEvents(forum.as.root, since())).map(({ data }) => (data as { word: string }).word);
    expect(words.toSorted()).toEqual(['Again', 'Wake', 'Wake']);
  });

  test('that does not match its own schema is reported as a failed job, and does not block later events', async () => {
    await parrot.emit(spoken, { word: 7 as unknown as string, secret: '' });
    await parrot.emit(spoken, { word: 'After it', secret: '' });
    await expect
      .poll(
        async () =>
          (await forum.app.app.jobs.report()).find(({ listener }) => listener === 'events/parrot.spoken')?.error,
      )
      .toMatch(/"parrot.spoken" was raised with a payload that does not match its public schema: word must be string/);
    await expect
      .poll(async () => (await forum.as.root.get(`/api/events?limit=100${since()}`)).text)
      .toContain('After it');
  });
});
