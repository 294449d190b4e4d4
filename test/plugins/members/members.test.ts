import { describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { seeMembers } from 'parley-forum/plugins/members';
import { leastOf, type Client } from 'parley-forum/testing';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
const DAY = 86_400_000;
const accounts = () => forum.app.app.service(Accounts);
const names = async (query = '', client: Client = forum.guest): Promise<readonly string[]> => {
  const { status, body } = await client.get(`/api/members${query}`);
  expect(status).toBe(200);
  return (body.users as readonly { username: string }[]).map(({ username }) => username);
};
const cardOf = (name: string, client: Client = forum.guest) =>
  client.request('GET', `/u/${name}/card`, { headers: { accept: 'application/json' } });

describe('the member list', () => {
  test('is sorted by newest or by name, and paginated', async () => {
    expect((await names('?sort=name')).slice(0, 3)).toEqual(['ada', 'bad', 'bob']);
    await accounts().importAccounts([
      { username: 'Aardvark', email: 'a@forum.test', joinedAt: new Date(forum.app.clock.now() + DAY) },
    ]);
    const all = await names();
    expect(all[0]).toBe('Aardvark');
    for (const sort of ['newest', 'name']) {
      const whole = await names(`?sort=${sort}`);
      let paged: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const { body } = await forum.guest.get(`/api/members?sort=${sort}&limit=2${cursor && `&cursor=${cursor}`}`);
        paged = [...paged, ...(body.users as { username: string }[]).map(({ username }) => username)];
        cursor = body.next_cursor as string | null;
      }
      expect(paged).toEqual(whole);
      expect(await names(`?sort=${sort}&limit=2&offset=2`)).toEqual(whole.slice(2, 4));
    }
    const other = (await forum.guest.get('/api/members?sort=name&limit=1')).body.next_cursor as string;
    expect((await forum.guest.get(`/api/members?sort=newest&cursor=${other}`)).status).toBe(400);
  });

  test('can be filtered by the start of a name, regardless of case', async () => {
    expect(await names('?name=A&sort=name')).toEqual(['Aardvark', 'ada']);
    expect(await names('?name=%25')).toEqual([]);
    expect((await forum.guest.get(`/api/members?name=${'a'.repeat(31)}`)).status).toBe(400);
  });

  test('can be sorted by the number of posts that the viewer may read', async () => {
    await forum.start('mia', 'Rota', 'staff');
    await forum.start('mia', 'Rota again', 'staff');
    await forum.start('bob', 'Oars');
    const { id } = await forum.start('ada', 'Sails');
    await forum.reply('ada', id, 'More of them');
    expect(await names('?sort=posts')).toEqual(['ada', 'bob']);
    expect(await names('?sort=posts', forum.as.mia)).toEqual(expect.arrayContaining(['ada', 'mia', 'bob']));
    const first = (await forum.guest.get('/api/members?sort=posts&limit=1')).body;
    expect(await names(`?sort=posts&limit=1&cursor=${first.next_cursor}`)).toEqual(['bob']);
    expect((await forum.guest.get('/members?sort=posts')).text).toContain('2 posts');
  });

  test('omits members who hide their last visit when sorted by it, and disabled members always', async () => {
    expect(await names('?sort=last_seen')).toContain('bob');
    const hide = await forum.as.bob.submit('/settings/privacy', { hide_last_seen: 'true' });
    expect(hide.status).toBeLessThan(400);
    expect(await names('?sort=last_seen')).not.toContain('bob');
    expect(await names()).toContain('bob');
    // Neither gaps in pages nor cursors reveal when their last visit was.
    const others = await names('?sort=last_seen');
    const walked: { readonly username: string; readonly id: string }[] = [];
    const cursors: string[] = [];
    do {
      const from = cursors.length > 0 ? `&cursor=${cursors.at(-1)}` : '';
      const { users, next_cursor: next } = (await forum.guest.get(`/api/members?sort=last_seen&limit=1${from}`)).body;
      expect(users).toHaveLength(1);
      walked.push(users[0]);
      cursors.push(next);
    } while (cursors.at(-1) !== null);
    expect(walked.map(({ username }) => username)).toEqual(others);
    for (const [at, cursor] of cursors.slice(0, -1).entries())
      expect(Buffer.from(cursor, 'base64url').toString()).toContain(walked[at]!.id);
    for (let offset = 0; offset < others.length; offset++)
      expect(await names(`?sort=last_seen&limit=1&offset=${offset}`)).toEqual([others[offset]]);
    await accounts().setStatus(forum.ids.bad, 'disabled');
    expect(await names()).not.toContain('bad');
    expect((await cardOf('bad')).status).toBe(404);
  });

  test('shows no e-mail or IP address, not even to administrators', async () => {
    const { text } = await forum.as.root.get('/api/members');
    expect(text).not.toMatch(/@forum|"last_ip"|"email"/);
  });

  test('takes a number of SQL statements that does not grow with the page', async () => {
    const measure = (names: string) =>
      leastOf(() => forum.app.statements(() => forum.as.bob.get(`/members?name=${names}`)));
    expect(await measure('')).toBe(await measure('ad'));
  });

  test('is closed to guests if an administrator revokes the permission', async () => {
    const access = forum.app.app.service(Access);
    expect((await forum.guest.get('/')).text).toContain('href="/members"');
    await access.decide('guest', seeMembers, false);
    expect((await forum.guest.get('/api/members')).status).toBe(401);
    expect((await forum.guest.get('/members')).headers.get('location')).toContain('/login');
    expect((await forum.guest.get('/')).text).not.toContain('href="/members"');
    expect((await forum.as.ada.get('/members')).status).toBe(200);
    await access.decide('guest', seeMembers, undefined);
  });
});

