import { beforeAll, describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { responsesTag } from 'parley-forum/plugins/api';
import { leastOf, type Client } from 'parley-forum/testing';
import { onServer } from '../../kit/database.ts';
import { useForum } from '../discussions/forum.ts';

const forum = useForum({ 'presence.rate_limit': 100_000 });
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const GOOGLE = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

const visitor = (agent: string): Client => forum.app.client({ 'user-agent': agent });
const stats = async () => (await forum.guest.get('/api/presence/stats')).body;
const visitors = async (client = forum.guest, query = '?limit=100') =>
  (await client.get(`/api/presence/visitors${query}`)).body.visitors as any[];
const pageOf = async (name: string, client = forum.guest) =>
  (await visitors(client)).find(({ user }) => user?.username === name)?.page;

describe('a guest', () => {
  test('is counted once for all page views, including those of cached pages', async () => {
    const before = await stats();
    const guest = visitor(`${BROWSER} once`);
    for (const path of ['/', '/', '/categories', '/login', '/']) await guest.get(path);
    const after = await stats();
    expect([after.anonymous, after.total]).toEqual([before.anonymous + 1, before.total + 1]);
  });

  test('is distinguished from others with the same address and browser as soon as they send their cookie', async () => {
    const { anonymous } = await stats();
    const [one, other] = [visitor(`${BROWSER} twins`), visitor(`${BROWSER} twins`)];
    await one.get('/');
    await other.get('/');
    expect((await stats()).anonymous).toBe(anonymous + 1);
    await one.get('/categories');
    await other.get('/categories');
    expect((await stats()).anonymous).toBe(anonymous + 2);
  });

  test('is not added by a heartbeat', async () => {
    const { anonymous } = await stats();
    const guest = visitor(`${BROWSER} quiet`);
    const { token, cookie } = await tokenWithoutVisit();
    const answer = await guest.post('/api/presence/update', { page: '/' }, { 'x-csrf-token': token, cookie });
    expect([answer.status, answer.body]).toEqual([200, { success: true }]);
    expect((await stats()).anonymous).toBe(anonymous);
  });

  test('who is already counted changes page by a heartbeat', async () => {
    const guest = visitor(`${BROWSER} moving`);
    await guest.get('/');
    await guest.get('/login');
    const { anonymous } = await stats();
    await guest.post('/api/presence/update', { page: '/categories' });
    expect((await visitors()).filter(({ user }) => user === null)[0].page).toBe('/categories');
    expect((await stats()).anonymous).toBe(anonymous);
  });

  test('needs a CSRF token for a heartbeat', async () => {
    const answer = await visitor(BROWSER).post('/api/presence/update', { page: '/' });
    expect([answer.status, answer.body.code]).toEqual([403, 'csrf_failed']);
  });

  test.skipIf(onServer)('who was first seen without a cookie is refreshed by a heartbeat too', async () => {
    const guest = visitor(`${BROWSER} single`);
    await guest.get('/');
    forum.app.clock.advance(4 * 60_000);
    await guest.post('/api/presence/update', { page: '/' });
    forum.app.clock.advance(4 * 60_000);
    expect((await stats()).anonymous).toBe(1);
  });

  /** A guest's token and cookie from an error page, which does not count as a page view. */
  async function tokenWithoutVisit() {
    const lost = visitor(`${BROWSER} lost`);
    const { text } = await lost.get('/nowhere');
    const [cookie] = [...lost.cookies].map(([name, value]) => `${name}=${value}`);
    return { token: /name="csrf-token" content="([^"]*)"/.exec(text)![1]!, cookie: cookie! };
  }
});

