import { beforeAll, describe, expect, test } from 'vitest';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Data, definePlugin, sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { personalData } from 'parley-forum/ports/personal-data';
import { expectStatus, install, useForum, type Forum } from '../discussions/forum.ts';
import { picture, send } from '../uploads/forum.ts';
import { confirm, exported, looked, PASSWORD, places } from './forum.ts';

const DAY = 86_400_000;
const JSON_ONLY = { accept: 'application/json' };
const leave = (forum: Forum, name: 'ada' | 'bob' | 'root', mode: string, username: string = name) =>
  forum.as[name].submit('/settings/privacy/delete', { username, mode });
const pending = (forum: Forum) =>
  forum.app.app.service(Data).all(sql<{ id: string }>`select account_id as id from privacy_deletion order by 1`);
const mails = async (forum: Forum): Promise<readonly string[]> => {
  const folder = join(forum.app.app.environment.dataDir, 'mail');
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
};

describe('requesting account deletion', () => {
  const forum = useForum();

  test('requires a member with a recent password confirmation', async () => {
    expect((await forum.guest.get('/settings/privacy/delete')).headers.get('location')).toContain('/login?return_to=');
    forum.app.clock.advance(16 * 60_000);
    expect((await forum.as.ada.get('/settings/privacy/delete')).headers.get('location')).toContain(
      '/login/confirm?return_to=',
    );
    const asked = await leave(forum, 'ada', 'remove');
    expect([asked.status, asked.text.includes('action="/login/confirm"')]).toEqual([403, true]);
    expect(await pending(forum)).toEqual([]);
    const kept = /name="pending" value="([^"]*)"/.exec(asked.text)?.[1] ?? '';
    const back = await forum.as.ada.submit('/login/confirm', { password: PASSWORD, pending: kept });
    expect([back.text.includes('value="ada"'), /value="remove" checked/.test(back.text)]).toEqual([true, true]);
    expect(await pending(forum)).toEqual([]);
  });

  test('requires the member’s username and one of two modes, and preserves the form on errors', async () => {
    const refused = await leave(forum, 'ada', 'remove', 'bob');
    expect([
      refused.status,
      refused.text.includes('is not your username'),
      /value="remove" checked/.test(refused.text),
    ]).toEqual([400, true, true]);
    expect((await leave(forum, 'ada', 'burn')).status).toBe(400);
    expect(
      (await forum.as.ada.request('POST', '/settings/privacy/delete', { form: { username: 'ada', mode: 'remove' } }))
        .status,
    ).toBe(403);
    expect(await pending(forum)).toEqual([]);
  });

  test('is refused for the only administrator', async () => {
    await confirm(forum.as.root);
    const refused = await leave(forum, 'root', 'anonymise');
    expect([refused.status, refused.text.includes('only administrator')]).toEqual([409, true]);
  });

  test('logs the member out; logging in again cancels the deletion', async () => {
    const answer = await leave(forum, 'ada', 'remove', ' ADA ');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    expect((await forum.as.ada.get('/settings/privacy', JSON_ONLY)).status).toBe(401);
    expect(await pending(forum)).toEqual([{ id: forum.ids.ada }]);
    forum.app.clock.advance(6 * DAY);
    await looked(forum.app);
    expect((await forum.guest.get('/u/ada')).status).toBe(200);
    await forum.as.ada.login('ada', PASSWORD);
    expect(await pending(forum)).toEqual([]);
    forum.app.clock.advance(2 * DAY);
    await looked(forum.app);
    expect((await forum.guest.get('/u/ada')).status).toBe(200);
    await forum.app.calm();
    expect((await mails(forum)).filter((mail) => /^Subject: Your account/m.test(mail))).toHaveLength(2);
  });

  test('is recorded in the audit log', async () => {
    const rows = await forum.app.app.service(Data).all(sql<{ action: string }>`
      select action from audit_entry where subject_id = ${forum.ids.ada} and action like 'privacy.%' order by position`);
    expect(rows.map(({ action }) => action)).toEqual(['privacy.deletion-requested', 'privacy.deletion-cancelled']);
  });

  test('is cancelled by a login while the plugin is disabled', async () => {
    const { plugins } = forum.app.app;
    await forum.as.bob.login('bob', PASSWORD);
    await leave(forum, 'bob', 'remove');
    expect(await pending(forum)).toEqual([{ id: forum.ids.bob }]);
    forum.app.clock.advance(DAY);
    await plugins.disable('privacy');
    await forum.as.bob.login('bob', PASSWORD);
    await plugins.enable('privacy');
    expect(await pending(forum)).toEqual([{ id: forum.ids.bob }]);
    forum.app.clock.advance(7 * DAY);
    await looked(forum.app);
    expect([await pending(forum), (await forum.guest.get('/u/bob')).status]).toEqual([[], 200]);
  });

  test('is refused for an administrator when no other administrator can log in and act', async () => {
    const { app } = forum.app;
    const accounts = app.service(Accounts);
    const [traveller] = await accounts.importAccounts([
      { username: 'traveller', email: 'traveller@forum.test', groupId: 'admin' },
    ]);
    const { id } = await accounts.create({
      username: 'warden',
      email: 'warden@forum.test',
      password: PASSWORD,
      groupId: 'admin',
    });
    await forum.as.root.login('root', PASSWORD);
    const refused = async () => (await leave(forum, 'root', 'anonymise')).status;
    await accounts.setStatus(id, 'disabled');
    expect(await refused()).toBe(409);
    await accounts.setStatus(id, 'active');
    await app.service(Access).suspend({ userId: id, until: new Date(forum.app.clock.now() + DAY), reason: 'Away' });
    expect(await refused()).toBe(409);
    await app.service(Access).release(id);
    await accounts.setGroup(id, 'banned');
    expect(await refused()).toBe(409);
    await accounts.setPassword(traveller!, PASSWORD);
    expect(await refused()).toBe(303);
    await forum.as.root.login('root', PASSWORD);
    await accounts.setGroup(traveller!, 'member');
    expect(await pending(forum)).toEqual([]);
  });

  test('lets one of two administrators leave, but not both', async () => {
    await forum.app.app.service(Accounts).setGroup(forum.ids.mia, 'admin');
    for (const name of ['root', 'mia'] as const) await forum.as[name].login(name, PASSWORD);
    expect((await leave(forum, 'root', 'anonymise')).status).toBe(303);
    const refused = await forum.as.mia.submit('/settings/privacy/delete', { username: 'mia', mode: 'anonymise' });
    expect(refused.status).toBe(409);
    // The other one is no longer an administrator when the deletion is due.
    await forum.app.app.service(Accounts).setGroup(forum.ids.mia, 'member');
    forum.app.clock.advance(8 * DAY);
    await looked(forum.app);
    expect([(await pending(forum)).length, (await forum.guest.get('/u/root')).status]).toEqual([0, 200]);
  });
});

