import { beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { settled } from '../audit/settled.ts';
import { useForum, type Name } from '../discussions/forum.ts';

const PASSWORD = 'Plain-Sailing-42';
const DAY = 86_400_000;
const forum = useForum();
let count = 0;
let name: string;
let id: string;
let discussion: string;

/** Logs in the member that was created for the current test. */
const fresh = async () => {
  const client = forum.app.client();
  await client.login(name, PASSWORD);
  return client;
};
const judge = (who: Name, verb: string, form: Record<string, string> = {}, whom = name) =>
  forum.as[who].submit(`/mod/members/${whom}/${verb}`, { reason: 'Rude words', ...form });

beforeEach(async () => {
  name = `sailor${++count}`;
  id = (
    await forum.app.app.service(Accounts).create({ username: name, email: `${name}@forum.test`, password: PASSWORD })
  ).id;
  discussion = (await forum.start('ada', `Harbour ${count}`)).id;
});

describe('text that no database can store', () => {
  test('is refused as a reason, a note and a name', async () => {
    for (const text of ['half \ud800', 'nothing \0']) {
      for (const verb of ['warn', 'suspend', 'ban'])
        expect((await forum.as.mia.post(`/mod/members/${name}/${verb}`, { reason: text, days: 1 })).status).toBe(400);
      expect((await forum.as.mia.post(`/mod/members/${name}/notes`, { content: text })).status).toBe(400);
      expect((await forum.as.root.post('/admin/settings/save', { 'site.name': text })).status).toBe(400);
    }
    for (const path of ['/mod/members/a%00b', '/u/a%00b']) expect((await forum.as.mia.get(path)).status).toBe(404);
    expect((await forum.as.root.get('/admin/users?q=a%00b&group_id=%00')).status).toBe(200);
  });
});

describe('a ban in the admin panel', () => {
  const move = async (group: string): Promise<void> => {
    expect(
      (await forum.as.root.post('/admin/users/save', { id, group_id: group }, { accept: 'application/json' })).status,
    ).toBe(200);
    await settled(forum.app);
  };
  /** The part below the filter, which lists all actions. */
  const lines = async (path: string): Promise<string> =>
    (await forum.as.mia.get(path)).text.split('class="entries"')[1] ?? '';
  const log = (): Promise<string> => lines(`/mod/log?member=${name}`);

  test('is in the moderation log and the member’s history like one by a moderator, and the member is notified', async () => {
    await forum.as.root.csrf('/admin');
    await move('banned');
    for (const shown of [await log(), await lines(`/mod/members/${name}`)])
      expect(shown).toMatch(/<strong>Ban<\/strong>[\s\S]*<bdi>root<\/bdi>/);
    expect((await forum.as.mia.get(`/mod/members/${name}`)).text).toContain('<span class="badge danger">Banned</span>');
    const notified = (await (await fresh()).get('/settings/standing')).text;
    expect(notified).toMatch(/Ban</);
    expect(notified).not.toContain('root');
  });

  test('can be lifted there too, or on the moderation pages, which restores the previous group', async () => {
    await forum.as.root.csrf('/admin');
    await forum.app.app.service(Accounts).setGroup(id, 'moderator');
    await move('banned');
    await move('moderator');
    expect(await log()).toContain('<strong>Ban lifted</strong>');
    await move('banned');
    expect((await judge('root', 'unban')).status).toBe(303);
    expect((await forum.app.app.service(Accounts).find(id))!.groupId).toBe('moderator');
  });

  test('is one log entry, as is one by a moderator, while a change to another group is none', async () => {
    await forum.as.root.csrf('/admin');
    await judge('mia', 'ban');
    await settled(forum.app);
    const count = async (): Promise<number> =>
      (await forum.app.app.data.all(sql`select 1 from moderation_entry where user_id = ${id}`)).length;
    expect(await count()).toBe(1);
    await judge('mia', 'unban');
    await move('moderator');
    expect(await count()).toBe(2);
  });
});

describe('a suspended member', () => {
  test('can read and log in, cannot write anywhere, and sees until when and why', async () => {
    const client = await fresh();
    const { post } = (await client.post('/api/posts', { discussion_id: discussion, content: 'Before' })).body;
    expect((await judge('mia', 'suspend', { days: '3' })).status).toBe(303);

    const until = new Date(forum.app.clock.now() + 3 * DAY).toISOString();
    const refused = await client.post('/api/posts', { discussion_id: discussion, content: 'Still here' });
    expect([refused.status, refused.body.code, refused.body.error]).toEqual([
      403,
      'suspended',
      `You are suspended until ${until}: Rude words`,
    ]);
    for (const answer of await Promise.all([
      client.post('/api/discussions', { title: 'Mine', content: 'x', category_id: 'general' }),
      client.put(`/api/posts/${post.id}`, { content: 'Other' }),
      client.delete(`/api/posts/${post.id}`),
      client.post('/api/reactions/toggle', { post_id: post.id, reaction: 'like' }),
      client.post('/api/reports', { post_id: post.id, reason: 'spam' }),
      client.post('/api/subscriptions/toggle', { discussion_id: discussion }),
      client.post('/api/typing-indicator/typing', { discussion_id: discussion }),
    ]))
      expect(answer.status).toBe(403);
    expect((await client.submit('/new', { title: 'Mine', content: 'x', category_id: 'general' })).status).toBe(403);

    expect((await client.get(`/api/discussions/${discussion}`)).status).toBe(200);
    const page = (await client.get('/')).text;
    expect(page).toContain('You can read but not post until');
    expect(page).toContain('Rude words');
    expect((await (await fresh()).get('/notifications')).status).toBe(200);
    expect((await client.get('/api/categories/general')).body.category.can).toMatchObject({
      view: true,
      create: false,
      reply: false,
    });
  });

  test('can write again as soon as a moderator ends the suspension', async () => {
    const client = await fresh();
    await judge('mia', 'suspend', { days: '30' });
    expect((await forum.as.mia.get('/mod')).text).toContain(name);
    expect((await judge('mia', 'release')).status).toBe(303);
    expect((await client.post('/api/posts', { discussion_id: discussion, content: 'Back' })).status).toBe(201);
    expect((await judge('mia', 'release')).status).toBe(409);
    expect((await forum.as.mia.get('/mod')).text).not.toContain(`/mod/members/${name}"><bdi>${name}</bdi></a> <span`);
  });

  test('is restricted with a token as with a session', async () => {
    const client = await fresh();
    const { token } = (await client.post('/settings/security/api-token', undefined, { accept: 'application/json' }))
      .body;
    await judge('mia', 'suspend', { days: '1' });
    const program = forum.app.client({ authorization: `Bearer ${token}` });
    expect((await program.get('/api/notifications')).status).toBe(200);
    expect((await program.post('/api/posts', { discussion_id: discussion, content: 'x' })).status).toBe(403);
  });
});

describe('a banned member', () => {
  test('is logged out, sees what guests see, and returns to the previous group after the ban', async () => {
    const access = forum.app.app.service(Access);
    const group = await access.saveGroup({ name: `Crew ${count}`, level: 'member' });
    await forum.app.app.service(Accounts).setGroup(id, group.id);
    const client = await fresh();
    expect((await judge('mia', 'ban')).status).toBe(303);
    expect((await client.get('/api/notifications')).status).toBe(401);
    const banned = await fresh();
    expect((await banned.post('/api/posts', { discussion_id: discussion, content: 'x' })).status).toBe(403);
    expect((await banned.get('/settings/standing')).text).toContain('You are banned');
    expect((await judge('mia', 'ban')).status).toBe(409);
    expect((await judge('mia', 'suspend', { days: '1' })).status).toBe(409);
    expect((await judge('mia', 'unban')).status).toBe(303);
    expect((await forum.app.app.service(Accounts).find(id))?.groupId).toBe(group.id);
    expect((await judge('mia', 'unban')).status).toBe(409);
  });

  test('who was a moderator does not become one again when another moderator lifts the ban', async () => {
    await forum.app.app.service(Accounts).setGroup(id, 'moderator');
    expect((await judge('mia', 'ban')).status).toBe(403);
    expect((await judge('root', 'ban')).status).toBe(303);
    expect((await judge('mia', 'unban')).status).toBe(303);
    expect((await forum.app.app.service(Accounts).find(id))?.groupId).toBe('member');
  });
});

describe('restrictions', () => {
  test('members, guests, banned and suspended users cannot sanction anyone or see the moderation pages', async () => {
    for (const path of ['/mod', '/mod/log', `/mod/members/${name}`]) {
      expect((await forum.as.bob.get(path)).status).toBe(403);
      expect((await forum.as.bad.get(path)).status).toBe(403);
      expect((await forum.guest.get(path)).headers.get('location')).toContain('/login');
    }
    for (const verb of ['warn', 'suspend', 'release', 'ban', 'unban', 'notes', 'addresses']) {
      expect(
        (await forum.as.bob.submit(`/mod/members/${name}/${verb}`, { reason: 'x', days: '1', content: 'x' })).status,
      ).toBe(403);
    }
    expect((await forum.as.bob.get(`/u/${name}`)).text).not.toContain('/mod/');
    expect((await forum.as.bob.get('/')).text).not.toContain('href="/mod"');
    await forum.app.app.service(Accounts).setGroup(id, 'moderator');
    const moderator = await fresh();
    expect((await moderator.get('/mod')).status).toBe(200);
    await judge('root', 'suspend', { days: '1' });
    expect((await moderator.get('/mod')).status).toBe(403);
    expect((await moderator.submit('/mod/members/bob/ban', { reason: 'x' })).status).toBe(403);
    expect((await moderator.delete(`/api/discussions/${discussion}`)).status).toBe(403);
  });

  test('moderators cannot sanction themselves, each other or administrators, nor can administrators each other', async () => {
    for (const verb of ['warn', 'suspend', 'ban']) {
      for (const whom of ['mia', 'root']) {
        const refused = await judge('mia', verb, { days: '1' }, whom);
        expect([verb, whom, refused.status]).toEqual([verb, whom, 403]);
      }
      expect((await judge('root', verb, { days: '1' }, 'root')).status).toBe(403);
    }
    expect((await forum.as.mia.get('/mod/members/root')).text).not.toContain('/ban');
    await forum.app.app.service(Accounts).setGroup(id, 'moderator');
    expect((await judge('mia', 'suspend', { days: '1' })).status).toBe(403);
    expect((await judge('root', 'suspend', { days: '1' })).status).toBe(303);
  });

  test('a sanction requires a reason, a valid duration and an existing member', async () => {
    for (const form of [
      { reason: ' ', days: '1' },
      { days: '0' },
      { days: '-1' },
      { days: 'x' },
      { days: '999999' },
      {},
    ]) {
      const refused = await judge('mia', 'suspend', form);
      expect([form, refused.status]).toEqual([form, 400]);
    }
    const asked = (await judge('mia', 'suspend', { reason: ' ', days: '7' })).text;
    expect(asked).toContain('<a href="#f-reason">Reason: is required</a>');
    expect(asked).toMatch(/id="f-reason"[^>]* aria-invalid="true"/);
    expect(asked).toContain('<option value="7" selected>');
    expect((await judge('mia', 'warn', {}, 'nobody-here')).status).toBe(404);
    expect((await forum.as.mia.get(`/mod/members/${encodeURIComponent(`${name}@forum.test`)}`)).status).toBe(404);
    expect(forum.app.app.service(Access).suspension(id)).toBeUndefined();
  });
});

describe('the menu of a post', () => {
  const menu = async (who: Name, postId: string) => (await forum.as[who].get(`/p/${postId}/menu`)).text;
  const link = () => `href="/mod/members/${name}"`;
  const forms = () => `href="/mod/members/${name}#act-title"`;

  test('leads moderators to what is known of the author, and to the forms that warn, suspend and ban', async () => {
    const client = await fresh();
    const { post } = (await client.post('/api/posts', { discussion_id: discussion, content: 'Ahoy' })).body;
    for (const who of ['mia', 'root'] as const) {
      expect(await menu(who, post.id)).toContain(link());
      expect(await menu(who, post.id)).toContain(forms());
    }
    expect((await forum.as.mia.get(`/mod/members/${name}`)).text).toContain('id="act-title"');
    expect(await menu('bob', post.id)).not.toContain('/mod/');
    await forum.app.app.service(Accounts).setGroup(id, 'moderator');
    expect(await menu('mia', post.id)).toContain(link());
    expect(await menu('mia', post.id)).not.toContain(forms());
  });

  test('has none of this on moderators’ own posts', async () => {
    const { post } = (await forum.as.mia.post('/api/posts', { discussion_id: discussion, content: 'Mine' })).body;
    expect(await menu('mia', post.id)).not.toContain('/mod/members');
  });
});

describe('information for moderators about a member', () => {
  test('the form says what a ban does at once, where a ban is possible', async () => {
    const help = async () =>
      (await forum.as.mia.get(`/mod/members/${name}`)).text.includes('ends the member’s sessions');
    expect(await help()).toBe(true);
    await judge('mia', 'ban');
    expect(await help()).toBe(false);
  });

  test('notes are visible only to moderators', async () => {
    expect((await forum.as.mia.submit(`/mod/members/${name}/notes`, { content: 'Knows <b>knots</b>.' })).status).toBe(
      303,
    );
    expect((await forum.as.root.get(`/mod/members/${name}`)).text).toContain('Knows &lt;b&gt;knots&lt;/b&gt;.');
    const client = await fresh();
    for (const path of [`/u/${name}`, '/settings/standing', '/notifications'])
      expect((await client.get(path)).text).not.toContain('knots');
  });

  test('IP addresses are shown to those with the permission, and only on request by a form', async () => {
    await fresh();
    expect((await forum.as.mia.get(`/mod/members/${name}`)).text).not.toContain('IP addresses');
    expect((await forum.as.mia.submit(`/mod/members/${name}/addresses`)).status).toBe(403);
    const before = (await forum.as.root.get(`/mod/members/${name}`)).text;
    expect(before).toContain('Show IP addresses');
    expect(before).not.toContain('127.0.0.1');
    expect((await forum.as.root.submit(`/mod/members/${name}/addresses`)).text).toContain('127.0.0.1');
  });
});

// This comes last, as advancing the clock lets the sessions of the others expire.
describe('the end of a suspension', () => {
  test('takes effect by itself at the exact time, and purges what was cached during the suspension', async () => {
    await judge('mia', 'suspend', { days: '3' });
    forum.app.clock.advance(3 * DAY - 1);
    const client = await fresh();
    expect((await client.get('/api/categories/general')).body.category.can).toMatchObject({ create: false });
    const reply = () => client.post('/api/posts', { discussion_id: discussion, content: 'Back' });
    expect((await reply()).status).toBe(403);
    forum.app.clock.advance(1);
    expect((await reply()).status).toBe(201);
    expect((await client.get('/api/categories/general')).body.category.can).toMatchObject({ create: true });
    expect((await client.get('/')).text).not.toContain('You can read but not post');
  });
});
