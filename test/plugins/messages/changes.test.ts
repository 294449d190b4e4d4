import { describe, expect, test } from 'vitest';
import { Data, Settings, sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import type { Answer } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { listen, type Listener } from '../live/listen.ts';

const forum = useForum();
const ABSENT = '01890000-0000-7000-8000-000000000000';

interface Begun {
  readonly id: string;
  readonly conversation: string;
  /** The path of the conversation's page. */
  readonly path: string;
}
const begun = async (name: Name, to: readonly string[], content: string): Promise<Begun> => {
  const answer = await forum.as[name].post('/api/conversations', { to, subject: 'The slip', content });
  const { conversation, message } = expectStatus(answer, 201).body;
  return { id: message.id, conversation: conversation.id, path: `/messages/${conversation.id}` };
};
const message = (name: Name, id: string): Promise<Answer> => forum.as[name].get(`/api/messages/${id}`);
const edit = (name: Name, id: string, content: string): Promise<Answer> =>
  forum.as[name].put(`/api/messages/${id}`, { content });
const remove = (name: Name, id: string): Promise<Answer> => forum.as[name].delete(`/api/messages/${id}`);
const page = async (name: Name, path: string): Promise<string> =>
  expectStatus(await forum.as[name].get(path), 200).text;
const count = async (name: Name): Promise<number> => (await forum.as[name].get('/api/conversations/count')).body.count;

describe('the author of a message', () => {
  test('edits it, and all participants see the new text and the time of the edit', async () => {
    const { id, conversation, path } = await begun('ada', ['bob'], 'At noon');
    await page('bob', path);
    forum.app.clock.advance(60_000);
    const at = new Date(forum.app.clock.now()).toISOString();
    const edited = expectStatus(await edit('ada', id, '  At **one**\r\n\n'), 200).body.message;
    expect(edited).toMatchObject({
      number: 1,
      content: '  At **one**',
      html: '<p dir="auto">At <strong>one</strong></p>\n',
      is_deleted: false,
      edited_at: at,
    });
    expect((await message('bob', id)).body.message).toEqual(edited);
    expect(await page('bob', path)).toMatch(/edited <time datetime="[^"]+"[^]*At <strong>one<\/strong>/);
    expect((await forum.as.bob.get(`/api/conversations/${conversation}`)).body.conversation).toMatchObject({
      last_message: { excerpt: 'At one', is_deleted: false },
      unread_count: 0,
    });
    // The same text is no change.
    forum.app.clock.advance(60_000);
    expect(expectStatus(await edit('ada', id, '  At **one**'), 200).body.message.edited_at).toBe(at);
  });

  test('removes it for everyone, and its text is no longer stored', async () => {
    const { id, conversation, path } = await begun('ada', ['bob'], 'A wombatword');
    expectStatus(await forum.as.bob.post(`/api/conversations/${conversation}/messages`, { content: 'Yes' }), 201);
    await edit('ada', id, 'Another wombatword');
    expectStatus(await remove('ada', id), 200);
    expect((await message('bob', id)).body.message).toMatchObject({
      number: 1,
      content: '',
      html: '',
      is_deleted: true,
      edited_at: null,
    });
    expect(await page('bob', path)).toMatch(/id="message-1"[^]*The author removed this message\.[^]*id="message-2"/);
    expect(await page('ada', path)).not.toMatch(/\/messages\/(?:edit|remove)\//);
    const rows = await forum.app.app
      .service(Data)
      .all(sql`select 1 from conversation_message t where t::text like '%wombatword%'`);
    expect(rows).toEqual([]);
    const again = [
      await remove('ada', id),
      await edit('ada', id, 'Back'),
      await forum.as.ada.get(`/messages/edit/${id}`),
    ];
    expect(again.map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  test('removes the last message, and the list says so', async () => {
    const { id } = await begun('ada', ['bob'], 'Too much');
    await remove('ada', id);
    expect(await page('bob', '/messages')).toMatch(/card-excerpt">The author removed this message\./);
    expect((await forum.as.bob.get('/api/conversations?limit=1')).body.conversations[0].last_message).toMatchObject({
      excerpt: '',
      is_deleted: true,
    });
  });

  test('does both without JavaScript, and keeps the input of a refused form', async () => {
    const { id, path } = await begun('ada', ['bob'], 'Without script');
    const shown = await page('ada', path);
    expect(shown).toContain(`href="/messages/edit/${id}"`);
    expect(await page('bob', path)).not.toMatch(/\/messages\/(?:edit|remove)\//);
    const form = await page('ada', `/messages/edit/${id}`);
    expect(form).toMatch(/<textarea[^>]*>\s*Without script<\/textarea>/);
    const seen = /name="seen" value="([^"]+)"/.exec(form)![1]!;
    const preview = await forum.as.ada.submit(`/messages/edit/${id}`, {
      content: 'Look **first**',
      preview: '1',
      seen,
    });
    expect(preview.text).toContain('Look <strong>first</strong>');
    const empty = await forum.as.ada.submit(`/messages/edit/${id}`, { content: ' ', seen });
    expect([empty.status, empty.text.includes('aria-invalid="true"')]).toEqual([400, true]);
    const saved = await forum.as.ada.submit(`/messages/edit/${id}`, { content: 'By a form', seen });
    expect([saved.status, saved.headers.get('location')]).toEqual([303, `${path}?around=1#message-1`]);
    expect(await page('bob', path)).toContain('By a form');
    expect(await page('ada', `/messages/remove/${id}`)).toContain('“By a form” will be removed for everyone');
    const removed = await forum.as.ada.submit(`/messages/remove/${id}`);
    expect([removed.status, removed.headers.get('location')]).toEqual([303, `${path}?around=1#message-1`]);
    expect(await page('bob', path)).not.toContain('By a form');
  });

  test('is warned if it was changed on another device in the meantime, and may overwrite that', async () => {
    const { id } = await begun('ada', ['bob'], 'First');
    const seen = /name="seen" value="([^"]+)"/.exec(await page('ada', `/messages/edit/${id}`))![1]!;
    const tag = (await message('ada', id)).headers.get('etag')!;
    forum.app.clock.advance(60_000);
    await edit('ada', id, 'Second');
    const refused = await forum.as.ada.submit(`/messages/edit/${id}`, { content: 'Third', seen });
    expect([refused.status, refused.text.includes('was changed in the meantime')]).toEqual([409, true]);
    expect(refused.text).toMatch(/<textarea[^>]*>\s*Third<\/textarea>/);
    const conditional = await forum.as.ada.request('PUT', `/api/messages/${id}`, {
      json: { content: 'Third' },
      headers: { 'if-match': tag },
    });
    expect([conditional.status, conditional.body.code]).toEqual([412, 'precondition_failed']);
    expect((await message('bob', id)).body.message.content).toBe('Second');
    const now = /name="seen" value="([^"]+)"/.exec(refused.text)![1]!;
    expectStatus(await forum.as.ada.submit(`/messages/edit/${id}`, { content: 'Third', seen: now }), 303);
    expect((await message('bob', id)).body.message.content).toBe('Third');
  });
});

describe('a message', () => {
  test('can be changed only by its author, and is not found by non-participants', async () => {
    const { id } = await begun('ada', ['bob'], 'Mine');
    const found = async (name: Name) => {
      const answers = [
        await message(name, id),
        await edit(name, id, 'Yours'),
        await remove(name, id),
        await forum.as[name].get(`/messages/edit/${id}`),
        await forum.as[name].submit(`/messages/edit/${id}`, { content: 'Yours' }),
        await forum.as[name].get(`/messages/remove/${id}`),
        await forum.as[name].submit(`/messages/remove/${id}`),
      ];
      return answers.map(({ status }) => status);
    };
    expect(await found('bob')).toEqual([200, 403, 403, 403, 403, 403, 403]);
    expect((await edit('bob', id, 'Yours')).body.error).toBe('Only the author of a message may edit or remove it');
    for (const name of ['mia', 'root'] as const) expect(new Set(await found(name))).toEqual(new Set([404]));
    expect((await forum.guest.get(`/api/messages/${id}`)).status).toBe(401);
    expect([(await edit('ada', ABSENT, 'x')).status, (await edit('ada', 'none', 'x')).status]).toEqual([404, 404]);
    expect((await message('bob', id)).body.message.content).toBe('Mine');
  });

  test('cannot be changed after its author has left', async () => {
    const { id, conversation } = await begun('ada', ['bob', 'mia'], 'Before I go');
    expectStatus(await forum.as.ada.delete(`/api/conversations/${conversation}`), 200);
    expect([(await edit('ada', id, 'x')).status, (await remove('ada', id)).status]).toEqual([404, 404]);
    expect((await message('bob', id)).body.message.content).toBe('Before I go');
  });

  test('whose other readers have left, or ignore its author, cannot be edited but can be removed', async () => {
    const alone = await begun('ada', ['bob'], 'Alone');
    await forum.as.bob.delete(`/api/conversations/${alone.conversation}`);
    expect((await edit('ada', alone.id, 'x')).status).toBe(409);
    expectStatus(await remove('ada', alone.id), 200);
    const ignored = await begun('ada', ['bob'], 'Ignored');
    const ignore = (muted: boolean) =>
      forum.as.bob.post('/api/subscriptions/mute', { kind: 'member', subject_id: forum.ids.ada, muted });
    expectStatus(await ignore(true), 200);
    expect((await edit('ada', ignored.id, 'x')).status).toBe(403);
    expectStatus(await remove('ada', ignored.id), 200);
    expectStatus(await ignore(false), 200);
  });

  test('cannot be changed by suspended and banned members', async () => {
    const { id, path } = await begun('bob', ['ada'], 'Rude words');
    const access = forum.app.app.service(Access);
    const until = new Date(forum.app.clock.now() + 86_400_000);
    await access.suspend({ userId: forum.ids.bob, until, reason: 'Rude words' });
    expect([(await edit('bob', id, 'Kind')).status, (await remove('bob', id)).status]).toEqual([403, 403]);
    expect(await page('bob', path)).not.toMatch(/\/messages\/(?:edit|remove)\//);
    await access.release(forum.ids.bob);
    expectStatus(await edit('bob', id, 'Kind'), 200);
  });

  test.each([
    ['no text', '\n \n'],
    ['a text that is too long', 'x'.repeat(20_001)],
  ])('cannot be edited into %s', async (_what, content) => {
    const { id } = await begun('ada', ['bob'], 'Stays');
    const answer = await edit('ada', id, content);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, 'content']);
    expect((await message('bob', id)).body.message).toMatchObject({ content: 'Stays', edited_at: null });
  });

  test('that is edited counts towards the rate limit like a new one', async () => {
    const { id } = await begun('bob', ['ada'], 'Rates');
    const settings = forum.app.app.service(Settings);
    await settings.set({ 'messages.rate_limit': 1 });
    const refused = await edit('bob', id, 'Again');
    const form = await forum.as.bob.submit(`/messages/edit/${id}`, { content: 'Not lost' });
    await settings.set({ 'messages.rate_limit': 100_000 });
    expect([refused.status, form.status, form.text.includes('Not lost')]).toEqual([429, 429, true]);
  });

  test('that is edited or removed is signalled only to participants, and not as new', async () => {
    const { id, conversation, path } = await begun('ada', ['bob'], 'Albatross');
    await page('bob', path);
    await forum.app.calm();
    const before = await count('bob');
    const heard = ({ signals }: Listener) => signals.filter(({ event }) => event === 'messages').map((one) => one.data);
    await using bob = await listen(forum.app, forum.as.bob);
    await using root = await listen(forum.app, forum.as.root);
    const changed = { conversation_id: conversation, number: 1, is_new: false, count: before };
    await edit('ada', id, 'Pelican');
    await expect.poll(() => heard(bob)).toEqual([changed]);
    await remove('ada', id);
    await expect.poll(() => heard(bob)).toEqual([changed, changed]);
    await forum.app.calm();
    expect([heard(root), bob.heard, root.heard, await count('bob')]).toEqual([[], [], [], before]);
  });

  test('can be shown by a range of numbers, without the others', async () => {
    const { conversation, path } = await begun('ada', ['bob'], 'Number 1');
    for (const at of [2, 3, 4])
      await forum.as.ada.post(`/api/conversations/${conversation}/messages`, { content: `Number ${at}` });
    const numbers = (text: string) => [...text.matchAll(/id="message-(\d+)"/g)].map(([, number]) => Number(number));
    expect(numbers(await page('bob', `${path}?after=1&before=4`))).toEqual([2, 3]);
    expect(numbers(await page('bob', `${path}?after=3&before=3`))).toEqual([]);
    // Messages after the range stay unread.
    expect((await forum.as.bob.get(`/api/conversations/${conversation}`)).body.conversation.unread_count).toBe(1);
  });
});