/** What a member leaves everywhere: texts distinct from all others. */
async function live(forum: Forum) {
  const { ada, bob } = forum.as;
  const alone = await forum.start('ada', 'Zebrafinch alone');
  const shared = await forum.start('ada', 'Zebrafinch shared');
  const reply = await forum.reply('bob', shared.id, 'Bob has an answer.');
  const others = await forum.start('bob', 'Of Bob');
  const own = await forum.reply('ada', others.id, 'The quokkatext is here.');
  const gone = await forum.reply('ada', others.id, 'The quokkatext was deleted.');
  expectStatus(await ada.put(`/api/posts/${own.id}`, { content: 'The quokkatext has changed.' }), 200);
  expectStatus(await ada.put(`/api/discussions/${shared.id}`, { title: 'Zebrafinch shared again' }), 200);
  expectStatus(await ada.delete(`/api/posts/${gone.id}`), 200);
  expectStatus(await ada.post('/api/reactions/toggle', { post_id: others.postId, reaction: 'like' }), 200);
  expectStatus(await bob.post('/api/reactions/toggle', { post_id: others.postId, reaction: 'like' }), 200);
  expectStatus(
    await ada.post('/api/reports', { post_id: others.postId, reason: 'spam', note: 'A quokkatext of a report.' }),
    201,
  );
  expectStatus(await forum.as.mia.put(`/api/discussions/${alone.id}`, { title: 'Zebrafinch moderated' }), 200);
  expectStatus(await ada.post('/api/bookmarks', { post_id: others.postId, note: 'A quokkatext for later.' }), 201);
  const begin = async (to: string, subject: string, content: string): Promise<string> =>
    expectStatus(await ada.post('/api/conversations', { to: [to], subject, content }), 201).body.conversation.id;
  const conversation = await begin('bob', 'Zebrafinch between us', 'A quokkatext for Bob.');
  expectStatus(await bob.post(`/api/conversations/${conversation}/messages`, { content: 'Bob has read it.' }), 201);
  // Only ada is left in it.
  await bob.delete(`/api/conversations/${await begin('bob', 'Zebrafinch alone again', 'A quokkatext for nobody.')}`);
  for (const [member, id] of [
    [ada, forum.ids.bob],
    [bob, forum.ids.ada],
  ] as const)
    expectStatus(await member.post('/api/subscriptions/mute', { kind: 'member', subject_id: id, muted: true }), 200);
  expectStatus(await ada.put('/api/drafts/new', { fields: { content: 'A quokkatext begun.' } }), 200);
  const file = expectStatus(await send(ada, await picture(), 'quokkatext.png'), 201).body.upload;
  await ada.submit('/settings/profile', { bio: 'A quokkatext of a life.' });
  await ada.post('/api/presence/update', { page: '/' });
  await forum.app.calm();
  return { alone, shared, reply, others, own, conversation, file: new URL(file.url).pathname as string };
}