describe('a member', () => {
  test('is counted once by page views and heartbeats, and listed with the page', async () => {
    const before = await stats();
    await forum.as.ada.get('/categories');
    await forum.as.ada.post('/api/presence/update', { page: '/discussions?sort=newest#top' });
    expect((await stats()).authenticated - before.authenticated).toBeLessThanOrEqual(1);
    const found = (await visitors()).find(({ user }) => user?.username === 'ada');
    expect(found).toMatchObject({
      user: { id: forum.ids.ada, username: 'ada', display_name: null, avatar_url: null },
      page: '/discussions',
    });
    expect(new Date(found.last_seen_at).toISOString()).toBe(found.last_seen_at);
  });

  test('is listed before guests, most recently seen first', async () => {
    await forum.as.ada.get('/');
    await visitor(`${BROWSER} last`).get('/');
    await forum.as.bob.get('/');
    const list = await visitors();
    expect(list.slice(0, 2).map(({ user }) => user.username)).toEqual(['bob', 'ada']);
    expect(list.findLastIndex(({ user }) => user !== null)).toBeLessThan(list.findIndex(({ user }) => user === null));
  });

  test('with a bearer token counts as a member, whatever the user agent', async () => {
    const { token } = (
      await forum.as.mia.request('POST', '/settings/security/api-token', {
        json: {},
        headers: { accept: 'application/json' },
      })
    ).body;
    const bots = (await stats()).bots;
    const answer = await visitor('curl/8.0').post(
      '/api/presence/update',
      { page: '/' },
      { authorization: `Bearer ${token}` },
    );
    expect(answer.status).toBe(200);
    expect(await pageOf('mia')).toBe('/');
    expect((await stats()).bots).toBe(bots);
  });
});

describe('a crawler', () => {
  test('is counted by its name, not as a guest', async () => {
    const before = await stats();
    for (let view = 0; view < 3; view++) await visitor(GOOGLE).get('/categories');
    await visitor('Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)').get('/');
    const after = await stats();
    expect([after.bots, after.anonymous]).toEqual([before.bots + 2, before.anonymous]);
    const { bots, count, hasMore } = (await forum.guest.get('/api/presence/bots')).body;
    expect(bots).toMatchObject([
      { name: 'bingbot', page: '/' },
      { name: 'Googlebot', page: '/categories' },
    ]);
    expect([count, hasMore]).toEqual([2, false]);
  });
});

