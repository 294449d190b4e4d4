import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum({ 'discussions.rate_limit': 1_000 });
const page = async (path: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(path), 200).text;
/** The titles of the rows of a list, as they follow each other. */
const rows = async (path: string, client: Client = forum.guest): Promise<readonly string[]> =>
  [...(await page(path, client)).matchAll(/<h2 class="card-title"[^>]*>[\s\S]*?<a [^>]*>([^<]*)<\/a>/g)].map(
    ([, title]) => title!,
  );
const start = async (title: string, category: string, tags: readonly string[] = []): Promise<any> =>
  expectStatus(await forum.as.ada.post('/api/discussions', { title, content: 'x', category_id: category, tags }), 201)
    .body.discussion;
const categoryId = async (slug: string): Promise<string> =>
  (await forum.as.root.get(`/api/categories/${slug}`)).body.category.id;

const JSON_ONLY = { accept: 'application/json' };

beforeAll(async () => {
  for (const body of [
    { name: 'Knots', slug: 'knots', parent_id: await categoryId('help') },
    { name: 'Secret', slug: 'secret', view: 'staff' },
  ])
    expectStatus(await forum.as.root.post('/admin/categories/save', body, JSON_ONLY), 201);
  forum.app.clock.advance(120_000);
  await forum.as.root.post('/api/discussions', {
    title: 'Hidden',
    content: 'x',
    category_id: 'secret',
    tags: ['underground', 'rope'],
  });
  await start('Plain', 'general');
  await start('Splice', 'general', ['rope']);
  await start('Asked', 'help', ['rope']);
  await start('Bend', 'knots', ['rope', 'hemp']);
  await start('Hitch', 'knots');
});

describe('the front page', () => {
  test('shows only a category with its subcategories, or a tag, or both', async () => {
    expect(await rows('/')).toEqual(['Hitch', 'Bend', 'Asked', 'Splice', 'Plain']);
    expect(await rows('/?category=help')).toEqual(['Hitch', 'Bend', 'Asked']);
    expect(await rows('/?tag=rope')).toEqual(['Bend', 'Asked', 'Splice']);
    expect(await rows('/?category=help&tag=rope')).toEqual(['Bend', 'Asked']);
    expect(await rows('/?category=&tag=')).toHaveLength(5);
  });

  test('says what is chosen, with a link that removes it, and offers the rest', async () => {
    const text = await page('/?category=help&tag=rope&sort=oldest');
    expect(text).toMatch(/href="\/\?tag=rope&amp;sort=oldest"><span class="hidden">Remove:<\/span><span[^>]*>Help</);
    expect(text).toMatch(
      /href="\/\?category=help&amp;sort=oldest"><span class="hidden">Remove:<\/span><span[^>]*>#rope</,
    );
    expect(text).toContain('<option value="help" selected>');
    expect(text).toContain('<option value="knots">– Knots</option>');
    expect(text).toContain('<input type="hidden" name="sort" value="oldest">');
    expect(text).toContain('href="/?category=help&amp;tag=rope&amp;sort=newest"');
    expect(text).toContain('<link rel="canonical" href="http://forum.test/">');
    expect(await page('/')).not.toContain('class="list-parts"');
  });

  test('offers and finds nothing that is hidden', async () => {
    const text = await page('/');
    expect(text).not.toMatch(/secret|underground/i);
    for (const query of ['category=secret', 'category=nothing', 'tag=underground', 'tag=nothing'])
      expect((await forum.guest.get(`/?${query}`)).status).toBe(404);
    expect(await rows('/?tag=underground', forum.as.root)).toEqual(['Hidden']);
    expect(await rows('/?tag=rope')).not.toContain('Hidden');
  });

  test('says that nothing matches, and leads back to everything', async () => {
    const text = await page('/?category=knots&tag=hemp&sort=newest');
    expect(text).not.toContain('No discussions match');
    const empty = await page('/?category=general&tag=hemp');
    expect(empty).toContain('No discussions match');
    expect(empty).toContain('<a class="button primary" href="/">');
  });

  test('shows every change at once', async () => {
    for (let time = 0; time < 3; time++) expect(await rows('/?tag=hemp')).toEqual(['Bend']);
    await start('Twine', 'general', ['hemp']);
    expect(await rows('/?tag=hemp')).toEqual(['Twine', 'Bend']);
  });
});

describe('other lists', () => {
  test('a tag is narrowed by a category, a category by a tag', async () => {
    expect(await rows('/t/rope?category=knots')).toEqual(['Bend']);
    expect(await rows('/c/general?tag=rope')).toEqual(['Splice']);
    expect((await forum.guest.get('/t/rope?category=secret')).status).toBe(404);
  });

  test('unread, new and followed discussions are narrowed, and looking at a part marks nothing as read', async () => {
    const { bob } = forum.as;
    for (const path of ['/unread', '/unread/new'])
      expect((await rows(`${path}?category=knots&tag=rope`, bob)).join()).toBe('Bend');
    expect(await rows('/unread?tag=hemp&category=general', bob)).toEqual(['Twine']);
    expect(await rows('/unread', bob)).toHaveLength(6);
    expect(await rows('/following?category=knots', forum.as.ada)).toEqual(['Hitch', 'Bend']);
    for (const path of ['/unread', '/unread/new', '/following'])
      expect((await bob.get(`${path}?category=secret`)).status).toBe(404);
  });

  test('pages keep what is chosen', async () => {
    for (let count = 0; count < 22; count++) await start(`Many ${count}`, 'general', ['many']);
    const text = await page('/unread?category=general&tag=many', forum.as.bob);
    const next = /rel="next" href="([^"]*)"/.exec(text)![1]!.replaceAll('&amp;', '&');
    expect(next).toContain('/unread?category=general&tag=many&page=2&cursor=');
    expect(await rows(next, forum.as.bob)).toEqual(['Many 1', 'Many 0']);
    expect(await rows('/?tag=many&page=2')).toEqual(['Many 1', 'Many 0']);
    expect((await forum.guest.get('/?tag=many&page=3')).status).toBe(404);
  });

  test('take no more statements for many rows than for one', async () => {
    const measure = (path: string) => forum.app.statements(() => forum.as.ada.get(`${path}&x=${Math.random()}`));
    await measure('/?category=help&tag=rope');
    const few = await measure('/?category=knots&tag=rope');
    expect(await measure('/?category=general&tag=many')).toBeLessThanOrEqual(few);
  });
});
