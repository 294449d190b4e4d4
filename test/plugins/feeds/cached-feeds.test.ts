import { beforeAll, describe, expect, test } from 'vitest';
import { Categories, discussionCacheTags } from 'parley-forum/plugins/discussions';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
const PATHS = ['/feed/rss', '/feed/atom', '/feed/json', '/feed/rss/category/general', '/feed/atom/category/general'];
let id: string;

const get = (path: string, headers = {}) => forum.guest.get(path, headers);
const warm = async (paths = PATHS): Promise<void> => {
  for (const path of paths) for (let time = 0; time < 2; time++) await get(path);
};
/** How many SQL statements it takes to serve these paths to a guest. */
const asked = (paths = PATHS) => forum.app.statements(() => Promise.all(paths.map((path) => get(path))));

beforeAll(async () => {
  ({ id } = await forum.start('ada', 'The first'));
  for (let count = 0; count < 30; count++) await forum.start('mia', `Number ${count}`);
  forum.app.clock.advance(5_000);
});

describe('a conditional request', () => {
  test.each(PATHS)('for an unchanged %s gets 304, by ETag and by date', async (path) => {
    const first = await get(path);
    const [etag, date] = [first.headers.get('etag')!, first.headers.get('last-modified')!];
    expect([etag, date]).toEqual([
      expect.stringMatching(/^W\/"[\w+/-]+"$/),
      new Date(forum.app.clock.now()).toUTCString(),
    ]);
    for (const headers of [
      { 'if-none-match': etag },
      { 'if-none-match': `"x", ${etag}` },
      { 'if-none-match': '*' },
      { 'if-modified-since': date },
    ]) {
      const answer = await get(path, headers);
      expect([answer.status, answer.text, answer.headers.get('etag'), answer.headers.get('last-modified')]).toEqual([
        304,
        '',
        etag,
        date,
      ]);
    }
  });

  test('gets the feed when it has changed, even within the same second', async () => {
    const [path] = PATHS as [string];
    for (let time = 0; time < 3; time++) {
      const { headers } = await get(path);
      await forum.as.ada.put(`/api/discussions/${id}`, { title: `Title ${time}` });
      await forum.start('ada', `Fresh ${time}`);
      const date = headers.get('last-modified')!;
      expect((await get(path, { 'if-none-match': headers.get('etag')! })).status).toBe(200);
      expect((await get(path, { 'if-modified-since': date })).status).toBe(200);
      expect(Date.parse((await get(path)).headers.get('last-modified')!)).toBeLessThanOrEqual(forum.app.clock.now());
    }
    forum.app.clock.advance(10_000);
    const date = (await get(path)).headers.get('last-modified')!;
    expect((await get(path, { 'if-modified-since': date })).status).toBe(304);
    expect((await get(path, { 'if-modified-since': 'yesterday' })).status).toBe(200);
    expect((await get(path, { 'if-none-match': '"other"', 'if-modified-since': date })).status).toBe(200);
  });

  test('gets 304 when the feed was regenerated with the same content', async () => {
    const { headers } = await get('/feed/rss');
    await forum.app.app.cache.purge(discussionCacheTags.lists);
    forum.app.clock.advance(5_000);
    const answer = await get('/feed/rss', { 'if-modified-since': headers.get('last-modified')! });
    expect([answer.status, answer.headers.get('last-modified')]).toEqual([304, headers.get('last-modified')]);
  });

  test('from a member gets 304 as well', async () => {
    const { headers } = await forum.as.ada.get('/feed/rss');
    expect((await forum.as.ada.get('/feed/rss', { 'if-none-match': headers.get('etag')! })).status).toBe(304);
  });
});

describe('HEAD', () => {
  test.each([...PATHS, '/rss/user/{ada}'])('of %s returns the headers of GET and no body', async (pattern) => {
    const path = pattern.replace('{ada}', forum.ids.ada);
    for (const client of [forum.guest, forum.as.ada]) {
      const [got, head] = [await client.get(path), await client.request('HEAD', path)];
      const of = ({ headers }: typeof got) =>
        ['content-type', 'cache-control', 'etag', 'last-modified'].map((name) => headers.get(name));
      expect([head.status, head.text, of(head)]).toEqual([200, '', of(got)]);
    }
    expect((await forum.guest.request('HEAD', '/feed/nowhere')).status).toBe(404);
  });
});