describe('a member’s card', () => {
  test('summarises the profile, as a page and as JSON', async () => {
    await forum.as.ada.submit('/settings/profile', { bio: `Mends boats. ${'And more. '.repeat(90)}` });
    const { body, status } = await cardOf('ada');
    expect(status).toBe(200);
    for (const words of ['href="/u/ada"', 'Mends boats.', 'Joined', '2 posts', 'last seen', 'New here'])
      expect(body.html).toContain(words);
    expect(body.html.length).toBeLessThan(1_500);
    expect((await forum.guest.get('/u/ADA/card')).text).toContain('class="user-card"');
    expect((await cardOf('bob')).body.html).not.toContain('last seen');
    expect((await cardOf('nobody')).status).toBe(404);
  });

  test('stops marking the member as new after some days', async () => {
    await forum.app.app.settings.set({ 'members.new_days': 0 });
    expect((await cardOf('ada')).body.html).not.toContain('New here');
  });
});

test('members with the most posts are the same, and in the same order, as if all posts were counted', async () => {
  const { data } = forum.app.app;
  const discussions = forum.app.app.service(Discussions);
  // Most have few posts, some many; guests cannot read a third of all posts.
  await data.all(sql`insert into discussion_author (user_id, category_id, discussions, posts)
    select gen_random_uuid(), c.id, 0, (1 + 40 / (1 + n % 50))::int from generate_series(1, 1500) n
      cross join lateral (select id from category order by md5(n::text || id::text) limit 1) c`);
  await data.all(sql`insert into discussion_author (user_id, category_id, discussions, posts)
    select a.user_id, c.id, 0, 1 + abs(hashtext(a.user_id::text)) % 9 from discussion_author a
      cross join lateral (select id from category where id <> a.category_id order by md5(a.user_id::text || id::text) limit 2) c
    where a.user_id not in (select id from account)
    on conflict do nothing`);
  const { guest } = forum.app.app.service(Access);
  const root = (await accounts().viewers([forum.ids.root!])).get(forum.ids.root!)!;
  const open = forum.app.app
    .service(Categories)
    .visible(guest)
    .map(({ id }) => id);
  for (const [viewer, counted] of [
    [guest, sql`category_id = any(${open}::uuid[])`],
    [root, sql`true`],
  ] as const) {
    const whole = await data.all(sql<{ id: string }>`select user_id as id from discussion_author where ${counted}
      group by user_id having sum(posts) > 0 order by sum(posts) desc, user_id desc`);
    const paged: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await discussions.mostPosts({ limit: 90, ...(cursor !== undefined && { cursor }) }, viewer);
      paged.push(...page.items);
      cursor = page.nextCursor;
      if (cursor === undefined) break;
    }
    expect(paged).toEqual(whole.map(({ id }) => id));
    for (const offset of [7, 1_200])
      expect((await discussions.mostPosts({ limit: 5, offset }, viewer)).items).toEqual(
        paged.slice(offset, offset + 5),
      );
  }
  await data.all(sql`delete from discussion_author where user_id not in (select id from account)`);
  expect(
    await data.all(
      sql`select from discussion_author_total where posts > 0 and user_id not in (select id from account)`,
    ),
  ).toEqual([]);
});

describe('posts of new authors', () => {
  test('are marked for some days, on pages that are the same for everyone', async () => {
    const { number, id } = await forum.start('mia', 'Hello');
    const badge = '<span class="badge">New here</span>';
    const shown = async (client: Client) => (await client.get(`/d/${number}-hello`)).text.split(badge).length - 1;
    expect([await shown(forum.guest), await shown(forum.as.ada)]).toEqual([1, 1]);
    expect((await forum.guest.get(`/api/discussions/${id}/posts`)).body.posts[0].author_since).toMatch(/^\d{4}-/);
    const before = await forum.app.statements(() => forum.guest.get(`/d/${number}-hello?x=1`));
    await forum.app.app.settings.set({ 'discussions.new_author_days': 0 });
    expect(await shown(forum.guest)).toBe(0);
    // The first visit rebuilds what the setting purged, and it is purged again once other processes are notified.
    let visits = 0;
    await expect
      .poll(() => forum.app.statements(() => forum.guest.get(`/d/${number}-hello?y=${++visits}`)))
      .toBeLessThanOrEqual(before);
  });
});
