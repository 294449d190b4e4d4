import { describe, expect, test } from 'vitest';
import { Settings, sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { leastOf, type Client } from 'parley-forum/testing';
import type { AccountsService } from '../../../plugins/accounts/accounts/service.ts';
import { namesFrom, namesLike } from '../../../plugins/accounts/accounts/name-search.ts';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const accounts = () => forum.app.app.service(Accounts);
const name = (who: Name, displayName: unknown, client: Client = forum.as[who]) =>
  client.put(`/api/users/${forum.ids[who]}`, { display_name: displayName });
const shown = async (who: Name): Promise<unknown> =>
  expectStatus(await forum.guest.get(`/api/users/${forum.ids[who]}`), 200).body.user.display_name;
const page = async (path: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(path), 200).text;
const found = async (path: string): Promise<readonly string[]> =>
  expectStatus(await forum.guest.get(path), 200).body.users.map(({ username }: { username: string }) => username);

describe('a display name', () => {
  test('is set, changed and removed by its owner, by form and API', async () => {
    expect(await shown('bob')).toBeNull();
    const { body } = expectStatus(await name('bob', '  Robert   Bruce '), 200);
    expect(body.user).toMatchObject({ username: 'bob', display_name: 'Robert Bruce' });
    expect(await shown('bob')).toBe('Robert Bruce');
    expect((await forum.as.bob.put(`/api/users/${forum.ids.bob}`, { bio: 'I mend boats.' })).body.user).toMatchObject({
      display_name: 'Robert Bruce',
      bio: 'I mend boats.',
    });
    expect(await page('/settings/profile', forum.as.bob)).toContain('value="Robert Bruce"');
    expect((await forum.as.bob.submit('/settings/profile', { bio: '', display_name: 'Bo' })).status).toBe(303);
    expect(await shown('bob')).toBe('Bo');
    expect((await forum.as.bob.submit('/settings/profile', { bio: 'A form that knows no names' })).status).toBe(303);
    expect(await shown('bob')).toBe('Bo');
    expectStatus(await name('bob', null), 200);
    expect(await shown('bob')).toBeNull();
  });

  test('is stored in composed form, and may use any script', async () => {
    for (const [given, stored] of [
      ['Zoe\u0301', 'Zo\u00e9'],
      ['李明', '李明'],
      ['عايدة', 'عايدة'],
      ['A', 'A'],
      ['Bob ❤️', 'Bob ❤️'],
      ['x'.repeat(50), 'x'.repeat(50)],
    ])
      expect((await name('bob', given)).body.user.display_name).toBe(stored);
  });

  test.each([
    ['has more than 50 characters', 'x'.repeat(51)],
    ['overrides the text direction', 'Ada \u202Eadm'],
    ['isolates a text direction', 'Ada\u2066'],
    ['contains zero-width spaces', 'Ro\u200Bot'],
    ['contains invisible joiners', 'Ro\u200Dot'],
    ['contains invisible fillers', 'Ro\u3164ot'],
    ['contains a line break', 'Ada\nLovelace'],
    ['contains a tab', 'Ada\tLovelace'],
    ['contains a control character', 'Ada\u0007'],
    ['contains a line separator', 'Ada\u2028Lovelace'],
    ['stacks combining marks', `A${'\u0301'.repeat(9)}`],
    ['contains no letter or digit', '!!!'],
    ['looks like a mention', '@ada'],
    ['is another member’s username', 'mia'],
    ['is another member’s username in capitals', 'MIA'],
    ['is another member’s username in full-width letters', 'ｍｉａ'],
    ['is the name of a staff role', 'Administrator'],
    ['is the name of a staff role in look-alike characters', 'Mоderat0r'],
    ['is the name of a staff role with a foreign letter', 'ɑdmin'],
    ['is the name of a staff role in small capitals', 'ᴍᴏᴅᴇʀᴀᴛᴏʀ'],
    ['is the name of a staff role with a capital I for an l', 'OfficiaI'],
    ['is the name of a staff role with separators between its letters', 'A.d m-i_n'],
    ['is the name of a staff role in another language', 'Modératrice'],
    ['belongs to the forum itself', 'Parley-Team'],
  ])('is refused by form and API when it %s', async (_words, given) => {
    const { status, body } = await name('ada', given);
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('display_name')]);
    const refused = await forum.as.ada.submit('/settings/profile', { bio: 'Kept', display_name: given });
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/id="f-display_name-problem"[^]*Kept/);
    expect(await shown('ada')).toBeNull();
  });

  test('that is the name of the forum or of a group is reserved for staff', async () => {
    await forum.app.app.service(Settings).set({ 'site.name': 'The Slipway' });
    await forum.app.app.service(Access).saveGroup({ name: 'Harbour masters', level: 'member' });
    for (const taken of ['The Slipway', 'the  SLIPWAY', 'The SIipway', 'HARBOUR MASTERS', 'Harbour-Masters'])
      expect([taken, (await name('ada', taken)).status]).toEqual([taken, 400]);
    for (const free of ['Ada of the Slipway', 'Harbour', 'Modest'])
      expect([free, (await name('ada', free)).status]).toEqual([free, 200]);
    const boss = { username: 'boss', email: 'boss@forum.test', password: 'Plain-Sailing-42', groupId: 'moderator' };
    const { id } = await accounts().create(boss);
    await accounts().setProfile(id, { displayName: 'Moderator' });
    // A member who already has such a name can still change the rest of the profile.
    await accounts().setGroup(id, 'member');
    await accounts().setProfile(id, { bio: 'Retired', displayName: 'Moderator' });
    expectStatus(await name('ada', null), 200);
  });

  test('cannot be taken while someone is signing up with it as username', async () => {
    const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const account = { username: 'ahab', email: 'ahab@forum.test', password: 'Plain-Sailing-42' };
    const signUp = (accounts() as AccountsService).create(account, async () => {
      reached.resolve();
      await go.promise;
    });
    await reached.promise;
    const named = name('bob', 'Ahab');
    await new Promise((resolve) => setTimeout(resolve, 300));
    go.resolve();
    await signUp;
    expect((await named).status).toBe(400);
    expect(await shown('bob')).not.toBe('Ahab');
  });

  test('may equal its owner’s username, and is not available as a username to others later', async () => {
    expectStatus(await name('ada', 'Ada'), 200);
    expectStatus(await name('bob', 'Captain-Nemo'), 200);
    const account = { username: 'captain-nemo', email: 'nemo@forum.test', password: 'Plain-Sailing-42' };
    await expect(accounts().create(account)).rejects.toMatchObject({ status: 400 });
    expectStatus(await name('ada', ''), 200);
  });

  test('cannot be changed by others, by guests, or without a CSRF token', async () => {
    expect((await name('ada', 'Taken', forum.as.bob)).status).toBe(403);
    expect((await name('ada', 'Taken', forum.as.root)).status).toBe(403);
    expect((await name('bad', 'Taken')).status).toBe(403);
    const guest = forum.app.client();
    await guest.csrf();
    expect((await name('ada', 'Taken', guest)).status).toBe(401);
    const unsigned = { 'x-csrf-token': 'none' };
    expect((await forum.as.ada.put(`/api/users/${forum.ids.ada}`, { display_name: 'Taken' }, unsigned)).status).toBe(
      403,
    );
    const form = { bio: '', display_name: 'Taken', _csrf: 'none' };
    expect((await forum.as.ada.submit('/settings/profile', form)).status).toBe(403);
    expect((await forum.as.ada.put('/api/users/none', { display_name: 'Taken' })).status).toBe(404);
    expect(await shown('ada')).toBeNull();
  });
});

