import { describe, expect, test } from 'vitest';
import { Categories } from 'parley-forum/plugins/discussions';
import { settled } from '../audit/settled.ts';
import { expectStatus, useForum, type Name } from './forum.ts';

/** Bulk actions of moderators on discussions. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const inBulk = (ids: readonly string[], action: string, more: object = {}) =>
  forum.as.mia.post('/api/discussions/bulk', { discussion_ids: ids, action, ...more });
/** Submits the form as a browser does. */
const choose = async (ids: readonly string[], action: string) => {
  const { mia } = forum.as;
  const form = new URLSearchParams({ _csrf: await mia.csrf('/'), action });
  for (const id of ids) form.append('ids[]', id);
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return mia.request('POST', '/mod/discussions', { body: Buffer.from(String(form)), headers });
};
const several = async (titles: readonly string[]): Promise<readonly string[]> =>
  Promise.all(titles.map(async (title) => (await forum.start('ada', title)).id));
const record = async (id: string): Promise<any> => (await forum.as.mia.get(`/api/discussions/${id}`)).body.discussion;

describe('several discussions at once', () => {
  test('are locked, pinned, moved, deleted and restored, each with its event and log entry', async () => {
    const ids = await several(['Anchors', 'Buoys']);
    forum.happened.length = 0;
    expectStatus(await inBulk(ids, 'lock', { reason: 'Winter' }), 200);
    expectStatus(await inBulk(ids, 'pin'), 200);
    expectStatus(await inBulk(ids, 'move', { category_id: 'help' }), 200);
    for (const id of ids)
      expect(await record(id)).toMatchObject({ is_locked: true, is_pinned: true, category: { slug: 'help' } });
    expectStatus(await inBulk(ids, 'delete'), 200);
    expect((await forum.guest.get(`/api/discussions/${ids[0]}`)).status).toBe(404);
    expectStatus(await inBulk(ids, 'restore'), 200);
    expect((await forum.guest.get(`/api/discussions/${ids[0]}`)).status).toBe(200);
    expectStatus(await inBulk(ids, 'unlock'), 200);
    expectStatus(await inBulk(ids, 'unpin'), 200);
    expect(await record(ids[1]!)).toMatchObject({ is_locked: false, is_pinned: false });
    expect(forum.happened.filter(({ action }) => action === 'discussion.deleted')).toHaveLength(2);
    const log = (await forum.as.mia.get('/mod/log')).text;
    expect(log.match(/Winter/g)).toHaveLength(2);
  });

  test('get a tag or lose one, and keep their others, with a log entry for each that changes', async () => {
    const tagged = async (title: string, tags: readonly string[]): Promise<string> =>
      (await forum.as.ada.post('/api/discussions', { title, content: 'x', category_id: 'general', tags })).body
        .discussion.id;
    const ids = [await tagged('Oars', ['wood']), await tagged('Paddles', ['Rowing'])];
    const tags = async (id: string) => (await record(id)).tags.map(({ name }: { name: string }) => name);
    expect(expectStatus(await inBulk(ids, 'tag', { tag: 'rowing', reason: 'Sorted' }), 200).body.results).toMatchObject(
      [{ success: true }, { success: true }],
    );
    expect([await tags(ids[0]!), await tags(ids[1]!)]).toEqual([['wood', 'Rowing'], ['Rowing']]);
    await settled(forum.app);
    const log = async () => (await forum.as.mia.get('/mod/log?action=discussion.tagged')).text.match(/Sorted/g)?.length;
    expect(await log()).toBe(1);
    expectStatus(await inBulk(ids, 'untag', { tag: 'ROWING', reason: 'Sorted' }), 200);
    expect([await tags(ids[0]!), await tags(ids[1]!)]).toEqual([['wood'], []]);
    await settled(forum.app);
    expect(await log()).toBe(3);
  });

  test('that have as many tags as possible keep them, and the result says so', async () => {
    const { id } = (
      await forum.as.ada.post('/api/discussions', {
        title: 'Full',
        content: 'x',
        category_id: 'general',
        tags: ['a1', 'a2', 'a3', 'a4', 'a5'],
      })
    ).body.discussion;
    expect(expectStatus(await inBulk([id], 'tag', { tag: 'a6' }), 200).body.results).toEqual([
      { discussion_id: id, success: false, error: 'must be at most 5 tags' },
    ]);
  });

  test('are merged into another one, to which their URLs lead; that one itself stays', async () => {
    const ids = await several(['Rudders', 'Tillers', 'Wheels']);
    const { body } = expectStatus(await inBulk(ids, 'merge', { into: ids[2], reason: 'Same' }), 200);
    expect(body.results).toEqual([
      { discussion_id: ids[0], success: true },
      { discussion_id: ids[1], success: true },
      { discussion_id: ids[2], success: false, error: 'is the discussion that the posts are already in' },
    ]);
    expect((await record(ids[2]!)).reply_count).toBe(2);
    expect((await forum.guest.get(`/api/discussions/${ids[0]}`)).status).toBe(404);
    await settled(forum.app);
    expect((await forum.as.mia.get('/mod/log?action=discussion.merged')).text.match(/Same/g)).toHaveLength(2);
  });

  test('are not merged into a discussion that the moderator may not see', async () => {
    const [id] = await several(['Yawls']);
    const hidden = await forum.app.app.service(Categories).save({ name: 'Owners', slug: 'bulk-owners', view: [] });
    const secret = await forum.start('root', 'Secret yawls', hidden.slug);
    for (const into of [secret.id, String(secret.number), 'nothing', undefined]) {
      const { details } = expectStatus(await inBulk([id!], 'merge', { into }), 400).body;
      expect(details[0]).toEqual({ field: 'into', message: 'is not a discussion you can see' });
    }
    expect((await record(id!)).id).toBe(id);
  });

  test('are handled separately: a failure of one does not affect the others', async () => {
    const [id] = await several(['Compasses']);
    const categories = forum.app.app.service(Categories);
    const closed = await categories.save({ name: 'Closed quay', create: [] });
    const absent = '01890000-0000-7000-8000-000000000000';
    const { body } = expectStatus(await inBulk([absent, id!, id!], 'lock'), 200);
    expect(body.results).toEqual([
      { discussion_id: absent, success: false, error: 'There is no such discussion' },
      { discussion_id: id, success: true },
    ]);
    const refused = expectStatus(await inBulk([id!], 'move', { category_id: closed.slug }), 200).body.results;
    expect(refused).toEqual([
      { discussion_id: id, success: false, error: 'You may not start discussions in that category' },
    ]);
    expect(await record(id!)).toMatchObject({ is_locked: true, category: { slug: 'general' } });
  });

  test.each([
    [{ action: 'move' }, 'category_id'],
    [{ action: 'move', category_id: 'no-such-category' }, 'category_id'],
    [{ action: 'sink' }, 'action'],
    [{ action: 'tag' }, 'tag'],
    [{ action: 'untag', tag: ' ' }, 'tag'],
    [{ action: 'lock', discussion_ids: [] }, 'discussion_ids'],
    [{ action: 'lock', discussion_ids: Array.from({ length: 51 }, () => 'x') }, 'discussion_ids'],
  ])('%o is refused and names %s', async (body, field) => {
    const given = { discussion_ids: ['x'], ...body };
    const { details } = expectStatus(await forum.as.mia.post('/api/discussions/bulk', given), 400).body;
    expect(details[0].field).toBe(field);
  });
});

