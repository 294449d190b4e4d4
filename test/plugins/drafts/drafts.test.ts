import { describe, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum({ 'drafts.most': 4, 'drafts.bytes': 400_000 });
const DAY = 86_400_000;

const put = (name: Name, key: string, fields: object, replaces?: string | null) =>
  forum.as[name].put(`/api/drafts/${key}`, { fields, ...(replaces !== undefined && { replaces }) });
const listed = async (name: Name, query = ''): Promise<any[]> =>
  expectStatus(await forum.as[name].get(`/api/drafts${query}`), 200).body.drafts;
const keysOf = async (name: Name): Promise<string[]> => (await listed(name)).map(({ key }) => key);
const page = async (path: string, name: Name): Promise<string> =>
  expectStatus(await forum.as[name].get(path), 200).text;
/** Advances the clock so that the next change is newer than all before. */
const later = (): void => void forum.app.clock.advance(1_000);
async function clear(name: Name): Promise<void> {
  for (const key of await keysOf(name)) expectStatus(await forum.as[name].delete(`/api/drafts/${key}`), 200);
}

describe('a draft', () => {
  test('is saved as filled in, one for each form, newest first, visible only to its owner', async () => {
    const { id, number, postId } = await forum.start('ada', 'Varnish');
    const own = await forum.start('bob', 'Own');
    await put('bob', 'new', { title: 'Which oil', content: 'First', tags: 'oil' });
    later();
    await put('bob', `reply-${id}`, { content: 'Not that' });
    later();
    await put('bob', `edit-${own.postId}`, { content: 'Otherwise' });
    later();
    const fields = { title: 'Which oil', content: 'Second **one**', tags: 'oil', category_id: 'x', 'poll=yes': true };
    const { body } = expectStatus(await put('bob', 'new', fields), 200);
    const all = await listed('bob');
    expect(all).toMatchObject([
      {
        key: 'new',
        fields,
        updated_at: body.updated_at,
        title: 'Which oil',
        excerpt: 'Second one',
        url: 'http://forum.test/new?draft=1',
      },
      { key: `edit-${own.postId}`, title: 'Own', url: `http://forum.test/p/${own.postId}/edit?draft=1` },
      { key: `reply-${id}`, title: 'Varnish', url: `http://forum.test/d/${number}/reply?draft=1` },
    ]);
    expect((await forum.as.bob.get('/api/drafts/new')).body.draft).toEqual(all[0]);
    expect([await listed('ada'), (await forum.as.ada.get('/api/drafts/new')).status]).toEqual([[], 404]);
    expect((await forum.guest.get('/api/drafts')).status).toBe(401);
    const first = (await forum.as.bob.get('/api/drafts?limit=2')).body;
    expect(await listed('bob', `?limit=2&cursor=${first.next_cursor}`)).toEqual(all.slice(2));
    expect(postId).not.toBe(own.postId);
    await clear('bob');
  });

  test('is not overwritten when another device has saved it in the meantime', async () => {
    const { updated_at: first } = expectStatus(await put('bob', 'new', { content: 'Here' }, null), 200).body;
    later();
    const { updated_at: second } = expectStatus(await put('bob', 'new', { content: 'There' }, first), 200).body;
    for (const replaces of [first, null]) {
      const refused = await put('bob', 'new', { content: 'Here again' }, replaces);
      expect([refused.status, refused.body.code]).toEqual([409, 'draft_changed']);
    }
    expect((await listed('bob'))[0].fields).toEqual({ content: 'There' });
    for (const never of ['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:00', '2026-01-01T23:59:60Z'])
      expect((await put('bob', 'new', { content: 'x' }, never)).status, never).toBe(400);
    expectStatus(await put('bob', 'new', { content: 'Both' }, second), 200);
    await clear('bob');
  });

  test('is accepted only for text forms whose target the member may see', async () => {
    const hidden = await forum.start('mia', 'Hidden', 'staff');
    const absent = '01890000-0000-7000-8000-000000000000';
    const none = [
      `reply-${hidden.id}`,
      `edit-${hidden.postId}`,
      `reply-${absent}`,
      'login',
      'settings',
      'reply-',
      'new-1',
    ];
    for (const key of none) expect((await put('ada', key, { content: 'x' })).status, key).toBe(404);
    for (const fields of [
      { password: 'x' },
      { new_password: 'x' },
      { _csrf: 'x' },
      {},
      { '': 'x' },
      { ['x'.repeat(201)]: 'x' },
      { content: 1 },
      { content: 'x'.repeat(300_001) },
      { 'con\0tent': 'x' },
      { 'con\ud800tent': 'x' },
    ])
      expect((await put('ada', 'new', fields)).status, JSON.stringify(fields).slice(0, 50)).toBe(400);
    expect(await listed('ada')).toEqual([]);
  });

  test('is refused beyond the limits, while existing drafts can still be changed', async () => {
    const some = await Promise.all([1, 2, 3, 4].map((at) => forum.start('mia', `Room ${at}`)));
    for (const { id } of some) expectStatus(await put('ada', `reply-${id}`, { content: 'x' }), 200);
    const refused = await put('ada', 'new', { content: 'x' });
    expect([refused.status, refused.body.code]).toEqual([409, 'draft_limit']);
    expectStatus(await put('ada', `reply-${some[0]!.id}`, { content: 'y'.repeat(250_000) }), 200);
    expect((await put('ada', `reply-${some[1]!.id}`, { content: 'y'.repeat(250_000) })).status).toBe(409);
    await clear('ada');
  });

  test('that is large shares its page of the list with fewer others, and is never put in a URL', async () => {
    const settings = forum.app.app.service(Settings);
    await settings.set({ 'drafts.bytes': 2_000_000 });
    const keys: string[] = [];
    for (const at of [1, 2, 3, 4]) {
      const { id } = await forum.start('mia', `Long ${at}`);
      keys.unshift(`reply-${id}`);
      expectStatus(await put('ada', keys[0]!, { content: `Draft ${at}`, '?to': '😀'.repeat(60_000) }), 200);
      later();
    }
    const pages: string[][] = [];
    for (let cursor: string | undefined, more = true; more;) {
      const { text, body } = await forum.as.ada.get(`/api/drafts?limit=100${cursor ? `&cursor=${cursor}` : ''}`);
      expect(text.length).toBeLessThan(600_000);
      for (const { url } of body.drafts) expect(url).toMatch(/^http:\/\/forum\.test\/d\/\d+\/reply\?draft=1$/);
      pages.push(body.drafts.map(({ key }: { key: string }) => key));
      [cursor, more] = [body.next_cursor, body.hasMore];
    }
    expect(pages).toEqual([keys.slice(0, 2), keys.slice(2)]);
    const rest = (await forum.as.ada.get('/api/drafts?offset=2')).body;
    expect([rest.drafts.map(({ key }: { key: string }) => key), rest.hasMore]).toEqual([keys.slice(2), false]);
    const html = await page('/drafts', 'ada');
    expect([html.match(/reply\?draft=1/g)?.length, html.length < 100_000]).toEqual([4, true]);
    await settings.set({ 'drafts.bytes': 400_000 });
    await clear('ada');
  });

  test('is deleted when its content is posted, but not when other content is', async () => {
    const { id, number } = await forum.start('ada', 'Sent');
    const own = await forum.start('bob', 'Changed');
    await put('bob', 'new', { title: 'A question', content: 'Why?' });
    await put('bob', `reply-${id}`, { content: 'Because\r\nof this' });
    await put('bob', `edit-${own.postId}`, { content: 'Better' });
    await forum.start('bob', 'Another question');
    await forum.reply('bob', id, 'By the way');
    await forum.as.bob.put(`/api/posts/${own.postId}`, { content: 'Worse' });
    expect((await keysOf('bob')).length).toBe(3);
    await forum.as.bob.submit('/new', { title: 'A question', content: 'Why?', category_id: 'general' });
    await forum.as.bob.submit(`/d/${number}/reply`, { content: 'Because\nof this' });
    await forum.as.bob.put(`/api/posts/${own.postId}`, { content: 'Better' });
    expect(await keysOf('bob')).toEqual([]);
  });

  test('of a reply follows its discussion when it is merged, appended to any draft already there', async () => {
    for (const name of ['ada', 'bob'] as const) await clear(name);
    const [from, to] = [await forum.start('mia', 'Merged away'), await forum.start('mia', 'Merged into')];
    const post = await forum.reply('mia', from.id, 'To be answered');
    await put('bob', `reply-${from.id}`, { content: 'Almost done', '?to': String(post.number) });
    await put('ada', `reply-${from.id}`, { content: 'Begun here' });
    const { body } = await put('ada', `reply-${to.id}`, { content: 'Begun there' });
    later();
    expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/merge`, { into: to.id }), 200);
    expect(await listed('bob')).toMatchObject([
      {
        key: `reply-${to.id}`,
        fields: { content: 'Almost done' },
        title: 'Merged into',
        url: `http://forum.test/d/${to.number}/reply?draft=1`,
      },
    ]);
    const both = 'Begun there\n\nBegun here';
    const [draft, ...others] = await listed('ada');
    expect([draft.key, draft.fields, others]).toEqual([`reply-${to.id}`, { content: both }, []]);
    expect(draft.updated_at > body.updated_at).toBe(true);
    expect(await page(`/d/${to.number}/reply?draft=1`, 'ada')).toContain(`>\n${both}</textarea>`);
    expectStatus(await forum.as.bob.post('/api/posts', { discussion_id: to.id, content: 'Almost done' }), 201);
    expect(await listed('bob')).toEqual([]);
    await clear('ada');
  });

  test('of a reply stays where it is when posts of its discussion are moved', async () => {
    const [from, to] = [await forum.start('mia', 'Stays'), await forum.start('mia', 'Takes some')];
    const post = await forum.reply('mia', from.id, 'Moves');
    await put('bob', `reply-${from.id}`, { content: 'For those that stay' });
    const body = { post_ids: [post.id], discussion_id: to.id };
    expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/move-posts`, body), 200);
    expect(await keysOf('bob')).toEqual([`reply-${from.id}`]);
    await clear('bob');
  });

  test('can be discarded when it no longer exists, but not for an unknown form', async () => {
    await put('bob', 'new', { content: 'Away with it' });
    for (let time = 0; time < 2; time++) expectStatus(await forum.as.bob.delete('/api/drafts/new'), 200);
    expect(await keysOf('bob')).toEqual([]);
    expectStatus(await forum.as.bob.delete('/api/drafts/nothing'), 404);
    expectStatus(await forum.as.bob.delete(`/api/drafts/reply-${crypto.randomUUID()}`), 404);
  });

  test('of a message is saved per conversation, for a new conversation and for an edited message', async () => {
    const body = { to: ['bob'], subject: 'Between us', content: 'At noon?' };
    const { conversation, message } = expectStatus(await forum.as.ada.post('/api/conversations', body), 201).body;
    const [reply, edit] = [`message-${conversation.id}`, `message-edit-${message.id}`];
    for (const key of [reply, edit, 'message-new', 'message-new-bob']) {
      later();
      const fields = { content: `Of ${key}`, ...(key.startsWith('message-new') && { to: '@bob', subject: 'Ropes' }) };
      expectStatus(await put('ada', key, { ...fields, ...(key === 'message-new-bob' && { '?to': 'bob' }) }), 200);
    }
    expect((await listed('ada')).map(({ key, title, url }) => [key, title, url])).toEqual([
      ['message-new-bob', 'Ropes', 'http://forum.test/messages/new?draft=1&to=bob'],
      ['message-new', 'Ropes', 'http://forum.test/messages/new?draft=1'],
      [edit, 'Between us', `http://forum.test/messages/edit/${message.id}?draft=1`],
      [reply, 'Between us', `http://forum.test/messages/${conversation.id}?draft=1#reply`],
    ]);
    expect(await page('/drafts', 'ada')).toContain('<span class="badge">Private message</span>');
    for (const [path, key] of [
      ['/messages/new?draft=1&to=bob', 'message-new-bob'],
      [`/messages/edit/${message.id}?draft=1`, edit],
      [`/messages/${conversation.id}?draft=1`, reply],
    ] as const)
      expect(await page(path, 'ada')).toContain(`>\nOf ${key}</textarea>`);
    expect(await page(`/messages/${conversation.id}`, 'ada')).not.toContain(`Of ${reply}`);
    expect(await page(`/messages/${conversation.id}`, 'ada')).toContain(`<x-draft data-key="${reply}"`);
    expect(await page(`/messages/${conversation.id}?draft=1`, 'bob')).not.toContain(`Of ${reply}`);
    // The other participant has their own draft there, but none for messages they did not write.
    expectStatus(await put('bob', reply, { content: 'Later' }), 200);
    for (const [name, key] of [
      ['bob', edit],
      ['mia', reply],
      ['mia', edit],
      ['root', reply],
      ['ada', `message-${message.id}`],
      ['ada', `message-edit-${conversation.id}`],
      ['ada', 'message-'],
      ['ada', 'message-new-two words'],
    ] as const)
      expect((await put(name, encodeURIComponent(key), { content: 'x' })).status, `${name} ${key}`).toBe(404);
    // Each draft is deleted when its content is sent.
    expectStatus(await forum.as.ada.post(`/api/conversations/${conversation.id}/messages`, { content: 'Else' }), 201);
    expect(await keysOf('ada')).toHaveLength(4);
    await forum.as.ada.submit(`/messages/${conversation.id}`, { content: `Of  ${reply}` });
    expectStatus(await forum.as.ada.put(`/api/messages/${message.id}`, { content: `Of ${edit}` }), 200);
    expect(await keysOf('ada')).toEqual(['message-new-bob', 'message-new']);
    await forum.as.ada.submit('/messages/new?to=bob', { to: '@bob', subject: 'Ropes', content: 'Of message-new-bob' });
    expect(await keysOf('ada')).toEqual(['message-new']);
    // A draft for a conversation that the member has left stays, without a link.
    expectStatus(await forum.as.bob.delete(`/api/conversations/${conversation.id}`), 200);
    expect(await listed('bob')).toMatchObject([{ key: reply, fields: { content: 'Later' }, title: null, url: null }]);
    expect(await page('/drafts', 'bob')).toContain('Something you cannot currently access');
    for (const name of ['ada', 'bob'] as const) await clear(name);
  });

  test('of a message requires permission to write messages, and returns to its form when discarded without JavaScript', async () => {
    const between = { to: ['bob'], subject: 'Between us', content: 'x' };
    const { conversation } = expectStatus(await forum.as.ada.post('/api/conversations', between), 201).body;
    expect((await put('bad', 'message-new', { content: 'x' })).status).toBe(404);
    const key = `message-${conversation.id}`;
    await put('bob', key, { content: 'x' });
    const { headers } = await forum.as.bob.submit('/drafts/discard?form=true', { key, content: 'x' });
    expect(headers.get('location')).toBe(`/messages/${conversation.id}#reply`);
  });

  test('is deleted when it has not been changed for a long time', async () => {
    await put('ada', 'new', { content: 'Old' });
    forum.app.clock.advance(364 * DAY);
    await forum.as.bob.login('bob', 'Plain-Sailing-42');
    await put('bob', 'new', { content: 'Young' });
    forum.app.clock.advance(2 * DAY);
    await forum.app.runSchedule('drafts/job:forget');
    for (const name of ['ada', 'bob', 'mia'] as const) await forum.as[name].login(name, 'Plain-Sailing-42');
    expect([await keysOf('ada'), await keysOf('bob')]).toEqual([[], ['new']]);
    await clear('bob');
  });
});

