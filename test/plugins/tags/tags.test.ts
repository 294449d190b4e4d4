import { sql } from 'parley-forum';
import { describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Categories } from 'parley-forum/plugins/discussions';
import { createTags } from 'parley-forum/plugins/tags';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { onServer } from '../../kit/database.ts';

const forum = useForum();
let made = 0;
/** A new discussion by ada, with these tags. */
const start = async (tags: unknown, category = 'general', client: Client = forum.as.ada): Promise<any> =>
  expectStatus(
    await client.post('/api/discussions', { title: `Tagged ${++made}`, content: 'x', category_id: category, tags }),
    201,
  ).body.discussion;
const namesOf = (discussion: { tags: readonly { name: string }[] }): readonly string[] =>
  discussion.tags.map(({ name }) => name);
const tagOf = async (slug: string, client: Client = forum.guest): Promise<any> =>
  expectStatus(await client.get(`/api/tags/${encodeURIComponent(slug)}`), 200).body.tag;
/** 0 if the tag does not exist for the caller. */
const countOf = async (slug: string, client: Client = forum.guest): Promise<number> =>
  (await client.get(`/api/tags/${encodeURIComponent(slug)}`)).body.tag?.discussion_count ?? 0;

test('tags are found by a part of the name, in any case, if the caller may see them', async () => {
  await start(['Copper pipes', 'Pipe cutters']);
  await start(['Hidden pipes'], 'staff', forum.as.mia);
  const found = async (q: string, client: Client = forum.guest): Promise<readonly string[]> =>
    expectStatus(await client.get(`/api/tags?q=${encodeURIComponent(q)}`), 200).body.tags.map(
      ({ name }: { name: string }) => name,
    );
  expect((await found('PIPE')).toSorted()).toEqual(['Copper pipes', 'Pipe cutters']);
  expect((await found('pipe', forum.as.mia)).toSorted()).toEqual(['Copper pipes', 'Hidden pipes', 'Pipe cutters']);
  expect(await found('%')).toEqual([]);
});

describe('a discussion', () => {
  test('gets its tags when it is started, and new names become tags', async () => {
    const discussion = await start(['Boats', 'Old engines']);
    expect(discussion.tags).toEqual([
      { id: expect.any(String), slug: 'boats', name: 'Boats' },
      { id: expect.any(String), slug: 'old-engines', name: 'Old engines' },
    ]);
    expect(await tagOf('old-engines')).toEqual({
      id: discussion.tags[1].id,
      slug: 'old-engines',
      name: 'Old engines',
      hue: expect.any(Number),
      discussion_count: 1,
    });
    expect((await forum.guest.get('/api/discussions')).body.discussions[0].tags).toEqual(discussion.tags);
    expect((await forum.guest.get(`/api/discussions/${discussion.id}`)).body.discussion.tags).toEqual(discussion.tags);
  });

  test('accepts tags by name in any case, slug or id, and ignores duplicates', async () => {
    const {
      tags: [boats, engines],
    } = await start(['boats', 'old-engines']);
    expect(namesOf(await start([boats.id, 'BOATS', 'boats', engines.slug]))).toEqual(['Boats', 'Old engines']);
    expect((await start([])).tags).toEqual([]);
    expect((await start(undefined)).tags).toEqual([]);
  });

  test.each([
    ['ボート', 'ボート'],
    ['Ёлка и мачта', 'елка-и-мачта'],
    ['مركب', 'مركب'],
    ['⚓', 'tag'],
    ['🔥', 'tag-2'],
    ['C', 'c'],
    ['C++', 'c-2'],
    ['Śruba', 'sruba'],
  ])('accepts names in any script: %s', async (name, slug) => {
    const {
      tags: [tag],
    } = await start([name]);
    expect([tag.name, tag.slug.normalize('NFKD').replace(/\p{M}/gu, '')]).toEqual([
      name,
      slug.normalize('NFKD').replace(/\p{M}/gu, ''),
    ]);
    expect((await forum.guest.get(`/api/tags/${encodeURIComponent(tag.slug)}`)).body.tag.id).toBe(tag.id);
    expect((await forum.guest.get(`/t/${encodeURIComponent(tag.slug)}`)).text).toContain(name);
  });

  test('changes, keeps and loses tags when edited, in the given order', async () => {
    const { id } = await start(['one', 'two']);
    const edit = async (body: object) =>
      expectStatus(await forum.as.ada.put(`/api/discussions/${id}`, body), 200).body.discussion;
    expect(namesOf(await edit({ tags: ['three', 'one'] }))).toEqual(['three', 'one']);
    expect([await countOf('one'), await countOf('two'), await countOf('three')]).toEqual([1, 0, 1]);
    expect(namesOf(await edit({ title: 'Only renamed' }))).toEqual(['three', 'one']);
    expect(namesOf(await edit({ tags: [] }))).toEqual([]);
    expect([await countOf('one'), await countOf('three')]).toEqual([0, 0]);
    expect((await forum.as.bob.put(`/api/discussions/${id}`, { tags: ['mine now'] })).status).toBe(403);
  });

  test.each([[['a', 'b', 'c', 'd', 'e', 'f']], [['x'.repeat(31)]], [['tab\u0007bell']], [[7]], [{ a: 1 }]])(
    'is refused with %j, and nothing is stored',
    async (tags) => {
      const before = (await forum.guest.get('/api/tags?limit=100')).body.tags;
      const answer = await forum.as.ada.post('/api/discussions', {
        title: 'Refused',
        content: 'x',
        category_id: 'general',
        tags,
      });
      expect([answer.status, answer.body.details[0].field.split('.')[0]]).toEqual([400, 'tags']);
      expect((await forum.guest.get('/api/tags?limit=100')).body.tags).toEqual(before);
      expect(
        (await forum.guest.get('/api/discussions?limit=100')).body.discussions.map(({ title }: any) => title),
      ).not.toContain('Refused');
    },
  );

  test('accepts only existing tags from members who may not create any', async () => {
    const access = forum.app.app.service(Access);
    await access.decide('member', createTags, false);
    const answer = await forum.as.ada.post('/api/discussions', {
      title: 'x',
      content: 'x',
      category_id: 'general',
      tags: ['Boats', 'never heard of'],
    });
    expect([answer.status, answer.body.details]).toEqual([
      400,
      [{ field: 'tags', message: expect.stringContaining('never heard of') }],
    ]);
    expect(namesOf(await start(['boats']))).toEqual(['Boats']);
    await access.decide('member', createTags, undefined);
  });

  test('accepts comma-separated tags from a form, even a single value', async () => {
    const form = { title: 'By form', content: 'x', category_id: 'general', tags: 'rope, Boats ,, rope' };
    const answer = await forum.as.ada.request('POST', '/api/discussions', {
      form: { ...form, _csrf: await forum.as.ada.csrf() },
    });
    expect(namesOf(expectStatus(answer, 201).body.discussion)).toEqual(['rope', 'Boats']);
  });
});

