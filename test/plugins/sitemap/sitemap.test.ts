import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { Categories } from 'parley-forum/plugins/discussions';
import { expectStatus, useForum } from '../discussions/forum.ts';

const BASE = 'http://forum.test';
const forum = useForum();
const get = async (path: string) => expectStatus(await forum.guest.get(path), 200);
const locationsIn = (xml: string): readonly string[] =>
  [...xml.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, location]) => location!.replace(BASE, ''));
const listed = async (path = '/sitemap.xml') => locationsIn((await get(path)).text);
const LISTS = ['/', '/categories', '/c/announcements', '/c/general', '/c/help', '/tags', '/t/ropes'];

beforeAll(async () => {
  const answer = await forum.as.ada.post('/api/discussions', {
    title: 'Knots & <bends>',
    content: 'x',
    category_id: 'general',
    tags: ['Ropes'],
  });
  expectStatus(answer, 201);
  forum.app.clock.advance(60_000);
  for (const title of ['Second', 'Third', 'Föurth']) await forum.start('bob', title);
  await forum.start('mia', 'Among staff', 'staff');
});

describe('the sitemap', () => {
  test('lists the pages that guests see, and when discussions changed', async () => {
    expect(await listed()).toEqual([...LISTS, '/d/1-knots-bends', '/d/2-second', '/d/3-third', '/d/4-fourth']);
    const { text } = await get('/sitemap.xml');
    expect(text).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<urlset xmlns="http:\/\/www.sitemaps.org\/schemas\/sitemap\/0.9">\n<url>[\s\S]*<\/urlset>\n$/,
    );
    expect(text).toContain(`<url><loc>${BASE}/d/1-knots-bends</loc><lastmod>2026-01-15T12:00:00.000Z</lastmod></url>`);
    for (const path of await listed()) expect((await forum.guest.get(path)).status).toBe(200);
  });

  test('is the same for everyone, and cached for an hour', async () => {
    const plain = await get('/sitemap.xml');
    for (const client of [forum.guest, forum.as.mia, forum.as.root]) {
      const { headers, text } = await client.get('/sitemap.xml', { authorization: 'Bearer nonsense' });
      expect([text, headers.get('cache-control'), headers.get('content-type'), headers.getSetCookie()]).toEqual([
        plain.text,
        'public, max-age=3600',
        'application/xml; charset=utf-8',
        [],
      ]);
      expect([headers.get('x-content-type-options'), headers.get('vary')]).toEqual(['nosniff', 'Accept-Encoding']);
    }
  });

  test('supports compression, HEAD and conditional requests', async () => {
    const { text, headers } = await get('/sitemap.xml');
    const zipped = await fetch(`${forum.app.url}/sitemap.xml`, { headers: { 'accept-encoding': 'gzip' } });
    expect([zipped.headers.get('content-encoding'), await zipped.text()]).toEqual(['gzip', text]);
    const plain = await fetch(`${forum.app.url}/sitemap.xml`, { headers: { 'accept-encoding': 'identity' } });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, text]);
    const head = await forum.guest.request('HEAD', '/sitemap.xml');
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', headers.get('etag')]);
    const known = await forum.guest.get('/sitemap.xml', { 'if-none-match': headers.get('etag')! });
    expect([known.status, known.text]).toEqual([304, '']);
  });

  test('queries the database again only after a change', async () => {
    await listed();
    expect(await forum.app.statements(() => listed())).toBe(0);
    await forum.reply('ada', (await forum.guest.get('/api/discussions/2')).body.discussion.id, 'A reply');
    expect(await forum.app.statements(() => listed())).toBeLessThanOrEqual(3);
    expect((await get('/sitemap.xml')).text).toContain(
      `<loc>${BASE}/d/2-second</loc><lastmod>${new Date(forum.app.clock.now()).toISOString()}</lastmod>`,
    );
  });

  test('reflects new, renamed and deleted discussions immediately', async () => {
    const { id, number } = await forum.start('ada', 'Fresh');
    expect((await listed()).at(-1)).toBe(`/d/${number}-fresh`);
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Renamed' });
    expect((await listed()).at(-1)).toBe(`/d/${number}-renamed`);
    await forum.as.ada.delete(`/api/discussions/${id}`);
    expect((await listed()).at(-1)).toBe('/d/4-fourth');
  });

  test('leaves out what guests can no longer see', async () => {
    const categories = forum.app.app.service(Categories);
    const general = categories.all().find(({ slug }) => slug === 'general')!;
    await categories.save({ ...general, view: 'members' });
    expect(await listed()).toEqual(LISTS.filter((path) => path !== '/c/general' && path !== '/t/ropes'));
    await categories.save(general);
    expect((await listed()).length).toBe(LISTS.length + 4);
  });
});