describe('pages of visitors', () => {
  let hidden: { id: string; number: number };
  let open: { id: string; number: number };
  beforeAll(async () => {
    hidden = await forum.start('mia', 'Secret plans', 'staff');
    open = await forum.start('ada', 'Plain plans');
  });

  test('are shown only to those who may see their content', async () => {
    await forum.as.mia.get(`/d/${hidden.number}-secret-plans`);
    expect([await pageOf('mia', forum.as.root), await pageOf('mia', forum.as.bob), await pageOf('mia')]).toEqual([
      `/d/${hidden.number}-secret-plans`,
      null,
      null,
    ]);
    await forum.as.mia.get('/c/staff');
    expect([await pageOf('mia', forum.as.root), await pageOf('mia', forum.as.bob), await pageOf('mia')]).toEqual([
      '/c/staff',
      null,
      null,
    ]);
    for (const path of [
      `/d/${hidden.number}`,
      `/d/${hidden.number}/reply`,
      `//d/${hidden.number}-secret-plans/`,
      `/d/%3${hidden.number}-secret-plans`,
      '/d/99999-what-not',
    ]) {
      await forum.as.mia.post('/api/presence/update', { page: path });
      expect(await pageOf('mia')).toBeNull();
    }
  });

  test('show a discussion under its current name', async () => {
    await forum.as.bob.post('/api/presence/update', { page: `/d/${open.number}-buy-things?page=2` });
    expect(await pageOf('bob')).toBe(`/d/${open.number}-plain-plans`);
    await forum.as.ada.put(`/api/discussions/${open.id}`, { title: 'Other plans' });
    expect(await pageOf('bob')).toBe(`/d/${open.number}-other-plans`);
  });

  test('that are private to the member are shown to no one', async () => {
    for (const path of [
      '/settings/security',
      '/admin/settings',
      `/p/${forum.ids.root}/edit`,
      `/d/${open.number}/edit/../../settings/security`,
    ]) {
      await forum.as.root.post('/api/presence/update', { page: path });
      expect([path, await pageOf('root', forum.as.root)]).toEqual([
        path,
        path.startsWith('/d/') ? `/d/${open.number}-other-plans` : null,
      ]);
    }
    await forum.as.root.get('/admin');
    expect(await pageOf('root', forum.as.root)).toBeNull();
  });

  test('with a fixed public path, and profiles of members, are shown as they are', async () => {
    for (const path of ['/', '/categories', '/u/ada', '/c/general']) {
      await forum.as.bob.post('/api/presence/update', { page: path });
      expect(await pageOf('bob')).toBe(path);
    }
  });

  test('that do not exist are shown to no one, so that no one can write text on the page of visitors', async () => {
    for (const path of [
      '/buy-pills-at-example-org',
      '/somewhere/else',
      '/u/buy-pills-at-example-org',
      '/u/ada/../buy-pills',
      '/c/buy-pills',
      '/d/buy-pills',
    ]) {
      await forum.as.bob.post('/api/presence/update', { page: path });
      expect([path, await pageOf('bob')]).toEqual([path, null]);
    }
    expect((await forum.guest.get('/online')).text).not.toContain('buy-pills');
  });

  test('take two SQL statements for a whole list: for the names of pages, and for hidden members', async () => {
    const number = (await forum.start('ada', 'Another')).number;
    const least = () =>
      leastOf(async () => {
        await forum.app.app.cache.purge(responsesTag);
        return forum.app.statements(() => visitors());
      });
    await forum.as.ada.get(`/d/${open.number}-other-plans`);
    const few = await least();
    await forum.as.bob.get(`/d/${number}-another`);
    await forum.as.mia.get(`/d/${hidden.number}-secret-plans`);
    expect([few, await least()]).toEqual([2, 2]);
  });
});

describe('lists and input', () => {
  test('are paginated, and say whether there is a next page', async () => {
    await forum.as.ada.get('/');
    await forum.as.bob.get('/');
    const all = await visitors();
    const first = (await forum.guest.get('/api/presence/visitors?limit=2')).body;
    expect(first).toMatchObject({ success: true, count: 2, hasMore: true, visitors: all.slice(0, 2) });
    const next = (await forum.guest.get(`/api/presence/visitors?limit=2&cursor=${first.next_cursor}`)).body;
    expect(next.visitors).toEqual(all.slice(2, 4));
    expect((await forum.guest.get('/api/presence/visitors?offset=1&limit=1')).body.visitors).toEqual(all.slice(1, 2));
    expect((await forum.guest.get('/api/presence/visitors?offset=10000')).body).toMatchObject({
      visitors: [],
      count: 0,
      hasMore: false,
      next_cursor: null,
    });
    for (const query of ['limit=0', 'offset=-1', 'limit=x', 'cursor=nonsense'])
      expect((await forum.guest.get(`/api/presence/visitors?${query}`)).status).toBe(400);
  });

  test('a page must be a path of at most 512 characters', async () => {
    for (const page of ['', 'categories', 'https://elsewhere.test/', `/${'x'.repeat(512)}`, 7, null, undefined]) {
      expect((await forum.as.ada.post('/api/presence/update', { page })).status).toBe(400);
    }
    expect((await forum.as.ada.post('/api/presence/update', { page: `/${'x'.repeat(511)}` })).status).toBe(200);
    await forum.as.ada.post('/api/presence/update', { page: '/\\elsewhere.test' });
    expect(await pageOf('ada')).toBeNull();
  });

  test('nothing in the lists contains an IP address', async () => {
    expect(JSON.stringify(await visitors(forum.as.root))).not.toMatch(/127\.0\.0\.1|"ip"|address/);
  });

  test('the numbers add up', async () => {
    const { total, anonymous, authenticated, bots } = await stats();
    expect(total).toBe(anonymous + authenticated + bots);
  });
});