describe('pages', () => {
  test('list, continue and discard drafts without JavaScript', async () => {
    const { id, number } = await forum.start('ada', 'Oars & rowlocks');
    await put('bob', 'new', { title: 'Mine', content: 'Begun here', tags: 'oak, ash', category_id: 'general' });
    await put('bob', `reply-${id}`, { content: 'I think' });
    const list = await page('/drafts', 'bob');
    expect(list).toContain('2 drafts');
    expect(list).toMatch(/href="\/new\?draft=1"[^>]*>Mine</);
    expect(list).toContain(`href="/d/${number}/reply?draft=1"`);
    expect(await page('/', 'bob')).toMatch(/<a href="\/drafts">Drafts<\/a>/);
    // The other discussion lists are one click away.
    expect(list).toMatch(/<a href="\/">All<\/a>.*<a href="\/drafts" aria-current="page">Drafts<\/a>/s);
    const form = await page('/new?draft=1', 'bob');
    for (const text of ['value="Mine"', 'Begun here</textarea>', 'value="oak, ash"']) expect(form).toContain(text);
    expect(await page(`/d/${number}/reply?draft=1`, 'bob')).toContain('I think</textarea>');
    expect(await page(`/d/${number}/reply`, 'bob')).not.toContain('I think');
    expect(await page('/new?draft=1', 'ada')).not.toContain('Begun here');
    expect((await forum.as.ada.submit('/drafts/discard', { key: 'new' })).status).toBe(303);
    expect((await forum.as.bob.submit('/drafts/discard', { key: 'new' })).status).toBe(303);
    expect(await keysOf('bob')).toEqual([`reply-${id}`]);
    // Several drafts can be selected at once, and the next page shows how many were discarded.
    await forum.as.bob.put('/api/drafts/new', { fields: { title: 'Anew' } });
    const rows = await page('/drafts', 'bob');
    expect(rows.match(/type="checkbox" name="keys\[\]" value="[^"]+" form="chosen"/g)).toHaveLength(2);
    await forum.as.ada.submit('/drafts/discard', { 'keys[0]': 'new', 'keys[1]': `reply-${id}` });
    expect(await keysOf('bob')).toHaveLength(2);
    await forum.as.bob.submit('/drafts/discard', { 'keys[0]': 'new', 'keys[1]': `reply-${id}`, 'keys[2]': 'edit-x' });
    expect(await page('/drafts', 'bob')).toContain('2 drafts discarded.');
    expect(await keysOf('bob')).toEqual([]);
    await forum.as.bob.submit('/drafts/discard', {});
    expect(await page('/drafts', 'bob')).toMatch(/class="notice info"[^]*?Nothing selected/);
    expect((await forum.guest.get('/drafts')).headers.get('location')).toMatch(/^\/login/);
    await clear('bob');
    expect(await page('/drafts', 'bob')).toContain('No drafts');
  });

  test('show the draft for a discussion that has become hidden, but neither its title nor a link', async () => {
    const { id } = await forum.start('ada', 'Soon hidden');
    await put('bob', `reply-${id}`, { content: 'My own words' });
    expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' }), 200);
    const list = await page('/drafts', 'bob');
    expect(list).toContain('My own words');
    expect(list).not.toContain('Soon hidden');
    expect((await listed('bob'))[0]).toMatchObject({ title: null, url: null });
    await clear('bob');
  });

  test('contain when a draft was saved, and nothing about drafts for guests', async () => {
    const { id, number } = await forum.start('ada', 'Marked');
    const { updated_at } = expectStatus(await put('bob', `reply-${id}`, { content: 'x' }), 200).body;
    const path = `/d/${number}-marked`;
    expect(await page(path, 'bob')).toContain(`<x-draft data-key="reply-${id}" data-at="${updated_at}">`);
    expect(await page(path, 'ada')).toContain(`<x-draft data-key="reply-${id}" data-at="">`);
    expect((await forum.guest.get(path)).text).not.toContain('<x-draft');
    await clear('bob');
  });
});

describe('several new discussions', () => {
  const ids = ['0a1b2c3d4e5f', 'f5e4d3c2b1a0'] as const;
  const begin = async (): Promise<void> => {
    await put('bob', `new-${ids[0]}`, { title: 'Oars', content: 'Of ash', category_id: 'general' });
    later();
    await put('bob', `new-${ids[1]}`, { title: 'Sails', content: 'Of flax' });
    later();
  };
  const ownId = (form: string): string | undefined => /name="draft" value="([^"]*)"/.exec(form)?.[1];

  test('each have a draft, continued at its own address, without JavaScript as well', async () => {
    await begin();
    expect((await listed('bob')).map(({ key, url }) => [key, url])).toEqual([
      [`new-${ids[1]}`, `http://forum.test/new?draft=${ids[1]}`],
      [`new-${ids[0]}`, `http://forum.test/new?draft=${ids[0]}`],
    ]);
    expect(await page('/drafts', 'bob')).toContain(`href="/new?draft=${ids[0]}"`);
    const form = await page(`/new?draft=${ids[0]}`, 'bob');
    expect(form).toMatch(/value="Oars"[^]*Of ash<\/textarea>/);
    expect([ownId(form), form.includes(`data-draft="new-${ids[0]}"`)]).toEqual([ids[0], true]);
    // A preview, and a form that is shown again, stay with their draft.
    const again = await forum.as.bob.submit('/new', { draft: ids[0], title: '', content: 'Of ash' });
    expect(ownId(again.text)).toBe(ids[0]);
    const preview = await forum.as.bob.submit('/new', { draft: ids[0], content: 'Of ash', preview: '1' });
    expect(ownId(preview.text)).toBe(ids[0]);
    // Nobody else gets them, whatever address they open.
    expect(await page(`/new?draft=${ids[0]}`, 'ada')).not.toContain('Oars');
    await clear('bob');
  });

  test('leave the form empty, which says how many there are and keeps the category it was opened for', async () => {
    await begin();
    const form = await page('/new?category=general', 'bob');
    expect(form).toMatch(/<a href="\/drafts">You have 2 unfinished discussions<\/a>/);
    expect(form).not.toMatch(/Oars|Of ash|Sails/);
    const other = await page('/new?category=general', 'bob');
    expect(ownId(form)).toMatch(/^[\da-f]{12}$/);
    expect(ownId(other)).not.toBe(ownId(form));
    expect(ownId(await page('/new?draft=%3Cscript%3E', 'bob'))).toMatch(/^[\da-f]{12}$/);
    expect(await page(`/new?draft=${ids[0]}`, 'bob')).toContain('You have 1 unfinished discussion<');
    await clear('bob');
    expect(await page('/new', 'bob')).not.toContain('unfinished discussion');
  });

  test('are deleted one by one: the one that was sent', async () => {
    await begin();
    await put('bob', 'new-000000000000', { title: 'Oars', content: 'Of oak' });
    const send = (content: string) => forum.as.bob.submit('/new', { title: 'Oars', content, category_id: 'general' });
    await send('Of elm');
    expect((await keysOf('bob')).length).toBe(3);
    await send('Of\r\nash');
    expect((await keysOf('bob')).toSorted()).toEqual(['new-000000000000', `new-${ids[1]}`]);
    await clear('bob');
  });

  test('count towards the limit of drafts', async () => {
    for (const digit of '1234') expectStatus(await put('ada', `new-${digit.repeat(12)}`, { content: 'x' }), 200);
    const refused = await put('ada', `new-${'5'.repeat(12)}`, { content: 'x' });
    expect([refused.status, refused.body.code]).toEqual([409, 'draft_limit']);
    for (const key of ['new-', 'new-1', `new-${'g'.repeat(12)}`, `new-${'1'.repeat(13)}`])
      expect((await put('ada', key, { content: 'x' })).status, key).toBe(404);
    await clear('ada');
  });
});

