import { describe, expect, test } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';

/** Members follow categories, tags and each other, and are notified of new discussions there. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const data = (): Data => forum.app.app.service(Data);
const follow = (name: Name, kind: string, id: string, following = true) =>
  forum.as[name].post('/api/subscriptions/follow', { kind, subject_id: id, following });
const follows = async (name: Name): Promise<any[]> =>
  expectStatus(await forum.as[name].get('/api/users/follows'), 200).body.follows;
const begin = async (name: Name, title: string, category = 'general', tags: readonly string[] = []) => {
  const body = { title, content: `About ${title}`, category_id: category, tags };
  return expectStatus(await forum.as[name].post('/api/discussions', body), 201).body.discussion_id as string;
};
/** Titles of new discussions of which a member was notified. */
const notified = async (name: Name): Promise<readonly string[]> => {
  await forum.app.calm();
  const { notifications } = (await forum.as[name].get('/api/notifications?limit=100')).body;
  return notifications.filter(({ type }: any) => type === 'new_discussion').map(({ title }: any) => title);
};

describe('a follower', () => {
  test('of a category, a tag or a member is notified once of each new discussion there', async () => {
    await begin('bob', 'Before', 'help', ['keel']);
    await forum.app.calm();
    expectStatus(await follow('ada', 'category', 'help'), 200);
    expectStatus(await follow('ada', 'tag', 'keel'), 200);
    expectStatus(await follow('ada', 'member', forum.ids.mia), 200);
    const id = await begin('bob', 'In the category', 'help', ['keel']);
    await begin('bob', 'With the tag', 'general', ['keel']);
    await begin('mia', 'By her');
    await begin('bob', 'Of no concern');
    await forum.reply('bob', id, 'A reply is no new discussion');
    // Each is a separate job, so the order may differ.
    const toAda = async (): Promise<readonly string[]> => (await notified('ada')).toSorted();
    await expect.poll(toAda).toEqual(['By her', 'In the category', 'With the tag']);
    expect(await notified('bob')).toEqual([]);
  });

  test('who is mentioned in a new discussion gets only the mention notification', async () => {
    await follow('bob', 'category', 'announcements');
    const body = { title: 'Named', content: 'Hello @bob', category_id: 'announcements' };
    expectStatus(await forum.as.root.post('/api/discussions', body), 201);
    expect(await notified('bob')).toEqual([]);
    const { notifications } = (await forum.as.bob.get('/api/notifications')).body;
    expect(notifications[0]).toMatchObject({ type: 'mention', title: 'Named' });
  });

  test('is not notified of what they can no longer see, which is not listed either', async () => {
    const categories = forum.app.app.service(Categories);
    const shed = await categories.save({ name: 'Shed' });
    await follow('ada', 'category', shed.slug);
    expect(await follows('ada')).toContainEqual(expect.objectContaining({ kind: 'category', url: '/c/shed' }));
    await categories.save({ ...shed, view: ['admin'] });
    await begin('root', 'Locked up', 'shed');
    expect(await notified('ada')).not.toContain('Locked up');
    expect(await follows('ada')).not.toContainEqual(expect.objectContaining({ url: '/c/shed' }));
    const { general = '' } = Object.fromEntries(categories.all().map(({ slug, id }) => [slug, id]));
    await forum.as.root.submit('/admin/categories/delete', { id: shed.id, move_to: general });
    const rows = await data().all(sql`select 1 from follow where subject_id = ${shed.id}`);
    expect(rows).toEqual([]);
  });

  test('gets no notifications after unfollowing', async () => {
    await follow('ada', 'category', 'help', false);
    await begin('bob', 'Unheard', 'help');
    expect(await notified('ada')).not.toContain('Unheard');
    expectStatus(await follow('ada', 'category', 'help', false), 200);
  });
});