describe('a cached feed', () => {
  test('is served without querying the database, whatever the query string', async () => {
    await warm();
    expect(await asked()).toBe(0);
    expect(await asked(PATHS.map((path) => `${path}?utm_source=x&token=y`))).toBe(0);
  });

  test('takes the same number of SQL statements to build for few discussions as for many', async () => {
    const costs = async (items: number): Promise<number> => {
      await forum.app.app.settings.set({ 'feeds.items': items });
      await warm();
      await forum.app.app.cache.purge(discussionCacheTags.lists);
      return asked(['/feed/rss']);
    };
    expect([await costs(30), await costs(3)]).toEqual([1, 1]);
    await forum.app.app.settings.set({ 'feeds.items': 20 });
  });

  test('is sent compressed to clients that accept it', async () => {
    await warm();
    const ask = (encoding: string): Promise<Response> =>
      fetch(`${forum.app.url}/feed/rss`, { headers: { 'accept-encoding': encoding } });
    const plain = await ask('gzip;q=0');
    expect(plain.headers.get('content-encoding')).toBeNull();
    await expect.poll(async () => (await ask('gzip')).headers.get('content-encoding')).toBe('gzip');
    expect(await (await ask('gzip')).text()).toBe(await plain.text());
  });

  test('is never older than the last write', async () => {
    const shown = async (text: string): Promise<readonly boolean[]> =>
      Promise.all(PATHS.map(async (path) => (await get(path)).text.includes(text)));
    const everywhere = PATHS.map(() => true);
    await warm();
    const fresh = await forum.start('bob', 'Brand new');
    expect(await shown('Brand new')).toEqual(everywhere);
    await forum.as.bob.put(`/api/discussions/${fresh.id}`, { title: 'Renamed now' });
    expect(await shown('Renamed now')).toEqual(everywhere);
    await forum.as.bob.put(`/api/posts/${fresh.postId}`, { content: 'Other words' });
    expect(await shown('Other words')).toEqual(everywhere);
    forum.app.clock.advance(60_000);
    await forum.reply('ada', fresh.id, 'A reply');
    expect((await get('/feed/atom')).text).toContain(new Date(forum.app.clock.now()).toISOString());
    await forum.as.bob.put(`/api/discussions/${fresh.id}`, { tags: ['labelled'] });
    expect(await shown('labelled')).toEqual(everywhere);
    await forum.as.bob.delete(`/api/discussions/${fresh.id}`);
    expect(await shown('Renamed now')).toEqual(PATHS.map(() => false));
    await forum.app.app.settings.set({ 'site.name': 'Another name' });
    expect(await shown('Another name')).toEqual(everywhere);
  });

  test('no longer shows a category that has been hidden', async () => {
    await warm();
    const categories = forum.app.app.service(Categories);
    const general = categories.all().find(({ slug }) => slug === 'general')!;
    await categories.save({ ...general, view: 'members' });
    expect([
      (await get('/feed/rss')).text.includes('Number'),
      (await get('/feed/rss/category/general')).status,
    ]).toEqual([false, 404]);
    await categories.save(general);
    expect((await get('/feed/rss/category/general')).text).toContain('Number');
  });
});

test('allowed origins may read feeds by CORS, whether they are cached or not', async () => {
  await forum.app.app.settings.set({ 'api.cors_origins': ['https://app.example'] });
  for (const path of ['/feed/rss', '/feed/rss', '/feed/rss?x=1', '/feed/rss/category/nowhere']) {
    for (const origin of ['https://app.example', 'https://evil.example']) {
      const { headers } = await get(path, { origin });
      expect([path, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([
        path,
        origin === 'https://app.example' ? origin : null,
        expect.stringContaining('Origin'),
      ]);
    }
    expect((await get(path)).headers.get('access-control-allow-origin')).toBeNull();
  }
  const preflight = await forum.guest.request('OPTIONS', '/feed/rss', {
    headers: {
      origin: 'https://app.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'if-none-match',
    },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
    204,
    expect.stringContaining('If-None-Match'),
  ]);
  const nowhere = { origin: 'https://app.example', 'access-control-request-method': 'GET' };
  expect((await forum.guest.request('OPTIONS', '/feed/rss/nothing/there', { headers: nowhere })).status).toBe(204);
  await forum.app.app.settings.reset(['api.cors_origins']);
  expect(
    (await get('/feed/rss', { origin: 'https://app.example' })).headers.get('access-control-allow-origin'),
  ).toBeNull();
});