describe('a member deleted with all content', () => {
  const forum = useForum({ 'privacy.grace_days': 0 });
  let left: Awaited<ReturnType<typeof live>>;
  let before: readonly (readonly string[])[];

  beforeAll(async () => {
    const accounts = forum.app.app.service(Accounts);
    const member = await accounts.findByIdentifier('ada');
    await accounts.setEmail(member!.id, 'wombatmail@forum.test');
    left = await live(forum);
    await confirm(forum.as.ada);
    before = [await places(forum.app, 'quokkatext'), await places(forum.app, 'wombatmail')];
    expectStatus(await leave(forum, 'ada', 'remove'), 303);
    await looked(forum.app);
    await forum.app.calm();
    // Run once more for what was still in progress.
    forum.app.clock.advance(DAY + 1);
    await looked(forum.app);
    for (const name of ['bob', 'mia', 'root'] as const) await forum.as[name].login(name, PASSWORD);
  });

  test('leaves no text in the database', async () => {
    expect([before[0]!.length > 5, before[1]]).toEqual([true, ['account.email']]);
    expect(await places(forum.app, 'zebrafinch')).toEqual([]);
    expect(await places(forum.app, 'quokkatext')).toEqual([]);
    expect(await places(forum.app, 'wombatmail')).toEqual([]);
    expect(await forum.app.app.service(Data).all(sql`select 1 from account where username = 'ada'`)).toEqual([]);
    expect(await pending(forum)).toEqual([]);
  });

  test('leaves an id only in records without personal data', async () => {
    expect((await places(forum.app, forum.ids.ada)).map((place) => place.split('.')[0])).toEqual(
      expect.not.arrayContaining([
        'accounts_session',
        'api_answer',
        'event_log',
        'feed_token',
        'follow',
        'notification_preference',
        'reaction',
        'subscription',
        'upload',
        'webhook_event',
        'privacy_choice',
        'mail_message',
      ]),
    );
  });

  test('appears on no page and in no response', async () => {
    const paths = [
      '/',
      '/discussions',
      `/d/${left.shared.number}`,
      `/d/${left.others.number}`,
      `/d/${left.others.number}/2`,
      '/search?q=quokkatext',
      '/online',
      '/feed/rss',
      '/feed/atom',
      `/rss/user/${forum.ids.ada}`,
      '/sitemap.xml',
      '/mod/log',
      '/admin/users',
      '/api/discussions',
      '/api/events?limit=100',
      `/api/discussions/${left.shared.id}`,
      `/api/discussions/${left.others.id}`,
      '/api/search?q=zebrafinch',
      `/api/users/${forum.ids.ada}`,
      '/api/presence/visitors',
      '/api/users/search?q=ada',
    ];
    // Responses repeat the query: "quokkatext" and "zebrafinch" alone prove nothing.
    const words = /zebrafinch (moderated|alone|shared)|quokkatext (is|was|has|of)|wombatmail|"ada"|>ada</i;
    for (const visitor of [forum.guest, forum.as.bob, forum.as.mia, forum.as.root]) {
      for (const path of paths) {
        const answer = await visitor.get(path);
        expect([path, answer.status < 500, words.exec(answer.text)?.[0]]).toEqual([path, true, undefined]);
      }
    }
    expect((await forum.guest.get('/u/ada')).status).toBe(404);
    expect((await forum.guest.get(left.file)).status).toBe(404);
    expect([...(await exported(forum.app, forum.as.bob)).values()].join('\n')).not.toMatch(
      /zebrafinch|quokkatext|wombatmail|"ada"/i,
    );
  });

  test('leaves the content of others intact', async () => {
    const { body } = expectStatus(await forum.guest.get(`/api/discussions/${left.shared.id}`), 200);
    expect(body.discussion).toMatchObject({
      title: 'Deleted discussion',
      content: '',
      author: { username: expect.stringMatching(/^deleted-/) as string },
    });
    expect(body.posts).toMatchObject([
      { number: 1, is_deleted: true },
      { number: 2, content: 'Bob has an answer.' },
    ]);
    expect((await forum.guest.get(`/api/discussions/${left.alone.id}`)).status).toBe(404);
    expect(
      expectStatus(await forum.guest.get(`/api/reactions/post/${left.others.postId}`), 200).body.reactions,
    ).toMatchObject([{ reaction: 'like', count: 1 }]);
    const path = `/api/conversations/${left.conversation}`;
    expect((await forum.as.bob.get(path)).body.conversation).toMatchObject({
      subject: '',
      participants: [{ username: 'bob' }],
    });
    expect((await forum.as.bob.get(`${path}/messages`)).body.messages).toMatchObject([
      { number: 1, content: '', html: '', is_deleted: true },
      { number: 2, content: 'Bob has read it.', is_deleted: false },
    ]);
    const shown = (await forum.as.bob.get(`/messages/${left.conversation}`)).text;
    for (const words of ['No subject', 'removed this message', 'Bob has read it.']) expect(shown).toContain(words);
    expect(await forum.app.app.service(Data).all(sql`select id from conversation`)).toHaveLength(1);
  });

  test('cannot log in, and frees their username and e-mail address', async () => {
    const client = forum.app.client();
    await client.csrf();
    expect((await client.submit('/login', { identifier: 'ada', password: PASSWORD })).status).toBe(401);
    const made = await forum.app.app
      .service(Accounts)
      .create({ username: 'ada', email: 'wombatmail@forum.test', password: 'Another-Sailing-42' });
    expect(made.id).not.toBe(forum.ids.ada);
  });
});