describe('a large sitemap', () => {
  const limit = (addresses: number) => forum.app.app.settings.set({ 'sitemap.addresses': addresses });

  test('is an index of parts that contain everything once, none above the limit', async () => {
    await limit(3);
    const { text, headers } = await get('/sitemap.xml');
    expect([text.includes('<sitemapindex xmlns='), headers.get('cache-control')]).toEqual([
      true,
      'public, max-age=3600',
    ]);
    const parts = locationsIn(text);
    expect(parts).toEqual([
      '/sitemaps/lists-1.xml',
      '/sitemaps/lists-2.xml',
      '/sitemaps/lists-3.xml',
      '/sitemaps/discussions-1.xml',
      '/sitemaps/discussions-2.xml',
    ]);
    const pages = await Promise.all(parts.map((path) => listed(path)));
    expect(Math.max(...pages.map(({ length }) => length))).toBe(3);
    expect(pages.flat()).toEqual([...LISTS, '/d/1-knots-bends', '/d/2-second', '/d/3-third', '/d/4-fourth']);
  });

  test('keeps discussions in their parts, and lists no empty part', async () => {
    const {
      body: { discussion },
    } = await forum.guest.get('/api/discussions/4');
    await forum.as.bob.delete(`/api/discussions/${discussion.id}`);
    expect(await listed()).not.toContain('/sitemaps/discussions-2.xml');
    expect((await forum.guest.get('/sitemaps/discussions-2.xml')).status).toBe(404);
    expect(await listed('/sitemaps/discussions-1.xml')).toEqual(['/d/1-knots-bends', '/d/2-second', '/d/3-third']);
    await forum.as.mia.request('POST', '/d/4/moderate', {
      form: { _csrf: await forum.as.mia.csrf('/'), action: 'restore' },
    });
    expect(await listed('/sitemaps/discussions-2.xml')).toEqual(['/d/4-fourth']);
  });

  test.each([
    '/sitemaps/discussions-3.xml',
    '/sitemaps/discussions-0.xml',
    '/sitemaps/lists-4.xml',
    '/sitemaps/users-1.xml',
    '/sitemaps/x',
    '/sitemaps',
    '/sitemap.xml/1',
  ])('%s does not exist', async (path) => {
    const answer = await forum.guest.get(path);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test('is one file again as soon as everything fits', async () => {
    await limit(LISTS.length + 20);
    expect((await listed()).length).toBe(LISTS.length + 4);
    await limit(50_000);
  });
});

test('robots.txt names the sitemap and the paths closed to crawlers', async () => {
  const { text, headers } = await get('/robots.txt');
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(text).toMatch(/^User-agent: \*\n(Disallow: \/\S+\n)+\nSitemap: http:\/\/forum\.test\/sitemap\.xml\n$/);
  expect(text).toContain('Disallow: /admin\n');
  for (const path of await listed())
    expect([...text.matchAll(/Disallow: (\S+)/g)].filter(([, closed]) => path.startsWith(closed!))).toEqual([]);
});

describe('sitemap files', { timeout: 90_000 }, () => {
  const folder = (): string => join(forum.app.app.environment.dataDir, 'public');
  /** Empty if there is no such file; it may disappear at any time. */
  const written = (name: string): Promise<string> => readFile(join(folder(), name), 'utf8').catch(() => '');
  /** The content of the file once it is as wanted, or after a timeout. */
  async function soon(name: string, wanted: (text: string) => boolean): Promise<string> {
    for (const deadline = Date.now() + 25_000; Date.now() < deadline && !wanted(await written(name));) await sleep(100);
    return written(name);
  }

  test('are updated soon after each change', async () => {
    await forum.app.app.settings.set({ 'sitemap.files': true });
    const { text } = await get('/sitemap.xml');
    expect(await soon('sitemap.xml', (now) => now === text)).toBe(text);
    const { id } = await forum.start('ada', 'For the file');
    expect(await soon('sitemap.xml', (now) => now.includes('-for-the-file'))).toContain('-for-the-file');
    await forum.as.ada.delete(`/api/discussions/${id}`);
    expect(await soon('sitemap.xml', (now) => !now.includes('-for-the-file'))).toBe(text);
  });

  test('are split like the sitemap, without leaving old parts behind', async () => {
    await forum.app.app.settings.set({ 'sitemap.addresses': 3 });
    expect(await soon('sitemap.xml', (now) => now.includes('<sitemapindex'))).toBe((await get('/sitemap.xml')).text);
    for (const path of await listed()) expect(await written(path)).toBe((await get(path)).text);
    await forum.app.app.settings.set({ 'sitemap.addresses': 50_000 });
    expect(await soon('sitemap.xml', (now) => now.includes('<urlset'))).toBe((await get('/sitemap.xml')).text);
    await expect.poll(() => readdir(join(folder(), 'sitemaps'))).toEqual([]);
    expect(await readdir(folder())).toEqual(['CACHEDIR.TAG', 'sitemap.xml', 'sitemaps']);
  });

  test('are deleted when turned off', async () => {
    await forum.app.app.settings.set({ 'sitemap.files': false });
    expect(await soon('sitemap.xml', (now) => now === '')).toBe('');
  });
});