describe('the page for bulk actions', () => {
  test('lists the discussions of a category or an author, and is linked from lists for moderators', async () => {
    await forum.start('bob', 'Davits of bob');
    await forum.start('ada', 'Davits of ada');
    const { text } = await forum.as.mia.get('/mod/discussions?author=Bob');
    expect(text).toContain('Davits of bob');
    expect(text).not.toContain('Davits of ada');
    expect((await forum.as.mia.get('/mod/discussions?category=help')).text).not.toContain('Davits of bob');
    expect((await forum.as.mia.get('/mod/discussions?author=nobody')).text).toContain('There is no such discussion');
    expect((await forum.as.mia.get('/c/general')).text).toContain('/mod/discussions?category=general');
    expect((await forum.as.ada.get('/c/general')).text).not.toContain('/mod/discussions');
    expect((await forum.as.ada.get('/mod/discussions')).status).toBe(403);
  });

  test('is offered on every list to those who moderate it, with a bar of actions that opens in place', async () => {
    const offered = async (who: Name, path: string) => (await forum.as[who].get(path)).text;
    await forum.as.ada.post('/api/discussions', {
      title: 'Tagged davits',
      content: 'x',
      category_id: 'general',
      tags: ['davits'],
    });
    for (const path of ['/', '/c/general', '/t/davits', '/unread', '/following']) {
      expect(await offered('mia', path), path).toMatch(/class="[^"]*list-select" href="\/mod\/discussions/);
      expect(await offered('mia', path), path).toMatch(/<x-choose-rows [^>]*data-most="50"/);
      expect(await offered('ada', path), path).not.toMatch(/list-select|<x-choose-rows/);
    }
    expect((await forum.guest.get('/')).text).not.toContain('<x-choose-rows');
    expect(await offered('mia', '/c/general')).toContain('<input type="hidden" name="category" value="general">');
  });

  test('takes discussions by number too, as the rows of a list name them', async () => {
    const { id, number } = await forum.start('ada', 'Leeboards');
    expect((await choose([String(number)], 'lock')).text).toContain('1 discussion is locked.');
    expect(await record(id)).toMatchObject({ is_locked: true });
  });

  test('lists only what was selected elsewhere, all of it selected, if the URL says so', async () => {
    const [one, two] = [await forum.start('ada', 'Mainsails'), await forum.start('ada', 'Mizzens')];
    const secret = await forum.app.app.service(Categories).save({ name: 'Owners', slug: 'owners', view: [] });
    const hidden = await forum.start('root', 'Secret sails', secret.slug);
    const { text } = await forum.as.mia.get(`/mod/discussions?chosen=${one.number},${two.id},${hidden.number},x`);
    for (const id of [one.id, two.id]) expect(text).toContain(`value="${id}" checked`);
    expect(text.match(/name="ids\[\]"/g)).toHaveLength(2);
    expect(text).not.toContain('Secret sails');
    expect(text).toContain('Only what you have selected is listed.');
    expect(text).toMatch(/<select id="f-action"[^>]*>\s*<option value="lock">Lock<\/option>/);
    expect(text).toContain('<option value="tag">Add tag</option>');
    expect((await forum.as.ada.get(`/mod/discussions?chosen=${one.number}`)).status).toBe(403);
  });

  test('shows what was selected in another list when the form is refused', async () => {
    const { id, number } = await forum.start('ada', 'Nettings');
    const { mia } = forum.as;
    const form = new URLSearchParams({ _csrf: await mia.csrf('/'), action: 'move', category: 'help' });
    form.append('ids[]', String(number));
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status, text } = await mia.request('POST', '/mod/discussions', {
      body: Buffer.from(String(form)),
      headers,
    });
    expect([status, text.includes(`value="${id}" checked`)]).toEqual([400, true]);
  });

  test('reports what was done and what was not, and undoes a deletion', async () => {
    const ids = await several(['Fenders', 'Gaffs']);
    const done = await choose(ids, 'delete');
    expect(done.text).toContain('2 discussions are deleted.');
    expect(done.text).toContain('value="restore"');
    const back = await choose(ids, 'restore');
    expect(back.text).toContain('2 discussions are back.');
    const absent = '01890000-0000-7000-8000-000000000000';
    const partly = await choose([ids[0]!, absent], 'lock');
    expect(partly.text).toContain('1 discussion is locked. 1 stays as it was:');
    expect(partly.text).toContain('There is no such discussion');
    const nothing = await choose([], 'lock');
    expect(nothing.status).toBe(400);
    expect(nothing.text).toContain('Choose at least one discussion');
  });

  test('keeps the selection when the form is refused', async () => {
    const [id] = await several(['Halyards']);
    const { status, text } = await choose([id!], 'move');
    expect(status).toBe(400);
    expect(text).toContain(`value="${id}" checked`);
    expect(text).toContain('must be a category you can see');
  });
});