test('without JavaScript, a form shows when its draft was saved, and discards it whatever else it submits', async () => {
  const { id, number } = await forum.start('ada', 'Rudder');
  const path = `/d/${number}/reply`;
  expect(await page(path, 'bob')).not.toContain('<noscript>');
  await put('bob', `reply-${id}`, { content: 'Hinges' });
  const shown = await page(`${path}?draft=1`, 'bob');
  // Enter in a field must not discard: the buttons of the form come first.
  expect(shown).toMatch(
    new RegExp(
      `Hinges</textarea>[^]*name="preview"[^]*<noscript>[^]*Saved <time[^]*name="key" value="reply-${id}" formaction="/drafts/discard\\?form=true" formnovalidate>Discard`,
    ),
  );
  const sent = { key: `reply-${id}`, content: 'x'.repeat(65_000) };
  const { status, headers } = await forum.as.bob.submit('/drafts/discard?form=true', sent);
  expect([status, headers.get('location'), await keysOf('bob')]).toEqual([303, path, []]);
});

test('a reply form links to its author’s unfinished edits of posts in the same discussion', async () => {
  const { id, number, postId } = await forum.start('bob', 'Tiller');
  const other = await forum.start('bob', 'Mast');
  const { post } = expectStatus(
    await forum.as.bob.post('/api/posts', { discussion_id: id, content: 'Of ash' }),
    201,
  ).body;
  for (const key of [`edit-${postId}`, `edit-${post.id}`, `edit-${other.postId}`]) {
    await put('bob', key, { content: 'Of oak' });
    later();
  }
  const linksTo = async (path: string, name: Name = 'bob'): Promise<readonly (string | undefined)[]> => {
    const found = (await page(path, name)).matchAll(
      /href="(\/p\/[^"]+draft=1)">You have an unfinished edit of post (\d+)/g,
    );
    return [...found].flatMap(([, href, shown]) => [href, shown]);
  };
  const both = [`/p/${post.id}/edit?draft=1`, '2', `/p/${postId}/edit?draft=1`, '1'];
  for (const path of [`/d/${number}-tiller`, `/d/${number}/reply`]) expect(await linksTo(path)).toEqual(both);
  expect(await page(both[0]!, 'bob')).toContain('Of oak</textarea>');
  // The edit form of a post does not link to itself.
  expect(await linksTo(`/p/${postId}/edit`)).toEqual([]);
  expect(await linksTo(`/d/${number}-tiller`, 'ada')).toEqual([]);
  expectStatus(await forum.as.bob.delete(`/api/posts/${post.id}`), 200);
  expect(await linksTo(`/d/${number}-tiller`)).toEqual(both.slice(2));
  await clear('bob');
});

test('no drafts are saved while the plugin is disabled, and existing ones are back once it is enabled', async () => {
  await put('bob', 'new', { content: 'Still here' });
  await forum.app.app.plugins.disable('drafts');
  expect((await forum.as.bob.get('/api/drafts')).status).toBe(404);
  expect(await page('/new', 'bob')).not.toContain('<x-draft');
  await forum.app.app.plugins.enable('drafts');
  expect(await keysOf('bob')).toEqual(['new']);
});
