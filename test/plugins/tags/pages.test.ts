import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();
const page = async (path: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(path), 200).text;
const start = async (title: string, tags: readonly string[]): Promise<any> =>
  expectStatus(await forum.as.ada.post('/api/discussions', { title, content: 'x', category_id: 'general', tags }), 201)
    .body.discussion;
const tagged = async (id: string): Promise<readonly string[]> =>
  (await forum.guest.get(`/api/discussions/${id}`)).body.discussion.tags.map(({ name }: any) => name);

describe('reading without JavaScript', () => {
  beforeAll(async () => {
    for (let count = 0; count < 23; count++)
      await start(`Knot ${count}`, ['Knots & bends', ...(count === 0 ? ['Rare'] : [])]);
  });

  test('all tags are on one page, with the number of their discussions', async () => {
    expect(await page('/tags')).toMatch(
      /href="\/t\/knots-bends"[^>]*>Knots &amp; bends<\/a>\s*<span class="meta">23 discussions<[\s\S]*Rare<\/a>\s*<span class="meta">1 discussion</,
    );
    expect(await page('/')).toContain('href="/tags"');
  });

  test('a tag has its own list, with sorting and pages', async () => {
    const text = await page('/t/knots-bends');
    expect(text).toContain('Knots &amp; bends</h1>');
    expect(text).toContain('rel="next" href="/t/knots-bends?page=2&amp;cursor=');
    expect(text).toContain('href="/t/knots-bends?sort=newest"');
    expect(text).not.toContain('Knot 0<');
    expect(await page('/t/knots-bends?page=2')).toContain('Knot 0<');
    expect((await forum.guest.get('/t/knots-bends?page=3')).status).toBe(404);
    expect(await page('/t/rare')).toContain('Knot 0<');
  });

  test('lists and discussions show tags as links', async () => {
    const { number } = await start('Looked at', ['Rare']);
    const link = 'class="tag" href="/t/rare"';
    expect(await page('/')).toContain(link);
    expect(await page(`/d/${number}-looked-at`)).toContain(link);
  });

  test('cached pages reflect every change', async () => {
    const { id } = await start('Kept', ['before']);
    for (let time = 0; time < 2; time++)
      for (const path of ['/tags', '/t/before', '/', '/api/tags', '/api/tags/before']) await forum.guest.get(path);
    await forum.as.ada.put(`/api/discussions/${id}`, { tags: ['after'] });
    expect(await page('/tags')).toMatch(/after<\/a>\s*<span class="meta">1 discussion</);
    expect(await page('/tags')).not.toContain('/t/before');
    expect((await forum.guest.get('/t/before')).status).toBe(404);
    expect(await page('/t/after')).toContain('Kept');
  });
});

describe('writing without JavaScript', () => {
  test('a new discussion accepts comma-separated tags, and preserves them in a preview', async () => {
    const { category } = (await forum.guest.get('/api/categories/help')).body;
    const form = { title: 'Typed', content: 'x', category_id: category.id, tags: 'rope, hemp' };
    expect(await page('/new', forum.as.ada)).toContain('name="tags"');
    expect((await forum.as.ada.submit('/new', { ...form, preview: '1' })).text).toContain('value="rope, hemp"');
    const refused = await forum.as.ada.submit('/new', { ...form, tags: 'a,b,c,d,e,f' });
    expect([refused.status, refused.text.includes('value="a,b,c,d,e,f"')]).toEqual([400, true]);
    const made = await forum.as.ada.submit('/new', form);
    expect(await page(made.headers.get('location')!)).toMatch(/href="\/t\/rope"[\s\S]*href="\/t\/hemp"/);
  });

  test('the form of a discussion shows its tags, the form of a reply has none', async () => {
    const { id, number, category_id } = await start('Edited', ['one', 'two']);
    expect(await page(`/d/${number}/edit`, forum.as.ada)).toContain('value="one, two"');
    for (const path of [`/d/${number}/reply`, `/d/${number}-edited`])
      expect(await page(path, forum.as.ada)).not.toContain('name="tags"');
    expect(
      (await forum.as.ada.submit(`/d/${number}/edit`, { title: 'Edited', category_id, tags: 'two,three' })).status,
    ).toBe(303);
    expect(await tagged(id)).toEqual(['two', 'three']);
    await forum.as.ada.submit(`/d/${number}/edit`, { title: 'Edited', category_id, tags: '' });
    expect(await tagged(id)).toEqual([]);
  });
});

