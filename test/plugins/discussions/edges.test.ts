import { describe, expect, test } from 'vitest';
import { useForum } from './forum.ts';

const forum = useForum();
const cursor = (keys: unknown): string => Buffer.from(JSON.stringify(keys)).toString('base64url');

describe('a position in a list', () => {
  test.each([
    '/api/discussions',
    '/api/categories',
    '/api/discussions/1',
    '/api/discussions/1/posts',
    '/api/users/discussions',
    '/api/users/posts',
    '/api/users/search?q=ada',
  ])('beyond the end of %s is an empty page, however far', async (path) => {
    await forum.start('ada', 'One of few');
    const and = path.includes('?') ? '&' : '?';
    for (const offset of [4_000_000_000, Number.MAX_SAFE_INTEGER]) {
      const { status, body } = await forum.as.ada.get(`${path}${and}offset=${offset}`);
      expect([status, body.count, body.hasMore, body.next_cursor], `${path} ${offset}`).toEqual([200, 0, false, null]);
    }
  });

  test('beyond the end of posts in descending order is an empty page too', async () => {
    const { body } = await forum.guest.get('/api/discussions/1/posts?posts_order=DESC&offset=4000000000');
    expect([body.count, body.hasMore]).toEqual([0, false]);
  });

  test('that no number can represent is refused, naming the field', async () => {
    const { status, body } = await forum.guest.get('/api/discussions?offset=99999999999999999999');
    expect([status, body.details[0].field]).toEqual([400, 'offset']);
  });

  test.each([
    '/api/discussions',
    '/api/categories',
    '/api/discussions/1',
    '/api/discussions/1/posts',
    '/api/users/discussions',
    '/api/users/posts',
    '/api/users/search?q=ada',
  ])('from a cursor that %s did not issue is refused', async (path) => {
    const and = path.includes('?') ? '&' : '?';
    for (const keys of [['x'], [-1], [0.5], [1e300], ['newest', 1], []]) {
      const { status, body } = await forum.as.ada.get(`${path}${and}cursor=${cursor(keys)}`);
      expect([status, body.details?.[0].field], `${path} ${JSON.stringify(keys)}`).toEqual([400, 'cursor']);
    }
  });
});

test('a change of the page size applies to lists immediately', async () => {
  for (const title of ['Two', 'Three']) await forum.start('ada', title);
  const length = async (): Promise<number> => (await forum.guest.get('/api/discussions')).body.count;
  for (const size of [2, 1, 2]) {
    await forum.app.app.settings.set({ 'api.page_size': size });
    expect([await length(), await length()]).toEqual([size, size]);
  }
});

describe('the character U+0000', () => {
  test('is refused in content, naming the field', async () => {
    const { status, body } = await forum.as.ada.post('/api/discussions', {
      title: 'a\0b',
      content: 'c',
      category_id: 'general',
    });
    expect([status, body.details[0].field]).toEqual([400, 'title']);
  });

  test('is refused in a category name', async () => {
    const { status, body } = await forum.as.root.post(
      '/admin/categories/save',
      { name: 'a\0b' },
      { accept: 'application/json' },
    );
    expect([status, body.details[0].field]).toEqual([400, 'name']);
  });

  test('is refused in a query, and matches nothing in a path', async () => {
    expect((await forum.guest.get('/api/users/search?q=a%00')).status).toBe(400);
    for (const path of ['/api/posts/%00', '/api/discussions/%00', '/api/categories/%00', '/d/%00', '/c/%00', '/u/%00'])
      expect((await forum.guest.get(path)).status, path).toBe(404);
  });
});

test('saving a category answers 201 when it is new and 200 when it is changed', async () => {
  const save = (category: object) =>
    forum.as.root.post('/admin/categories/save', category, { accept: 'application/json' });
  const made = await save({ name: 'Boats' });
  expect([made.status, made.body.category.slug]).toEqual([201, 'boats']);
  expect((await save({ id: made.body.category.id, name: 'Ships' })).status).toBe(200);
});