describe('the number of discussions of a tag', () => {
  test('is updated on creating, deleting, restoring and moving', async () => {
    const { id } = await start(['counted']);
    await start(['counted'], 'help');
    expect(await countOf('counted')).toBe(2);
    await forum.as.ada.delete(`/api/discussions/${id}`);
    expect(await countOf('counted')).toBe(1);
    await forum.as.mia.put(`/api/discussions/${id}`, { tags: ['counted', 'while away'] });
    expect([await countOf('counted'), await countOf('while-away')]).toEqual([1, 0]);
    await forum.as.mia.post(`/api/discussions/${id}/restore`);
    expect([await countOf('counted'), await countOf('while-away')]).toEqual([2, 1]);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff', tags: ['counted', 'moved'] });
    expect([await countOf('counted'), await countOf('counted', forum.as.mia)]).toEqual([1, 2]);
    expect([
      await countOf('moved'),
      await countOf('moved', forum.as.mia),
      await countOf('while-away', forum.as.mia),
    ]).toEqual([0, 1, 0]);
  });

  test('does not include discussions that the caller may not see', async () => {
    await start(['hush'], 'staff', forum.as.mia);
    expect([await countOf('hush'), await countOf('hush', forum.as.ada), await countOf('hush', forum.as.mia)]).toEqual([
      0, 0, 1,
    ]);
    expect((await forum.as.ada.get('/api/tags/hush/discussions')).status).toBe(404);
    expect((await forum.as.mia.get('/api/tags/hush/discussions')).body.count).toBe(1);
  });

  test('is updated when a category is merged into another', async () => {
    const categories = forum.app.app.service(Categories);
    const hold = await categories.save({ name: 'Hold', view: 'staff' });
    await start(['cargo'], 'hold', forum.as.mia);
    await start(['cargo']);
    expect(await countOf('cargo')).toBe(1);
    await categories.remove(hold.id, categories.all().find(({ slug }) => slug === 'general')!.id);
    expect(await countOf('cargo')).toBe(2);
  });

  test('is correct after concurrent uses of a new tag', async () => {
    const used = await Promise.all(
      Array.from({ length: 12 }, (_, index) => start(['rush hour', index % 2 ? 'Rush' : 'hour', 'RUSH HOUR'])),
    );
    expect(new Set(used.map(({ tags: [tag] }) => tag.id)).size).toBe(1);
    expect([await countOf('rush-hour'), await countOf('rush'), await countOf('hour')]).toEqual([12, 6, 6]);
    await Promise.all(
      used.map(({ id }, index) =>
        forum.as.mia.put(`/api/discussions/${id}`, {
          tags: index % 2 ? ['hour', 'rush'] : ['rush', 'hour'],
          category_id: index % 3 ? 'help' : 'general',
        }),
      ),
    );
    expect([await countOf('rush-hour'), await countOf('rush'), await countOf('hour')]).toEqual([0, 12, 12]);
  });
});

