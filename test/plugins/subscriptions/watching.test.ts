import { beforeEach, describe, expect, test } from 'vitest';
import { Categories } from 'parley-forum/plugins/discussions';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { listOf, readAll, settled } from '../notifications/inbox.ts';

/** Members watch categories and tags, and are notified of every reply there. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const watch = (name: Name, kind: string, id: string, level = 'watching') =>
  forum.as[name].post('/api/subscriptions/follow', { kind, subject_id: id, following: true, level });
const stop = (name: Name, kind: string, id: string) =>
  forum.as[name].post('/api/subscriptions/follow', { kind, subject_id: id, following: false });
const begin = async (name: Name, title: string, category: string, tags: readonly string[] = []): Promise<string> => {
  const body = { title, content: `About ${title}`, category_id: category, tags };
  const { discussion_id: id } = expectStatus(await forum.as[name].post('/api/discussions', body), 201).body;
  await settled(forum);
  return id;
};
/** The unread notifications of a member: type, title and how many things each stands for. */
const notified = async (name: Name): Promise<readonly unknown[]> => {
  await settled(forum);
  return (await listOf(forum.as[name], '?unread=true')).map(({ type, title, count }) => [type, title, count]);
};
const choose = async (name: Name, id: string, level: string) =>
  expectStatus(await forum.as[name].post('/api/subscriptions/toggle', { discussion_id: id, level }), 200);

beforeEach(async () => {
  await settled(forum);
  for (const name of ['ada', 'bob', 'mia'] as const) await readAll(forum.as[name]);
});

describe('who watches', () => {
  test('a category or a tag is notified once of every reply in its discussions, and of new ones', async () => {
    const id = await begin('bob', 'Old', 'help', ['keel']);
    expect((await watch('ada', 'category', 'help')).body).toMatchObject({ following: true, level: 'watching' });
    expectStatus(await watch('ada', 'tag', 'keel'), 200);
    await forum.reply('bob', id, 'First');
    expect(await notified('ada')).toEqual([['reply', 'Old', 1]]);
    await begin('bob', 'New', 'help');
    expect(await notified('ada')).toContainEqual(['new_discussion', 'New', 1]);
    const tagged = await begin('bob', 'Tagged', 'general', ['keel']);
    await readAll(forum.as.ada);
    await forum.reply('bob', tagged, 'Second');
    expect(await notified('ada')).toEqual([['reply', 'Tagged', 1]]);
    await forum.reply('ada', tagged, 'My own');
    expect(await notified('ada')).toEqual([['reply', 'Tagged', 1]]);
  });

  test('is not notified where they chose so for the discussion, or muted something else about it', async () => {
    await watch('ada', 'category', 'help');
    const [muted, normal, other] = [
      await begin('bob', 'Muted', 'help'),
      await begin('bob', 'Normal', 'help'),
      await begin('bob', 'Tag muted', 'help', ['noise']),
    ];
    await readAll(forum.as.ada);
    await choose('ada', muted, 'muted');
    await choose('ada', normal, 'normal');
    await forum.as.ada.post('/api/subscriptions/mute', { kind: 'tag', subject_id: 'noise', muted: true });
    for (const id of [muted, normal, other]) await forum.reply('bob', id, 'Unheard');
    expect(await notified('ada')).toEqual([]);
  });

  test('is notified also after writing there, which tracks the discussion', async () => {
    await watch('ada', 'category', 'help');
    const id = await begin('bob', 'Joined', 'help');
    await forum.reply('ada', id, 'Hello');
    await settled(forum);
    await readAll(forum.as.ada);
    await forum.reply('bob', id, 'Hello, too');
    expect(await notified('ada')).toEqual([['reply', 'Joined', 1]]);
  });

  test('is notified of nothing that they can no longer see', async () => {
    const categories = forum.app.app.service(Categories);
    const shed = await categories.save({ name: 'Shed' });
    const id = await begin('root', 'In the shed', 'shed');
    await watch('ada', 'category', 'shed');
    await categories.save({ ...shed, view: ['admin'] });
    await forum.reply('root', id, 'Behind doors');
    expect(await notified('ada')).toEqual([]);
  });

  test('is no longer notified of replies after following less closely, or not at all', async () => {
    const id = await begin('bob', 'Quieter', 'general', ['quiet']);
    await watch('mia', 'tag', 'quiet');
    await watch('mia', 'tag', 'quiet', 'following');
    await forum.reply('bob', id, 'One');
    expect(await notified('mia')).toEqual([]);
    await watch('mia', 'tag', 'quiet');
    expect((await stop('mia', 'tag', 'quiet')).body).toMatchObject({ following: false, level: 'normal' });
    await forum.reply('bob', id, 'Two');
    expect(await notified('mia')).toEqual([]);
  });
});

describe('watching', () => {
  test('is one of the levels in the menu of a category and a tag, without JavaScript', async () => {
    await begin('bob', 'Listed', 'general', ['listed']);
    for (const [kind, at] of [
      ['category', '/c/general'],
      ['tag', '/t/listed'],
    ] as const) {
      expect((await forum.as.bob.get(at)).text).toContain('name="level" value="watching" aria-pressed="false"');
      const id = at.slice(3);
      const sent = await forum.as.bob.submit('/follows', { kind, subject_id: id, level: 'watching' });
      expect([sent.status, sent.headers.get('location')]).toEqual([303, at]);
      const text = (await forum.as.bob.get(at)).text;
      expect(text).toContain('<span>Watching</span>');
      expect(text).toContain('name="level" value="watching" aria-pressed="true"');
    }
    const { follows } = (await forum.as.bob.get('/api/users/follows')).body;
    expect(follows.map(({ url, level }: any) => [url, level]).toSorted()).toEqual([
      ['/c/general', 'watching'],
      ['/t/listed', 'watching'],
    ]);
    await forum.as.bob.submit('/follows', { kind: 'tag', subject_id: 'listed', level: 'normal' });
    expect((await forum.as.bob.get('/t/listed')).text).toContain('<span>Follow</span>');
  });

  test('shows in the menu of its discussions', async () => {
    await watch('ada', 'category', 'help');
    const id = await begin('bob', 'Shown', 'help');
    const { number } = (await forum.guest.get(`/api/discussions/${id}`)).body.discussion;
    const label = async () =>
      /notification level:<\/span> ([^<]*)</i.exec((await forum.as.ada.get(`/d/${number}-shown`)).text)?.[1];
    expect(await label()).toBe('Watching');
    await choose('ada', id, 'muted');
    expect(await label()).toBe('Muted');
  });

  test('is not for members, guests, or what is hidden', async () => {
    const refused = await watch('ada', 'member', forum.ids.bob);
    expect([refused.status, refused.body.errors?.[0]?.field ?? 'level']).toEqual([400, 'level']);
    expect((await forum.as.ada.get('/u/bob')).text).not.toContain('value="watching"');
    expect((await watch('ada', 'category', 'staff')).status).toBe(404);
    expect((await watch('bad', 'category', 'help')).status).toBe(403);
    const body = { kind: 'category', subject_id: 'help', following: true, level: 'watching' };
    expect((await forum.guest.post('/api/subscriptions/follow', body)).status).toBe(401);
  });
});