describe('an anonymised member', () => {
  const forum = useForum();
  let left: Awaited<ReturnType<typeof live>>;

  beforeAll(async () => {
    left = await live(forum);
    await confirm(forum.as.ada);
    expectStatus(await leave(forum, 'ada', 'anonymise'), 303);
    forum.app.clock.advance(8 * DAY);
    await looked(forum.app);
    await forum.as.bob.login('bob', PASSWORD);
  });

  test('leaves their content without a name', async () => {
    const { body } = expectStatus(await forum.guest.get(`/api/posts/${left.own.id}`), 200);
    const author = {
      username: expect.stringMatching(/^deleted-[0-9a-f]{8}$/) as string,
      display_name: null,
      avatar_url: null,
    };
    expect(body.post).toMatchObject({ content: 'The quokkatext has changed.', author });
    const { body: written } = await forum.as.bob.get(`/api/conversations/${left.conversation}/messages`);
    expect(written.messages[0]).toMatchObject({ content: 'A quokkatext for Bob.', author });
    const { body: between } = await forum.as.bob.get(`/api/conversations/${left.conversation}`);
    expect(between.conversation).toMatchObject({
      subject: 'Zebrafinch between us',
      participants: [{ username: 'bob' }],
    });
    expect((await forum.guest.get('/u/ada')).status).toBe(404);
    expect(await places(forum.app, 'ada@forum.test')).toEqual([]);
    expect(await places(forum.app, 'quokkatext of a')).toEqual([]);
    expect(await forum.app.app.service(Data).all(sql`select 1 from event_log where data::text like '%"ada"%'`)).toEqual(
      [],
    );
    expect((await forum.guest.get(left.file)).status).toBe(404);
  });

  test('is notified when it is done', async () => {
    await forum.app.calm();
    expect((await mails(forum)).filter((mail) => /Subject: Your account is deleted/.test(mail))).toHaveLength(1);
  });
});

describe('a plugin disabled during an account erasure', () => {
  const forum = useForum();
  const draftsWith = (text: string) =>
    forum.app.app.service(Data).all(sql`select 1 from draft where fields::text like ${`%${text}%`}`);

  test('erases its data once it is enabled again', async () => {
    const { plugins } = forum.app.app;
    for (const name of ['ada', 'bob'] as const)
      expectStatus(await forum.as[name].put('/api/drafts/new', { fields: { content: `Numbat of ${name}` } }), 200);
    await plugins.disable('drafts');
    await confirm(forum.as.ada);
    expectStatus(await leave(forum, 'ada', 'anonymise'), 303);
    for (const days of [8, 2]) {
      forum.app.clock.advance(days * DAY);
      await looked(forum.app);
    }
    expect([(await pending(forum)).length, (await draftsWith('Numbat of ada')).length]).toEqual([0, 1]);
    await plugins.enable('drafts');
    await looked(forum.app);
    expect([(await draftsWith('Numbat of ada')).length, (await draftsWith('Numbat of bob')).length]).toEqual([0, 1]);
  });

  test('retries on the next run if it fails', async () => {
    let [asked, fails] = [0, true];
    await install(
      forum.app,
      definePlugin({
        id: 'test-late',
        setup(_services, plugin) {
          plugin.extend(personalData, {
            name: 'late',
            erase() {
              asked++;
              return fails ? Promise.reject(new Error('Not now')) : Promise.resolve();
            },
          });
        },
      }),
    );
    for (let times = 0; times < 2; times++) await looked(forum.app);
    fails = false;
    for (let times = 0; times < 2; times++) await looked(forum.app);
    expect(asked).toBe(3);
  });
});