describe('an administrator', () => {
  const JSON_ONLY = { accept: 'application/json' };
  const save = (body: object, client: Client = forum.as.root) => client.post('/admin/tags/save', body, JSON_ONLY);
  const remove = (body: object) => forum.as.root.post('/admin/tags/delete', body, JSON_ONLY);
  const countOf = async (slug: string): Promise<number> =>
    (await forum.guest.get(`/api/tags/${slug}`)).body.tag?.discussion_count;

  test('creates and updates a tag; omitted fields are unchanged', async () => {
    const made = await save({ name: 'Deck work', hue: 45 });
    expect([made.status, made.body]).toEqual([
      201,
      {
        success: true,
        tag: { id: expect.any(String), slug: 'deck-work', name: 'Deck work', hue: 45, discussion_count: 0 },
      },
    ]);
    const { id } = made.body.tag;
    await start('On deck', ['deck work']);
    expect((await save({ id, name: 'Work on deck' })).body.tag).toEqual({
      id,
      slug: 'deck-work',
      name: 'Work on deck',
      hue: 45,
      discussion_count: 1,
    });
    expect(await page('/t/deck-work')).toContain('Work on deck</h1>');
    expect((await save({ id, name: 'Deck', slug: 'deck' })).body.tag.slug).toBe('deck');
    expect((await forum.guest.get('/t/deck-work')).status).toBe(404);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(31) }, 'name'],
    [{ name: 'RARE' }, 'name'],
    [{ name: 'x', slug: 'rare' }, 'slug'],
    [{ name: 'x', slug: 'no spaces' }, 'slug'],
    [{ name: 'x', hue: 360 }, 'hue'],
  ])('gets a validation error for %j', async (body, field) => {
    const answer = await save(body);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, field]);
  });

  test('merges a tag into another, which each discussion then has once', async () => {
    const [only, both] = [await start('Only', ['sail', 'x1']), await start('Both', ['Sails', 'sail'])];
    const {
      tags: [from],
    } = only;
    expect((await remove({ id: from.id, merge_into: from.id })).status).toBe(400);
    expect((await remove({ id: from.id, merge_into: 'no such tag' })).status).toBe(400);
    expect((await remove({ id: from.id, merge_into: 'sails' })).body).toEqual({ success: true });
    expect([await tagged(only.id), await tagged(both.id), await countOf('sails')]).toEqual([
      ['Sails', 'x1'],
      ['Sails'],
      2,
    ]);
    expect((await forum.guest.get('/api/tags/sail')).status).toBe(404);
    expect((await remove({ id: from.id })).status).toBe(404);
  });

  test('deletes a tag, removing it from its discussions', async () => {
    const {
      id,
      tags: [tag],
    } = await start('Loses', ['fleeting', 'stays']);
    expect((await remove({ id: tag.id })).body).toEqual({ success: true });
    expect(await tagged(id)).toEqual(['stays']);
    expect(await page('/tags')).not.toContain('fleeting');
    expect((await remove({ id: 'xyz' })).status).toBe(404);
  });

  test('lists tags as JSON, in pages', async () => {
    const { body: listed } = await forum.as.root.get('/admin/tags?limit=1', JSON_ONLY);
    expect(listed).toMatchObject({ count: 1, hasMore: true, next_cursor: expect.any(String) });
    const { body: rest } = await forum.as.root.get(`/admin/tags?cursor=${listed.next_cursor}`, JSON_ONLY);
    expect([listed.tags.length, rest.tags[0].id]).toEqual([1, expect.not.stringMatching(listed.tags[0].id)]);
  });

  test('is the only one allowed to, and has a page for it', async () => {
    expect((await save({ name: 'Mine' }, forum.as.mia)).status).toBe(403);
    expect((await forum.as.mia.get('/admin/tags')).status).toBe(403);
    const { id } = (await forum.guest.get('/api/tags/rare')).body.tag;
    expect(await page(`/admin/tags?id=${id}`, forum.as.root)).toContain('value="Rare"');
    expect((await forum.as.root.get('/admin/tags', JSON_ONLY)).body.tags).toContainEqual(
      expect.objectContaining({ slug: 'rare' }),
    );
    const refused = await forum.as.root.submit('/admin/tags/save', {
      id: '',
      name: 'By form',
      slug: 'not good',
      hue: '',
    });
    expect([refused.status, refused.text.includes('value="By form"')]).toEqual([400, true]);
    expect(
      (await forum.as.root.submit('/admin/tags/save', { id: '', name: 'By form', slug: '', hue: '15' })).headers.get(
        'location',
      ),
    ).toBe('/admin/tags');
    expect((await forum.as.root.submit('/admin/tags/delete', { id, merge_into: '' })).status).toBe(303);
  });
});