describe('author names', () => {
  test('show the display name with the username, immediately after a change', async () => {
    const { id, number } = await forum.start('ada', 'Engines');
    await forum.reply('mia', id, 'What about @ada?');
    const title = `/d/${number}-engines`;
    for (const path of ['/', title, '/u/ada', '/members', '/u/ada/card']) await page(path);
    expectStatus(await name('ada', 'Ada "L" Lovelace'), 200);
    const chosen = '<bdi title="@ada">Ada &quot;L&quot; Lovelace</bdi>';
    const beside = `${chosen} <bdi class="handle">@ada</bdi>`;
    for (const path of [title, '/u/ada', '/members', '/u/ada/card']) expect(await page(path)).toContain(beside);
    expect(await page('/')).toContain('>mia</bdi>');
    expectStatus(await name('mia', 'Mia Mar'), 200);
    expect(await page('/')).toContain('<bdi title="@mia">Mia Mar</bdi>');
    expect(await page(title)).toContain('<a href="/u/ada" class="mention">@ada</a>');
    expect(await page('/u/ada')).toContain('<title>Ada &quot;L&quot; Lovelace (@ada)');
    expect(await page('/notifications', forum.as.ada)).toContain('Mia Mar (@mia)');
    const { posts } = (await forum.guest.get(`/api/discussions/${id}/posts`)).body;
    expect(posts[0].author).toEqual({
      id: forum.ids.ada,
      username: 'ada',
      display_name: 'Ada "L" Lovelace',
      avatar_url: null,
    });
  });

  test('show the display name to staff, and to its owner in the account menu', async () => {
    const { id } = await forum.start('ada', 'An oar for sale');
    const { posts } = (await forum.guest.get(`/api/discussions/${id}/posts`)).body;
    expectStatus(await forum.as.bob.post('/api/reports', { post_id: posts[0].id, reason: 'spam' }), 201);
    for (const [who, chosen] of [
      ['ada', 'Ada Lovelace'],
      ['bob', 'Robert'],
      ['mia', 'Mia Mar'],
    ] as const)
      expectStatus(await name(who, chosen), 200);
    const [ada, bob] = ['<bdi title="@ada">Ada Lovelace</bdi>', '<bdi title="@bob">Robert</bdi>'];
    const list = await page('/mod/reports', forum.as.mia);
    expect(list).toContain(`${ada} <bdi class="handle">@ada</bdi>`);
    expect(list).toContain(`${bob} <bdi class="handle">@bob</bdi>`);
    const report = await page(/\/mod\/reports\/[\w-]+/.exec(list)![0], forum.as.mia);
    expect(report).toContain(`${ada} <bdi class="handle">@ada</bdi>`);
    expect(report).toContain('Ada Lovelace (@ada)');
    expect(await page('/mod/members/ada', forum.as.mia)).toContain(`${ada} <bdi class="handle">@ada</bdi></a>`);
    expect(await page('/admin/users?q=ada', forum.as.root)).toContain(`${ada} <bdi class="handle">@ada</bdi></a>`);
    expect(await page('/', forum.as.ada)).toMatch(
      /Account of Ada Lovelace \(@ada\)[^]*menu-head"><bdi title="@ada">Ada Lovelace<\/bdi>/,
    );
  });

  test('take as many statements with a display name as without', async () => {
    const measure = () => forum.app.statements(() => forum.guest.get(`/u/ada?x=${Math.random()}`));
    await name('ada', '');
    const without = await leastOf(measure);
    await name('ada', 'Ada Lovelace');
    expect(await leastOf(measure)).toBe(without);
  });
});

