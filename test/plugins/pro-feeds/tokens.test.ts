import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { leastOf, type Answer, type Client } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

const JSON_ONLY = { accept: 'application/json' };
const forum = useForum({ 'pro.enabled': true });
let categories: Record<string, string>;
let api: string;

/** A feed token for these categories, or for all. */
async function make(name: Name, ...slugs: readonly string[]): Promise<{ token: string; id: string }> {
  const body = {
    name: `Reader of ${name}`,
    ...(slugs.length > 0 && { category_ids: slugs.map((slug) => categories[slug]) }),
  };
  const { token, feed_token: made } = expectStatus(
    await forum.as[name].post('/settings/feeds', body, JSON_ONLY),
    201,
  ).body;
  return { token, id: made.id };
}
const read = (path: string, token: string, client: Client = forum.guest) => client.get(`${path}?token=${token}`);
const titles = (text: string): readonly string[] =>
  ['In general', 'In help', 'Among members', 'Among staff'].filter((title) => text.includes(title));
const titlesFor = async (path: string, token: string) => titles(expectStatus(await read(path, token), 200).text);
const listed = async (name: Name) => (await forum.as[name].get('/settings/feeds', JSON_ONLY)).body.feed_tokens;

beforeAll(async () => {
  await forum.app.app.service(Categories).save({ name: 'Cabin', view: 'members' });
  categories = Object.fromEntries(
    (await forum.as.root.get('/api/categories')).body.categories.map(({ slug, id }: any) => [slug, id]),
  );
  await forum.start('ada', 'In general');
  await forum.start('mia', 'In help', 'help');
  await forum.start('ada', 'Among members', 'cabin');
  await forum.start('mia', 'Among staff', 'staff');
  api = (await forum.as.ada.post('/settings/security/api-token', {}, JSON_ONLY)).body.token;
});

describe('a valid token', () => {
  test.each(['/feed/rss', '/feed/atom', '/feed/json'])(
    'shows at %s what its member may see, and does not leak it to guests',
    async (path) => {
      expect(await titlesFor(path, api)).toEqual(['In general', 'In help', 'Among members']);
      const { token } = await make('mia');
      expect(await titlesFor(path, token)).toEqual(['In general', 'In help', 'Among members', 'Among staff']);
      expect(titles((await forum.guest.get(path)).text)).toEqual(['In general', 'In help']);
    },
  );

  test('opens feeds that guests cannot see', async () => {
    const { token } = await make('mia');
    expect(await titlesFor('/feed/rss/category/staff', token)).toEqual(['Among staff']);
    expect((await read('/feed/rss/category/staff', api)).status).toBe(404);
    expect(await titlesFor(`/rss/user/${forum.ids.ada}`, token)).toEqual(['In general', 'Among members']);
    const head = await forum.guest.request('HEAD', `/feed/rss/category/staff?token=${token}`);
    expect([head.status, head.text]).toEqual([200, '']);
  });

  test('takes precedence over the session it is sent with, but not over a bearer token', async () => {
    const { token } = await make('mia');
    expect(titles((await read('/feed/rss', token, forum.as.ada)).text)).toContain('Among staff');
    expect(
      titles((await forum.guest.get(`/feed/rss?token=${token}`, { authorization: `Bearer ${api}` })).text),
    ).not.toContain('Among staff');
    expect((await forum.guest.get(`/feed/rss?token=${token}`, { authorization: 'Bearer nonsense' })).status).toBe(401);
  });

  test('loses access when its member does', async () => {
    const { token } = await make('bob');
    const accounts = forum.app.app.service(Accounts);
    expect(await titlesFor('/feed/rss', token)).toContain('Among members');
    await accounts.setGroup(forum.ids.bob, 'moderator');
    expect(await titlesFor('/feed/rss', token)).toContain('Among staff');
    await accounts.setGroup(forum.ids.bob, 'banned');
    expect(await titlesFor('/feed/rss', token)).not.toContain('Among staff');
    await accounts.setGroup(forum.ids.bob, 'moderator');
    await accounts.setStatus(forum.ids.bob, 'disabled');
    expect(await titlesFor('/feed/rss', token)).toEqual(['In general', 'In help']);
    await accounts.setStatus(forum.ids.bob, 'active');
    await accounts.setGroup(forum.ids.bob, 'member');
    await forum.as.bob.login('bob', 'Plain-Sailing-42');
  });

  test('runs the same number of statements for long and short feeds', async () => {
    const { token } = await make('mia');
    const costs = async (items: number): Promise<number> => {
      await forum.app.app.settings.set({ 'feeds.items': items });
      await read('/feed/rss', token);
      await forum.app.app.cache.purge('discussions');
      return forum.app.statements(() => read('/feed/rss', token));
    };
    expect(await costs(20)).toBe(await costs(1));
    await forum.app.app.settings.set({ 'feeds.items': 20 });
  });
});