describe('following', () => {
  test('is a button on the page, without JavaScript', async () => {
    const at = '/c/general';
    expect((await forum.as.bob.get(at)).text).toContain('<span>Follow</span>');
    const sent = await forum.as.bob.submit('/follows', { kind: 'category', subject_id: 'general', level: 'following' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, at]);
    expect((await forum.as.bob.get(at)).text).toContain('<span>Following</span>');
    expect((await forum.as.bob.get('/following')).text).toContain('href="/c/general"');
    expect((await forum.as.ada.get(at)).text).toContain('<span>Follow</span>');
    expect((await forum.guest.get(at)).text).not.toContain('action="/follows"');
    expect((await forum.as.bob.get('/u/ada')).text).toContain('<span>Follow</span>');
    expect((await forum.as.bob.get('/u/bob')).text).not.toContain('action="/follows"');
    await begin('bob', 'Tagged', 'general', ['mast']);
    expect((await forum.as.ada.get('/t/mast')).text).toContain('<span>Follow</span>');
  });

  test('requires a member, and a subject other than themselves that they can see', async () => {
    const absent = await follow('ada', 'category', 'no-such-category');
    const hidden = await follow('ada', 'category', 'staff');
    expect([absent.status, hidden.status, hidden.body.error]).toEqual([404, 404, absent.body.error]);
    expect((await follow('ada', 'tag', 'no-such-tag')).status).toBe(404);
    expect((await follow('ada', 'member', 'nobody')).status).toBe(404);
    expect((await follow('ada', 'member', forum.ids.ada)).status).toBe(404);
    expect((await follow('ada', 'boat', 'x')).status).toBe(400);
    expect((await follow('bad', 'category', 'general')).status).toBe(403);
    expect(
      (
        await forum.guest.post('/api/subscriptions/follow', {
          kind: 'category',
          subject_id: 'general',
          following: true,
        })
      ).status,
    ).toBe(401);
    expect((await forum.guest.get('/api/users/follows')).status).toBe(401);
  });

  test('and muting move on when tags are merged, without overriding an existing level', async () => {
    await begin('root', 'Spliced', 'general', ['splice', 'Splices']);
    const idOf = async (slug: string): Promise<string> => (await forum.guest.get(`/api/tags/${slug}`)).body.tag.id;
    const [splice, splices] = [await idOf('splice'), await idOf('splices')];
    const mute = async (name: Name, id: string): Promise<void> => {
      const body = { kind: 'tag', subject_id: id, muted: true };
      expectStatus(await forum.as[name].post('/api/subscriptions/mute', body), 200);
    };
    for (const name of ['ada', 'mia'] as const) expectStatus(await follow(name, 'tag', splice), 200);
    await mute('bob', splice);
    await mute('mia', splices);
    const deleted = await forum.as.root.submit('/admin/tags/delete', { id: splice, merge_into: 'SPLICES' });
    expect(deleted.status).toBe(303);
    const rows = await data().all(sql`select user_id as id, is_muted as muted from follow
      where subject_id in (${splice}, ${splices}) and kind = 'tag' order by user_id`);
    const { ada, bob, mia } = forum.ids;
    expect(rows).toEqual([
      { id: ada, muted: false },
      { id: bob, muted: true },
      { id: mia, muted: true },
    ]);
    await begin('root', 'Well spliced', 'general', ['splices']);
    expect(await notified('ada')).toContain('Well spliced');
    expect((await follows('ada')).map(({ url }) => url)).toContain('/t/splices');
  });

  test('can be ended for a subject that is no longer visible', async () => {
    const loft = await forum.app.app.service(Categories).save({ name: 'Loft' });
    const accounts = forum.app.app.service(Accounts);
    const { id: gone } = await accounts.create({ username: 'gone', email: 'gone@forum.test', password: PASSWORD });
    const followed = [['category', loft.id] as const, ['member', gone] as const];
    for (const [kind, id] of followed) expectStatus(await follow('bob', kind, id), 200);
    await forum.app.app.service(Categories).save({ ...loft, view: ['admin'] });
    await accounts.setStatus(gone, 'disabled');
    for (const [kind, id] of followed) {
      expect((await follow('bob', kind, id)).status).toBe(404);
      expect((await follow('bob', kind, id, false)).body).toMatchObject({ kind, subject_id: id, following: false });
      expect((await follow('bob', kind, id, false)).status).toBe(404);
    }
    expect(
      await data().all(
        sql`select 1 from follow where user_id = ${forum.ids.bob} and subject_id in (${loft.id}, ${gone})`,
      ),
    ).toEqual([]);
  });

  test('can be ended with the button of a disabled member', async () => {
    const accounts = forum.app.app.service(Accounts);
    const { id } = await accounts.create({ username: 'left', email: 'left@forum.test', password: PASSWORD });
    const form = (level: string) => ({ kind: 'member', subject_id: id, level });
    expect((await forum.as.bob.submit('/follows', form('following'))).status).toBe(303);
    await accounts.setStatus(id, 'disabled');
    expect((await forum.as.bob.get('/u/left')).text).toContain('<span>Following</span>');
    expect((await forum.as.bob.submit('/follows', form('normal'))).headers.get('location')).toBe('/following');
    expect((await follows('bob')).map(({ subject_id: subject }) => subject)).not.toContain(id);
    expect((await forum.as.bob.submit('/follows', form('following'))).status).toBe(404);
  });

  test('is limited to 500 subjects, with a helpful error', async () => {
    const { root } = forum.ids;
    await data().all(sql`insert into follow (user_id, kind, subject_id, created_at)
      select ${root}, 'member', gen_random_uuid(), now() from generate_series(1, 500)`);
    const refused = await follow('root', 'category', 'general');
    expect([refused.status, refused.body.error]).toEqual([
      400,
      'You follow 500 categories, tags and members; stop following one first',
    ]);
    await data().all(sql`delete from follow where user_id = ${root}`);
  });
});