describe('members are found by their display name', () => {
  test('by its beginning and, from three letters on, by any part of it', async () => {
    expectStatus(await name('ada', 'Zoé Lovelace'), 200);
    expectStatus(await name('bob', '李明'), 200);
    expect(await found('/api/users/search?q=zo')).toEqual(['ada']);
    expect(await found(`/api/users/search?q=${encodeURIComponent('ZOÉ')}`)).toEqual(['ada']);
    expect(await found('/api/users/search?q=lovel')).toEqual(['ada']);
    expect(await found(`/api/users/search?q=${encodeURIComponent('李')}`)).toEqual(['bob']);
    expect(await found('/api/members?name=zo')).toEqual(['ada']);
    const { results } = (await forum.guest.get('/api/search?type=users&q=lovelace')).body;
    expect(results[0]).toMatchObject({ title: 'Zoé Lovelace', excerpt: 'Zoé <mark>Lovelace</mark> (@ada)' });
  });

  test('with names that begin with the query first', async () => {
    await name('bob', 'Madam');
    expect(await found('/api/users/search?q=ada')).toEqual(['ada', 'bob']);
  });

  test('by indexes alone, however many members there are', async () => {
    const { data } = forum.app.app;
    await data.all(sql`insert into account (id, username, email, password_hash, group_id, joined_at, display_name, display_name_key)
      select gen_random_uuid(), 'zz' || n, 'zz' || n || '@forum.test', '!', 'member', now(), 'Qu ' || n, 'qu ' || n from generate_series(1, 20000) n`);
    await data.all(sql`insert into account (id, username, email, password_hash, group_id, joined_at)
      select gen_random_uuid(), 'mm' || n, 'mm' || n || '@forum.test', '!', 'member', now() from generate_series(1, 40000) n`);
    await data.all(sql`vacuum analyze account`);
    for (const { matches, order } of [
      namesLike('lovelace', 20),
      namesLike('zo', 20),
      namesFrom('zoé'),
      namesFrom('李'),
    ]) {
      const plan = await data.all(sql`explain select id from account where ${matches} order by ${order} limit 20`);
      expect(JSON.stringify(plan)).not.toContain('Seq Scan');
    }
    expect(await found('/api/users/search?q=zo')).toEqual(['ada']);
    // Nor does a common first letter make the scan pass over other names.
    const { matches, order } = namesLike('z', 20);
    const plan = await data.all(sql`explain (analyze, timing off) select id from account
      where ${matches} and status = 'active' order by ${order} limit 20`);
    expect(JSON.stringify(plan)).not.toContain('Rows Removed by Filter');
  });
});