describe('a token limited to some categories', () => {
  test('shows only those its member may see', async () => {
    const { token } = await make('mia', 'staff', 'help');
    expect(await titlesFor('/feed/rss', token)).toEqual(['In help', 'Among staff']);
    expect(await titlesFor('/feed/rss/category/staff', token)).toEqual(['Among staff']);
    expect(await titlesFor(`/rss/user/${forum.ids.ada}`, token)).toEqual([]);
    await forum.app.app.service(Accounts).setGroup(forum.ids.mia, 'member');
    expect(await titlesFor('/feed/rss', token)).toEqual(['In help']);
    await forum.app.app.service(Accounts).setGroup(forum.ids.mia, 'moderator');
    await forum.as.mia.login('mia', 'Plain-Sailing-42');
  });

  test('shows the public feed for any other category', async () => {
    const { token } = await make('mia', 'help');
    expect(await titlesFor('/feed/rss/category/general', token)).toEqual(['In general']);
    expect((await read('/feed/rss/category/staff', token)).status).toBe(404);
  });

  test('cannot be created for a category that its creator cannot see', async () => {
    const answer = await forum.as.ada.post(
      '/settings/feeds',
      { name: 'x', category_ids: [categories['staff']] },
      JSON_ONLY,
    );
    expect([answer.status, answer.body.details[0].field]).toEqual([400, 'category_ids']);
  });
});

describe('an invalid token', () => {
  test.each([
    '',
    'nonsense',
    `feed_${'x'.repeat(43)}`,
    `parley_${'x'.repeat(43)}`,
    'x'.repeat(5_000),
    'a&token=b',
    '%00',
  ])('is ignored: token=%s', async (token) => {
    for (const client of [forum.guest, forum.app.client()]) {
      const answer = await read('/feed/rss', token, client);
      expect([answer.status, titles(answer.text)]).toEqual([200, ['In general', 'In help']]);
    }
    expect((await read('/feed/rss/category/staff', token)).status).toBe(404);
  });

  test.each([
    ['/feed/rss', 'nonsense', 0],
    ['/feed/json', 'x'.repeat(5_000), 0],
    ['/feed/atom/category/general', `feed_${'x'.repeat(43)}`, 1],
    ['/feed/rss', `parley_${'x'.repeat(43)}`, 1],
  ])('gets the cached guest response at %s: token=%s', async (path, token, lookUps) => {
    const kept = await forum.guest.get(path);
    const address = `${path}?token=${token}`;
    // Only a cached response has Last-Modified.
    const shown = ({ text, headers }: Answer) => [text, headers.get('last-modified')];
    const answer = await forum.guest.get(address);
    expect([...shown(answer), answer.headers.get('cache-control')]).toEqual([...shown(kept), 'private, no-store']);
    expect(await leastOf(() => forum.app.statements(() => forum.guest.get(address)))).toBe(lookUps);
    await forum.app.app.cache.purge('discussions');
    const first = await forum.guest.get(address);
    expect(first.headers.get('last-modified')).not.toBeNull();
    expect(shown(await forum.guest.get(path))).toEqual(shown(first));
  });

  test('leaves the session in effect', async () => {
    expect(titles((await read('/feed/rss', 'nonsense', forum.as.mia)).text)).toContain('Among staff');
  });

  test('a feed token works only as the token parameter of a feed', async () => {
    const { token } = await make('ada');
    expect((await forum.guest.get('/api/users/discussions', { authorization: `Bearer ${token}` })).status).toBe(401);
    expect((await forum.guest.get('/feed/rss', { authorization: `Bearer ${token}` })).status).toBe(401);
    expect((await forum.guest.get(`/api/categories/cabin?token=${token}`)).status).toBe(404);
  });
});