test('/online names pages by the titles that the viewer may see', async () => {
  const open = await forum.start('ada', 'Tarring a deck');
  const staff = await forum.start('mia', 'Dues of the year', 'staff');
  await forum.as.ada.get(`/d/${open.number}-tarring-a-deck`);
  await forum.as.mia.get(`/d/${staff.number}-dues-of-the-year`);
  const titles = async (client: Client) =>
    [...(await client.get('/online')).text.matchAll(/ · <a href="[^"]*">(?:<bdi[^>]*>)?([^<]*)/g)].map(
      ([, title]) => title,
    );
  expect(await titles(forum.as.bob)).toEqual(expect.arrayContaining(['Tarring a deck', '/online']));
  expect(await titles(forum.as.bob)).not.toContain('Dues of the year');
  expect(await titles(forum.as.root)).toEqual(expect.arrayContaining(['Tarring a deck', 'Dues of the year']));
});

test('/online shows who is online, and the front page links to it', async () => {
  await forum.as.ada.get('/');
  const { text } = await forum.guest.get('/online');
  expect(text).toContain('href="/u/ada"');
  expect((await forum.guest.get('/')).text).toMatch(/<x-presence[\s\S]*href="\/online"/);
  expect((await forum.guest.get('/')).text).not.toContain('<x-heartbeat');
  expect((await forum.as.ada.get('/')).text).toContain('<x-heartbeat');
});

test.skipIf(onServer)('visitors who have not been seen for five minutes are removed', async () => {
  await forum.as.ada.get('/');
  await stats();
  forum.app.clock.advance(4 * 60_000);
  await forum.as.bob.get('/');
  expect((await stats()).authenticated).toBeGreaterThanOrEqual(2);
  forum.app.clock.advance(60_000);
  expect(await visitors()).toMatchObject([{ user: { username: 'bob' } }]);
  forum.app.clock.advance(4 * 60_000);
  expect(await stats()).toEqual({ success: true, total: 0, anonymous: 0, authenticated: 0, bots: 0 });
});

describe('GET /api/presence/members', () => {
  const online = async (usernames: string, client = forum.guest) =>
    (await client.get(`/api/presence/members?usernames=${usernames}`)).body.usernames;

  test('says which of these members are online, whatever the case of their names', async () => {
    await forum.app.app
      .service(Accounts)
      .create({ username: 'away', email: 'away@forum.test', password: 'Plain-Sailing-42' });
    await forum.as.ada.get('/');
    await forum.as.root.get('/');
    for (const client of [forum.guest, forum.as.bob])
      expect(await online('ROOT,nobody,away,ada,root', client)).toEqual(['root', 'ada']);
  });

  test.skipIf(onServer)('does not name those who have not been seen for five minutes', async () => {
    await forum.as.ada.get('/');
    expect(await online('ada')).toEqual(['ada']);
    forum.app.clock.advance(6 * 60_000);
    expect(await online('ada')).toEqual([]);
  });

  test('takes as many statements for many as for one', async () => {
    const asked = (usernames: string) =>
      leastOf(async () => {
        await forum.app.app.cache.purge(responsesTag);
        return forum.app.statements(() => online(usernames));
      });
    await forum.as.ada.get('/');
    await forum.as.bob.get('/');
    expect(await asked('ada,bob,mia')).toBe(await asked('ada'));
  });

  test('refuses no names, and too many', async () => {
    const many = Array.from({ length: 101 }, (_, at) => `u${at}`).join();
    for (const query of ['', '?usernames=', `?usernames=${many}`])
      expect((await forum.guest.get(`/api/presence/members${query}`)).status).toBe(400);
  });
});