describe('GET /api/tags', () => {
  test('lists all tags that the caller may see, most used first, in pages', async () => {
    const all = (await forum.guest.get('/api/tags?limit=100')).body;
    expect(all).toMatchObject({ success: true, hasMore: false, next_cursor: null, count: all.tags.length });
    const counts = all.tags.map(({ discussion_count }: any) => discussion_count);
    expect(counts).toEqual(counts.toSorted((a: number, b: number) => b - a));
    const first = (await forum.guest.get('/api/tags?limit=2')).body;
    const second = (await forum.guest.get(`/api/tags?limit=2&cursor=${first.next_cursor}`)).body;
    expect([first.hasMore, [...first.tags, ...second.tags]]).toEqual([true, all.tags.slice(0, 4)]);
    expect((await forum.guest.get('/api/tags?limit=2&offset=2')).body.tags).toEqual(second.tags);
    expect((await forum.guest.get('/api/tags?limit=0')).status).toBe(400);
  });

  test('responds 404 for a missing tag at every path', async () => {
    for (const path of [
      '/api/tags/nothing',
      '/api/tags/nothing/discussions',
      '/t/nothing',
      '/api/tags/00000000-0000-7000-8000-000000000000',
    ]) {
      expect([path, (await forum.guest.get(path)).status]).toEqual([path, 404]);
    }
  });

  test('lists the discussions of a tag like any list: sorting, pages, cursors, rows', async () => {
    for (let index = 0; index < 5; index++) {
      forum.app.clock.advance(1_000);
      await start(['listed']);
    }
    const list = async (query: string) =>
      expectStatus(await forum.guest.get(`/api/tags/listed/discussions?${query}`), 200).body;
    const whole = await list('');
    expect([whole.count, whole.hasMore, whole.html.match(/<article/g).length]).toEqual([5, false, 5]);
    expect((await list('sort=oldest')).discussions.map(({ id }: any) => id)).toEqual(
      whole.discussions.map(({ id }: any) => id).toReversed(),
    );
    const first = await list('limit=2');
    const second = await list(`limit=2&cursor=${first.next_cursor}`);
    expect([...first.discussions, ...second.discussions].map(({ id }: any) => id)).toEqual(
      whole.discussions.slice(0, 4).map(({ id }: any) => id),
    );
    expect((await forum.guest.get('/api/tags/listed/discussions?sort=loudest')).status).toBe(400);
    const { id } = await tagOf('listed');
    expect((await forum.guest.get(`/api/tags/${id}/discussions`)).body.count).toBe(5);
  });

  test.each([
    (limit: number) => `/api/tags?limit=${limit}`,
    (limit: number) => `/api/tags/listed/discussions?limit=${limit}`,
    (limit: number) => `/api/discussions?limit=${limit}`,
  ])('runs the same number of statements for any page size: %s', async (path) => {
    const asked = async (limit: number): Promise<number> => {
      await forum.app.app.cache.purge('tags', 'discussions', 'discussion-records');
      return forum.app.statements(() => forum.as.ada.get(path(limit)));
    };
    await asked(9);
    expect(await asked(5)).toBe(await asked(2));
  });
});

// Locks a row during concurrent access, which the embedded database cannot do.
describe.runIf(onServer)('while the plugin is disabled', () => {
  test('discussions change, and the counts are corrected afterwards', async () => {
    const [gone, stays] = [await start(['absent']), await start(['absent', 'other'])];
    const { kernel, data } = forum.app.app;
    await kernel.disable('tags');
    await forum.as.ada.delete(`/api/discussions/${gone.id}`);
    await forum.as.mia.put(`/api/discussions/${stays.id}`, { category_id: 'staff' });
    expect((await forum.as.ada.get('/api/tags')).status).toBe(404);
    expect((await forum.as.mia.get(`/api/discussions/${stays.id}`)).body.discussion).not.toHaveProperty('tags');
    const { promise: locked, resolve: lock } = Promise.withResolvers<void>();
    const { promise: read, resolve: release } = Promise.withResolvers<void>();
    const other = data.transaction(async () => {
      await data.all(sql`select from discussion where id = ${gone.id} for update`);
      lock();
      await read;
    });
    await locked;
    await kernel.enable('tags');
    // Read and cached before the backfill.
    expect(await countOf('absent')).toBe(2);
    release();
    await other;
    await expect.poll(() => countOf('absent'), { timeout: 10_000 }).toBe(0);
    expect([await countOf('absent', forum.as.mia), await countOf('other', forum.as.mia)]).toEqual([1, 1]);
    expect(namesOf((await forum.as.mia.get(`/api/discussions/${stays.id}`)).body.discussion)).toEqual([
      'absent',
      'other',
    ]);
  });
});