describe('a token', () => {
  test('is never cached, disclosed or logged', async () => {
    const { token } = await make('mia');
    for (const path of ['/feed/rss', '/feed/atom', '/feed/json', '/feed/rss/category/nowhere', '/feed/nowhere']) {
      for (const given of [token, api, `${token}x`]) {
        const answer = await read(path, given);
        expect(answer.headers.get('cache-control')).toMatch(/^(private, )?no-store$/);
        expect([answer.headers.get('referrer-policy'), answer.text.includes(given)]).toEqual(['no-referrer', false]);
      }
    }
    expect(JSON.stringify(forum.app.lines)).not.toContain(token);
    expect(JSON.stringify(forum.app.lines)).not.toContain(api);
  });

  test('is stored as a hash', async () => {
    const { token } = await make('ada');
    const rows = await forum.app.app.data.all(sql`select * from feed_token`);
    expect(JSON.stringify(rows)).not.toContain(token.slice(5));
  });

  test('shows when it was last used, to the minute', async () => {
    const { token, id } = await make('ada');
    const used = async () => (await listed('ada')).find((one: any) => one.id === id).last_used_at;
    expect(await used()).toBeNull();
    await read('/feed/rss', token);
    const first = await used();
    expect(first).toBe(new Date(forum.app.clock.now()).toISOString());
    forum.app.clock.advance(30_000);
    await read('/feed/rss', token);
    expect(await used()).toBe(first);
    forum.app.clock.advance(30_000);
    await read('/feed/rss', token);
    expect(await used()).toBe(new Date(forum.app.clock.now()).toISOString());
  });

  test('is revoked individually, and only by its member', async () => {
    const [one, other] = [await make('mia'), await make('mia')];
    const revoke = (name: Name, id: string) => forum.as[name].post('/settings/feeds/revoke', { id }, JSON_ONLY);
    expect((await revoke('ada', one.id)).status).toBe(404);
    expect((await revoke('root', one.id)).status).toBe(404);
    expect((await revoke('mia', 'x')).status).toBe(404);
    expect(await titlesFor('/feed/rss', one.token)).toContain('Among staff');
    expect((await revoke('mia', one.id)).status).toBe(200);
    expect(await titlesFor('/feed/rss', one.token)).toEqual(['In general', 'In help']);
    expect(await titlesFor('/feed/rss', other.token)).toContain('Among staff');
    expect((await revoke('mia', one.id)).status).toBe(404);
  });

  test('is limited to twenty per member, even with concurrent requests', async () => {
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => forum.as.root.post('/settings/feeds', { name: 'x' }, JSON_ONLY)),
    );
    expect(answers.filter(({ status }) => status === 201).length).toBe(20);
    expect(answers.filter(({ status }) => status === 409).length).toBe(5);
    expect((await listed('root')).length).toBe(20);
  });
});

test('with the setting off, the parameter is ignored and the page does not exist', async () => {
  const { token } = await make('mia');
  await forum.app.app.settings.set({ 'pro.enabled': false });
  const answer = await read('/feed/rss', token);
  expect([titles(answer.text), answer.headers.get('cache-control')]).toEqual([
    ['In general', 'In help'],
    'private, no-cache',
  ]);
  expect(await forum.app.statements(() => read('/feed/rss', token))).toBe(0);
  expect((await forum.as.mia.get('/settings/feeds')).status).toBe(404);
  expect((await forum.as.mia.get('/settings/profile')).text).not.toContain('/settings/feeds');
  await forum.app.app.settings.set({ 'pro.enabled': true });
  expect(await titlesFor('/feed/rss', token)).toContain('Among staff');
});
