import { describe, expect, test } from 'vitest';
import { counters, Data, Settings, sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { sendMessages } from 'parley-forum/plugins/messages';
import { leastOf, miscounted, type Answer } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { listen, type Listener } from '../live/listen.ts';
import { countOf, listOf, readAll, shortly } from '../notifications/inbox.ts';

const forum = useForum();
const data = () => forum.app.app.service(Data);
const settings = () => forum.app.app.service(Settings);

const begin = (name: Name, to: readonly string[], subject: string, content = `About ${subject}`): Promise<Answer> =>
  forum.as[name].post('/api/conversations', { to, subject, content });
const begun = async (name: Name, to: readonly string[], subject: string, content?: string): Promise<any> =>
  expectStatus(await begin(name, to, subject, content), 201).body;
const reply = (name: Name, id: string, content: string): Promise<Answer> =>
  forum.as[name].post(`/api/conversations/${id}/messages`, { content });
const conversation = async (name: Name, id: string): Promise<any> =>
  expectStatus(await forum.as[name].get(`/api/conversations/${id}`), 200).body.conversation;
const messages = async (name: Name, id: string, query = ''): Promise<any> =>
  expectStatus(await forum.as[name].get(`/api/conversations/${id}/messages${query}`), 200).body;
const unread = async (name: Name): Promise<number> =>
  expectStatus(await forum.as[name].get('/api/conversations/count'), 200).body.count;
const read = async (name: Name, id: string, number?: number): Promise<number> =>
  expectStatus(await forum.as[name].post(`/api/conversations/${id}/read`, { number }), 200).body.count;
const readEverything = async (name: Name): Promise<void> => {
  for (const { id } of (await forum.as[name].get('/api/conversations?limit=100')).body.conversations)
    await read(name, id);
  await forum.app.calm();
  await readAll(forum.as[name]);
};
const page = async (name: Name, path: string): Promise<string> =>
  expectStatus(await forum.as[name].get(path), 200).text;
const author = (name: Name) => expect.objectContaining({ id: forum.ids[name], username: name }) as object;

describe('a conversation', () => {
  test('is started with a message, and read by its participants', async () => {
    const made = await begun('ada', ['@Bob', 'mia'], '  About\nropes ', '\n\nHave you **seen** them?\r\n');
    const { id } = made.conversation;
    expect(made.message).toEqual({
      id: made.message.id,
      conversation_id: id,
      number: 1,
      author: author('ada'),
      content: 'Have you **seen** them?',
      html: '<p dir="auto">Have you <strong>seen</strong> them?</p>\n',
      is_deleted: false,
      created_at: '2026-01-15T12:00:00.000Z',
      edited_at: null,
    });
    expect(made.conversation).toEqual({
      id,
      subject: 'About ropes',
      participants: expect.arrayContaining([author('ada'), author('bob'), author('mia')]) as object,
      message_count: 1,
      unread_count: 0,
      is_muted: false,
      last_message: {
        author: author('ada'),
        excerpt: 'Have you seen them?',
        is_deleted: false,
        created_at: '2026-01-15T12:00:00.000Z',
      },
      created_at: '2026-01-15T12:00:00.000Z',
      url: `http://forum.test/messages/${id}`,
    });
    const { headers, body: written } = expectStatus(await reply('bob', id, 'At the slip.'), 201);
    expect((await forum.as.ada.get(headers.get('location')!)).body).toEqual(written);
    expect((await conversation('mia', id)).unread_count).toBe(2);
    expect((await messages('mia', id)).messages.map((one: any) => [one.number, one.author.username])).toEqual([
      [1, 'ada'],
      [2, 'bob'],
    ]);
    expect((await messages('mia', id, '?order=desc&limit=1')).messages[0].content).toBe('At the slip.');
  });

  test('is not found by anyone else, including administrators', async () => {
    const { id } = (await begun('ada', ['bob'], 'Between us')).conversation;
    const paths = ['', '/messages'].map((path) => `/api/conversations/${id}${path}`);
    const found: unknown[] = [];
    for (const name of ['mia', 'root', 'bad'] as const) {
      for (const path of [...paths, `/messages/${id}`, `/messages/${id}/leave`, `/messages/${id}?after=0`])
        found.push((await forum.as[name].get(path)).status);
      found.push((await forum.as[name].delete(paths[0]!)).status, (await forum.as[name].put(paths[0]!, {})).status);
      for (const path of ['', '/mute', '/leave'])
        found.push((await forum.as[name].submit(`/messages/${id}${path}`, { content: 'x', muted: 'true' })).status);
    }
    for (const name of ['mia', 'root'] as const) found.push((await reply(name, id, 'x')).status);
    expect(new Set(found)).toEqual(new Set([404]));
    for (const name of ['mia', 'root'] as const) expect(await page(name, '/messages')).not.toContain('Between us');
    expect((await forum.guest.get(paths[0]!)).status).toBe(401);
    expect((await forum.guest.get(`/messages/${id}`)).status).toBe(303);
    expect((await forum.guest.get('/')).text).not.toContain('<x-count');
    expect((await forum.as.ada.get('/api/conversations/none')).status).toBe(404);
  });

  test('appears in no list, search, feed, event or sitemap, and its mentions notify no one', async () => {
    const [subject, content] = ['Zebrafinch', 'A quokkatext for @mia: https://quokka.example/'];
    const { id } = (await begun('ada', ['bob'], subject, content)).conversation;
    await forum.app.calm();
    const paths = ['/', '/discussions', '/api/discussions', '/api/events?limit=100', '/feed/rss', '/feed/atom'];
    const others = [
      '/sitemap.xml',
      '/u/ada',
      '/mod',
      '/mod/log',
      '/admin',
      '/admin/audit',
      '/online',
      '/notifications',
    ];
    const found = ['/search?q=quokkatext', '/api/search?q=quokkatext', '/api/search/suggestions?q=zebrafinch'];
    for (const name of ['mia', 'root', 'ada', 'bob'] as const) {
      for (const path of [...paths, ...others, ...found]) {
        const { text } = await forum.as[name].get(path);
        expect([name, path, /zebrafinch(?!&|"|<| ?·)|a quokkatext/i.exec(text.replaceAll(/q=\w+/g, ''))?.[0]]).toEqual([
          name,
          path,
          undefined,
        ]);
      }
    }
    expect((await listOf(forum.as.mia)).map(({ url }) => url)).not.toContain(`http://forum.test/messages/${id}`);
    const tables = ['event_log', 'webhook_event', 'search_post', 'notification', 'audit_entry', 'mail_message', 'job'];
    for (const table of tables) {
      const there = await data().one(sql`select 1 from information_schema.tables where table_name = ${table}`);
      if (!there) continue;
      const rows = await data().all(
        sql`select 1 from ${sql.table(table)} t where t::text ilike '%quokkatext%' or t::text ilike '%zebrafinch%'`,
      );
      expect([table, rows]).toEqual([table, []]);
    }
  });

  test.each([
    ['no recipient', { to: [' ', '@'] }, 'to'],
    ['only its author', { to: ['ada'] }, 'to'],
    ['an unknown member', { to: ['bob', 'zoe'] }, 'to'],
    ['too many recipients', { to: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'] }, 'to'],
    ['no subject', { subject: ' \n' }, 'subject'],
    ['an invisible subject', { subject: '\u202e\u200b' }, 'subject'],
    ['an invisible text', { content: '\u200b\u2060' }, 'content'],
    ['a subject that is too long', { subject: 'x'.repeat(201) }, 'subject'],
    ['no text', { content: '\n \n' }, 'content'],
    ['a text that is too long', { content: 'x'.repeat(20_001) }, 'content'],
  ])('is refused with %s', async (_what, wrong, field) => {
    const body = { to: ['bob'], subject: 'Refused', content: 'x', ...wrong };
    const answer = await forum.as.ada.post('/api/conversations', body);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, field]);
  });

  test('is created once for one idempotency key, however often it is sent', async () => {
    const headers = { 'idempotency-key': 'the same' };
    const send = () => forum.as.ada.post('/api/conversations', { to: ['bob'], subject: 'Once', content: 'x' }, headers);
    const ids = [await send(), await send()].map(({ body }) => body.conversation.id);
    expect(ids[1]).toBe(ids[0]);
    const again = () =>
      forum.as.ada.post(`/api/conversations/${ids[0]}/messages`, { content: 'y' }, { 'idempotency-key': 'z' });
    const numbers = [await again(), await again()].map(({ body }) => body.message.number);
    expect(numbers).toEqual([2, 2]);
  });

  test('is refused beyond the rate limits', async () => {
    const { id } = (await begun('bob', ['ada'], 'Rates')).conversation;
    await settings().set({ 'messages.conversation_rate_limit': 1 });
    const refused = await begin('bob', ['ada'], 'Too many');
    await settings().set({ 'messages.conversation_rate_limit': 100_000, 'messages.rate_limit': 1 });
    const replied = await reply('bob', id, 'x');
    const form = await forum.as.bob.submit(`/messages/${id}`, { content: 'Not lost' });
    await settings().set({ 'messages.rate_limit': 100_000 });
    expect([refused.status, replied.status, form.status]).toEqual([429, 429, 429]);
    expect(refused.body.error).toContain('started many conversations');
    expect(form.text).toContain('Not lost');
  });

  test('is listed by newest message, in an order without ties, and paginated', async () => {
    await forum.app.app.service(Accounts).create({
      username: 'lister',
      email: 'lister@forum.test',
      password: 'Plain-Sailing-42',
    });
    const lister = forum.app.client();
    await lister.login('lister', 'Plain-Sailing-42');
    const ids: string[] = [];
    for (let at = 0; at < 21; at++) ids.push((await begun('ada', ['lister'], `Row ${at}`)).conversation.id);
    const listed: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await lister.get(`/api/conversations?limit=8${cursor && `&cursor=${cursor}`}`);
      listed.push(...body.conversations.map(({ id }: any) => id));
      cursor = body.next_cursor;
    }
    expect(listed).toEqual(ids.toReversed());
    forum.app.clock.advance(1_000);
    await reply('ada', ids[3]!, 'On top');
    expect((await lister.get('/api/conversations?limit=1')).body.conversations[0].id).toBe(ids[3]);
    await lister.post(`/api/conversations/${ids[5]}/read`, {});
    expect((await lister.get('/api/conversations?unread=true&limit=100')).body.count).toBe(20);
    const second = await lister.get('/messages?page=2');
    expect([second.status, second.text.match(/class="card /g)?.length]).toEqual([200, 1]);
    expect((await lister.get('/api/conversations?cursor=none')).status).toBe(400);
    expect((await lister.get(`/api/conversations/${ids[3]}/messages?cursor=none`)).status).toBe(400);
  });
});

describe('messages', () => {
  test('that are written concurrently are numbered without gaps', async () => {
    const { id } = (await begun('ada', ['bob', 'mia'], 'At once')).conversation;
    const writers = ['ada', 'bob', 'mia', 'ada', 'bob', 'mia'] as const;
    const answers = await Promise.all(writers.map((name, at) => reply(name, id, `Word ${at}`)));
    const numbers = answers.map(({ body }) => body.message.number).toSorted((a, b) => a - b);
    expect(numbers).toEqual([2, 3, 4, 5, 6, 7]);
    expect((await conversation('ada', id)).message_count).toBe(7);
  });

  test('are marked as read only as far as their reader has seen them', async () => {
    for (const name of ['ada', 'bob'] as const) await readEverything(name);
    const { id } = (await begun('ada', ['bob'], 'Unread')).conversation;
    for (const content of ['Two', 'Three']) await reply('ada', id, content);
    expect([await unread('bob'), await unread('ada')]).toEqual([1, 0]);
    expect(await read('bob', id, 2)).toBe(1);
    expect((await conversation('bob', id)).unread_count).toBe(1);
    expect(await read('bob', id, 1)).toBe(1);
    expect(await read('bob', id, 900)).toBe(0);
    await reply('ada', id, 'Four');
    expect((await conversation('bob', id)).unread_count).toBe(1);
    // A reply does not mark other unread messages as read.
    await reply('bob', id, 'Five');
    expect((await conversation('bob', id)).unread_count).toBe(2);
    await read('bob', id);
    await reply('bob', id, 'Six');
    expect((await conversation('bob', id)).unread_count).toBe(0);
  });

  test('of a muted conversation are not counted and notify no one', async () => {
    for (const name of ['ada', 'bob'] as const) await readEverything(name);
    const { id } = (await begun('ada', ['bob'], 'Muted')).conversation;
    await read('bob', id);
    await forum.app.calm();
    expectStatus(await forum.as.bob.put(`/api/conversations/${id}`, { is_muted: true }), 200);
    await readAll(forum.as.bob);
    await reply('ada', id, 'Do you hear?');
    await forum.app.calm();
    expect([await unread('bob'), await countOf(forum.as.bob)]).toEqual([0, 0]);
    expect(await conversation('bob', id)).toMatchObject({ is_muted: true, unread_count: 1 });
    const { headers } = await forum.as.bob.submit(`/messages/${id}/mute`, { muted: 'false' });
    expect([headers.get('location'), await unread('bob')]).toEqual([`/messages/${id}`, 1]);
  });

  test('notify the other participants, once while unread, without any of their text', async () => {
    await readEverything('bob');
    const { id } = (await begun('ada', ['bob'], 'Heron', 'Pelican')).conversation;
    await reply('ada', id, 'Again');
    await forum.app.calm();
    const [one, ...others] = await listOf(forum.as.bob, '?unread=true');
    expect([shortly([one]), others]).toEqual([[['message', 'a private conversation', 2, false]], []]);
    expect([one.url, one.actor.username]).toEqual([`http://forum.test/messages/${id}`, 'ada']);
    expect(await page('bob', '/notifications')).toContain('ada wrote in');
    // Reading the conversation marks its notification as read.
    await page('bob', `/messages/${id}`);
    expect([await countOf(forum.as.bob), await unread('bob')]).toEqual([0, 0]);
  });

  test('leave no notification that arrives while they are read or their reader leaves', async () => {
    await readEverything('bob');
    for (let round = 0; round < 8; round++) {
      const { id } = (await begun('ada', ['bob'], `Round ${round}`)).conversation;
      await read('bob', id);
      await reply('ada', id, 'Once more');
      await (round % 2 ? read('bob', id) : forum.as.bob.delete(`/api/conversations/${id}`));
    }
    await forum.app.calm();
    expect([await countOf(forum.as.bob), await unread('bob')]).toEqual([0, 0]);
  });

  test('are signalled only to participants', async () => {
    const heard = ({ signals }: Listener) => signals.filter(({ event }) => event === 'messages').map((one) => one.data);
    for (const name of ['bob', 'mia'] as const) await readEverything(name);
    await using bob = await listen(forum.app, forum.as.bob);
    await using mia = await listen(forum.app, forum.as.mia);
    await using root = await listen(forum.app, forum.as.root);
    await using guest = await listen(forum.app, undefined);
    const { id } = (await begun('ada', ['bob'], 'Live', 'Albatross')).conversation;
    await expect.poll(() => heard(bob)).toEqual([{ conversation_id: id, number: 1, is_new: true, count: 1 }]);
    await read('bob', id);
    await expect.poll(() => heard(bob).at(-1)).toEqual({ count: 0 });
    const { id: other } = (await begun('ada', ['mia', 'root'], 'Live, too')).conversation;
    for (const stream of [mia, root]) await expect.poll(() => heard(stream).at(-1)?.conversation_id).toBe(other);
    expect([heard(mia).length, heard(root).length, heard(guest)]).toEqual([1, 1, []]);
    expect([bob, mia, root, guest].flatMap((stream) => stream.heard)).toEqual([]);
  });

  test('do not show an image that is no longer allowed', async () => {
    const made = await begun('ada', ['bob'], 'Pictures', '![a boat](https://boats.example/a.png)');
    const { id } = made.conversation;
    await data().all(sql`update conversation_message set image_rule = 'another',
      html = '<p><img src="/api/discussions" alt="a boat"></p>' where conversation_id = ${id}`);
    expect((await messages('bob', id)).messages[0].html).toBe('<p>a boat</p>');
  });
});

describe('permission to write', () => {
  const closed = async (name: Name, open: boolean): Promise<void> =>
    void expectStatus(await forum.as[name].submit('/settings/messages', { open: String(open) }), 303);

  test('members who want no messages get them only from staff, and can answer those they get', async () => {
    await closed('bob', false);
    expect(await page('bob', '/settings/messages')).not.toMatch(/name="open" value="true" checked/);
    const refused = await begin('ada', ['mia', 'Bob'], 'No');
    expect([refused.status, refused.body.error]).toEqual([
      400,
      expect.stringContaining('accepts no messages from you'),
    ]);
    expect(await page('ada', '/u/bob')).not.toContain('/messages/new?to=bob');
    const { id } = (await begun('mia', ['bob'], 'Yes')).conversation;
    expectStatus(await reply('bob', id, 'I hear you'), 201);
    const own = (await begun('bob', ['ada'], 'Mine')).conversation.id;
    expectStatus(await reply('ada', own, 'Answered'), 201);
    await closed('bob', true);
    expect(await page('ada', '/u/bob')).toContain('/messages/new?to=bob');
    expect(await page('ada', '/u/bob/card')).toContain('/messages/new?to=bob');
    expect(await page('ada', '/u/ada')).not.toContain('/messages/new?to=ada');
    expect((await forum.guest.get('/u/bob')).text).not.toContain('/messages/new');
  });

  test('ignored members cannot start a conversation, or reply where no one else would read it', async () => {
    const two = (await begun('ada', ['bob'], 'The two of us')).conversation.id;
    const three = (await begun('ada', ['bob', 'mia'], 'The three of us')).conversation.id;
    const ignore = async (muted: boolean): Promise<unknown> =>
      expectStatus(
        await forum.as.ada.post('/api/subscriptions/mute', { kind: 'member', subject_id: forum.ids.bob, muted }),
        200,
      );
    await readEverything('ada');
    await ignore(true);
    expect((await begin('bob', ['ada'], 'Hello?')).status).toBe(400);
    expect((await reply('bob', two, 'Hello?')).status).toBe(403);
    expectStatus(await reply('bob', three, 'Hello, mia'), 201);
    await forum.app.calm();
    expect(await countOf(forum.as.ada)).toBe(0);
    await ignore(false);
    expectStatus(await reply('bob', two, 'Hello again'), 201);
  });

  test('suspended and banned members can read but not write', async () => {
    const { id } = (await begun('ada', ['bob'], 'Before')).conversation;
    const until = new Date(forum.app.clock.now() + 86_400_000);
    await forum.app.app.service(Access).suspend({ userId: forum.ids.bob, until, reason: 'Rude words' });
    expect([(await reply('bob', id, 'x')).status, (await begin('bob', ['ada'], 'x')).status]).toEqual([403, 403]);
    const shown = await page('bob', `/messages/${id}`);
    expect([shown.includes('About Before'), shown.includes('id="f-content"')]).toEqual([true, false]);
    expect((await forum.as.bob.get('/messages/new')).status).toBe(403);
    await forum.app.app.service(Access).release(forum.ids.bob);
    expect((await begin('ada', ['bad'], 'Banned')).status).toBe(400);
    await begun('mia', ['bad'], 'Why');
    expect(await page('bad', '/messages')).toContain('Why');
    expect(await page('bad', '/messages')).not.toContain('href="/messages/new"');
  });

  test('a group can be denied it', async () => {
    const access = forum.app.app.service(Access);
    await access.decide('member', sendMessages, false);
    expect([(await begin('ada', ['mia'], 'x')).status, (await forum.as.ada.get('/messages/new')).status]).toEqual([
      403, 403,
    ]);
    expect(await page('ada', '/u/bob')).not.toContain('/messages/new');
    await access.decide('member', sendMessages, undefined);
  });
});

describe('a member who leaves', () => {
  test('can no longer read the conversation, while the others continue', async () => {
    const { id } = (await begun('ada', ['bob', 'mia'], 'Leaving')).conversation;
    expect(await page('bob', `/messages/${id}/leave`)).toContain('You will lose access to “Leaving”');
    expect((await forum.as.bob.submit(`/messages/${id}/leave`)).headers.get('location')).toBe('/messages');
    expect([(await forum.as.bob.get(`/messages/${id}`)).status, (await reply('bob', id, 'x')).status]).toEqual([
      404, 404,
    ]);
    expectStatus(await reply('mia', id, 'Still here'), 201);
    const { participants } = await conversation('ada', id);
    expect(participants.map((one: any) => one.username).toSorted()).toEqual(['ada', 'mia']);
    await forum.as.mia.delete(`/api/conversations/${id}`);
    const alone = await reply('ada', id, 'Anybody?');
    expect([alone.status, alone.body.error]).toEqual([409, expect.stringContaining('No one else')]);
    expect(await page('ada', `/messages/${id}`)).toContain('Everyone else has left this conversation');
    await forum.as.ada.delete(`/api/conversations/${id}`);
    expect(await data().all(sql`select 1 from conversation_message where conversation_id = ${id}`)).toEqual([]);
  });

  test('while others write leaves no message behind that no one can read', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = (await begun('ada', ['bob'], `Round ${round}`)).conversation;
      const answers = await Promise.all([
        reply('ada', id, 'Still there?'),
        forum.as.bob.delete(`/api/conversations/${id}`),
        reply('bob', id, 'Bye'),
        forum.as.ada.delete(`/api/conversations/${id}`),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([
        expect.toBeOneOf([201, 404, 409]),
        200,
        expect.toBeOneOf([201, 404, 409]),
        200,
      ]);
      for (const table of ['conversation', 'conversation_participant', 'conversation_message']) {
        const column = sql.ref(table === 'conversation' ? 'id' : 'conversation_id');
        expect(await data().all(sql`select 1 from ${sql.table(table)} where ${column} = ${id}`)).toEqual([]);
      }
    }
    await forum.app.calm();
  });
});

describe('the pages', () => {
  test('start and answer a conversation without JavaScript', async () => {
    expect(await page('ada', '/messages/new?to=bob')).toMatch(/<textarea id="f-to"[^>]*>\s*@bob <\/textarea>/);
    const drafts = await Promise.all(
      ['', '?to=bob', '?to=%40Bob', '?to=mia'].map(async (query) =>
        /action="([^"]*\/new[^"]*)"[^]*data-draft="([^"]*)"/.exec(await page('ada', `/messages/new${query}`))!.slice(1),
      ),
    );
    expect(drafts).toEqual([
      ['/messages/new', 'message-new'],
      ['/messages/new?to=bob', 'message-new-bob'],
      ['/messages/new?to=%40Bob', 'message-new-bob'],
      ['/messages/new?to=mia', 'message-new-mia'],
    ]);
    const preview = await forum.as.ada.submit('/messages/new?to=bob', {
      to: '@bob',
      subject: 'Preview',
      content: 'A **bold** word',
      preview: '1',
    });
    expect([preview.status, preview.text.includes('A <strong>bold</strong> word')]).toEqual([200, true]);
    expect(preview.text).toContain('data-draft="message-new-bob"');
    const wrong = await forum.as.ada.submit('/messages/new', { to: '@zoe', subject: 'Typed', content: 'Not lost' });
    expect(wrong.status).toBe(400);
    for (const typed of ['@zoe', 'value="Typed"', 'Not lost', 'names an unknown member: zoe'])
      expect(wrong.text).toContain(typed);
    const sent = await forum.as.ada.submit('/messages/new', {
      to: '@bob, mia',
      subject: '<i>Forms</i>',
      content: 'By a form',
    });
    const path = sent.headers.get('location')!;
    expect([sent.status, path]).toEqual([303, expect.stringMatching(/^\/messages\/[\da-f-]{36}$/)]);
    const list = await page('bob', '/messages');
    expect(list).toMatch(/class="card unread"[^]*&lt;i&gt;Forms&lt;\/i&gt;[^]*1 new/);
    const answered = await forum.as.bob.submit(path, { content: 'And back' });
    expect([answered.status, answered.headers.get('location')]).toEqual([303, `${path}#message-2`]);
    const shown = await page('ada', path);
    expect(shown).toMatch(/id="message-1"[^]*By a form[^]*id="message-2"[^]*And back/);
    expect((await forum.as.bob.submit(path, { content: 'Look **first**', preview: '1' })).text).toContain(
      'Look <strong>first</strong>',
    );
    const empty = await forum.as.bob.submit(path, { content: ' ' });
    expect([empty.status, empty.text.includes('aria-invalid="true"')]).toEqual([400, true]);
  });

  test('show the number of unread conversations, only to their reader', async () => {
    await readEverything('bob');
    expect(await page('bob', '/categories')).toMatch(/<a class="icon-button" href="\/messages"[^>]* hidden>/);
    const { id } = (await begun('ada', ['bob'], 'Counted')).conversation;
    const categories = await page('bob', '/categories');
    expect(categories).toContain('Conversations with new messages: 1');
    expect(categories).toMatch(/href="\/messages"[^]*?<span>Messages<\/span> <span class="count">1<\/span>/);
    await readEverything('root');
    expect(await page('root', '/categories')).not.toContain('Conversations with new messages: 1');
    // A page that shows no message marks none as read.
    await page('bob', `/messages/${id}?after=900`);
    expect(await unread('bob')).toBe(1);
    // The page that shows it no longer counts it.
    expect(await page('bob', `/messages/${id}`)).toMatch(/<a class="icon-button" href="\/messages"[^>]* hidden>/);
  });

  test('of a long conversation start with the newest messages, and link to the others', async () => {
    const { id } = (await begun('ada', ['bob'], 'Long')).conversation;
    for (let number = 2; number <= 45; number++) await reply('ada', id, `Message ${number}`);
    const numbers = (text: string) => [...text.matchAll(/id="message-(\d+)"/g)].map(([, number]) => Number(number));
    const newest = await page('bob', `/messages/${id}`);
    expect([numbers(newest).at(0), numbers(newest).at(-1), numbers(newest).length]).toEqual([26, 45, 20]);
    expect([newest.includes('?before=26'), newest.includes('?after=')]).toEqual([true, false]);
    const earlier = await page('bob', `/messages/${id}?before=26`);
    expect([numbers(earlier).at(0), numbers(earlier).at(-1)]).toEqual([6, 25]);
    expect([earlier.includes('?before=6'), earlier.includes('?after=25')]).toEqual([true, true]);
    expect(numbers(await page('bob', `/messages/${id}?before=6`))).toEqual([1, 2, 3, 4, 5]);
    expect(numbers(await page('bob', `/messages/${id}?after=44`))).toEqual([45]);
    expect(numbers(await page('bob', `/messages/${id}?after=45`))).toEqual([]);
    for (const [around, first, last] of [
      [0, 1, 20],
      [3, 1, 20],
      [20, 11, 30],
      [44, 26, 45],
      [900, 26, 45],
    ]) {
      const shown = numbers(await page('bob', `/messages/${id}?around=${around}`));
      expect([shown.at(0), shown.at(-1)]).toEqual([first, last]);
    }
  });

  test('have a limited size, however long the messages are', async () => {
    const { id } = (await begun('ada', ['bob'], 'Large')).conversation;
    await data().all(sql`insert into conversation_message
        (id, conversation_id, number, author_id, content, html, image_rule, created_at)
      select gen_random_uuid(), ${id}, n, ${forum.ids.ada}, 'x', repeat('<p>y</p>', 25000), 'one', now()
      from generate_series(2, 9) n`);
    await data().all(sql`update conversation_participant set last_number = 9, last_at = (select max(created_at)
      from conversation_message where conversation_id = ${id}) where conversation_id = ${id}`);
    const { messages: some, hasMore, next_cursor: cursor } = await messages('bob', id);
    expect([some.map((one: any) => one.number), hasMore]).toEqual([[1, 2, 3], true]);
    expect((await messages('bob', id, `?cursor=${cursor}`)).messages[0].number).toBe(4);
    expect((await messages('bob', id, `?cursor=${cursor}&limit=1`)).messages).toHaveLength(1);
    expect((await page('bob', `/messages/${id}`)).length).toBeLessThan(700_000);
    // Earlier messages are left out in favour of the requested one.
    const around = await page('bob', `/messages/${id}?around=8`);
    expect([around.length < 700_000, around.includes('id="message-8"')]).toEqual([true, true]);
  });

  test('take as many SQL statements for many messages as for one', async () => {
    const least = (path: string) => leastOf(() => forum.app.statements(() => forum.as.mia.get(path)));
    await readEverything('mia');
    const { id } = (await begun('ada', ['mia'], 'One')).conversation;
    await read('mia', id);
    const few = [await least(`/messages/${id}`), await least('/messages')];
    for (let at = 0; at < 10; at++) {
      const more = (await begun('ada', ['bob', 'mia', 'root'], `Many ${at}`)).conversation;
      await read('mia', more.id);
      await reply(at % 2 ? 'mia' : 'ada', id, `Many ${at}`);
    }
    await read('mia', id);
    expect([await least(`/messages/${id}`), await least('/messages')]).toEqual(few);
  });
});

test('the last and read message numbers of participants are checked and repaired', async () => {
  const { id } = (await begun('ada', ['bob'], 'Recounted')).conversation;
  await reply('ada', id, 'Two');
  await data().all(sql`update conversation_participant set last_number = 7, read_number = 5
    where conversation_id = ${id} and user_id = ${forum.ids.bob}`);
  expect(await miscounted(forum.app)).toEqual([
    `last messages of conversations: conversation ${id}, member ${forum.ids.bob}: 5 read of 7, but there are 2`,
  ]);
  const counter = forum.app.app.extensions.read(counters).find(({ plugin }) => plugin === 'messages')!;
  await counter.value.repair([id]);
  expect(await miscounted(forum.app)).toEqual([]);
  expect(await conversation('bob', id)).toMatchObject({ message_count: 2, unread_count: 0 });
});
