import { beforeAll, describe, expect, test } from 'vitest';
import { useForum } from './forum.ts';

const forum = useForum();
const titles = (body: any): string[] => body.discussions.map((discussion: any) => discussion.title);
const numbers = (body: any): number[] => body.posts.map((post: any) => post.number);
const list = async (query: string, client = forum.guest) => (await client.get(`/api/discussions${query}`)).body;

describe('the list of discussions', () => {
  let second: string;

  beforeAll(async () => {
    for (const title of ['One', 'Two', 'Three', 'Four', 'Five']) {
      const { id } = await forum.start('ada', title);
      if (title === 'Two') second = id;
      forum.app.clock.advance(1_000);
    }
    await forum.reply('bob', second, 'A reply');
    forum.app.clock.advance(1_000);
    await forum.start('mia', 'Behind the curtain', 'staff');
  });

  test('starts with the latest activity', async () => {
    expect(titles(await list(''))).toEqual(['Two', 'Five', 'Four', 'Three', 'One']);
  });

  test('can be ordered by age, replies and views', async () => {
    expect(titles(await list('?sort=newest'))[0]).toBe('Five');
    expect(titles(await list('?sort=oldest'))[0]).toBe('One');
    expect(titles(await list('?sort=most_replied'))[0]).toBe('Two');
    expect((await list('?sort=most_viewed')).count).toBe(5);
  });

  test('puts pins first only if a category is requested without an order', async () => {
    const [oldest] = (await list('?sort=oldest')).discussions;
    await forum.as.mia.put(`/api/discussions/${oldest.id}`, { is_pinned: true });
    expect(titles(await list('?category_id=general'))[0]).toBe('One');
    expect(titles(await list('?category_id=general&sort=latest'))[0]).toBe('Two');
    expect(titles(await list(''))[0]).toBe('Two');
    await forum.as.mia.put(`/api/discussions/${oldest.id}`, { is_pinned: false });
  });

  test.each(['', 'latest', 'oldest', 'newest', 'most_replied', 'most_viewed'])(
    'returns every discussion once when paginated by cursor, ordered by "%s"',
    async (sort) => {
      const found: string[] = [];
      const ends: boolean[] = [];
      for (let cursor: string | null = ''; cursor !== null && ends.length < 10;) {
        const body: any = await list(
          `?category_id=general&limit=2${sort && `&sort=${sort}`}${cursor && `&cursor=${cursor}`}`,
        );
        found.push(...titles(body));
        ends.push(body.hasMore);
        cursor = body.next_cursor;
      }
      expect(ends).toEqual([true, true, false]);
      expect(found.toSorted()).toEqual(['Five', 'Four', 'One', 'Three', 'Two']);
    },
  );

  test('accepts an offset, and states whether more follow', async () => {
    const body = await list('?sort=oldest&limit=2&offset=3');
    expect([titles(body), body.hasMore]).toEqual([['Four', 'Five'], false]);
    expect((await list('?offset=10000')).count).toBe(0);
  });

  test('treats a limit above 100 as 100', async () => {
    expect((await forum.guest.get('/api/discussions?limit=5000')).status).toBe(200);
  });

  test.each([
    'limit=0',
    'limit=x',
    'limit=1.5',
    'offset=-1',
    'sort=best',
    'cursor=nonsense',
    'cursor=WyJsYXRlc3QiLDEsIngiXQ',
  ])('refuses ?%s', async (query) => {
    const answer = await forum.guest.get(`/api/discussions?${query}`);
    expect([answer.status, answer.body.success]).toEqual([400, false]);
  });

  test('refuses a cursor of another order', async () => {
    const { next_cursor: cursor } = await list('?limit=2&sort=newest');
    expect((await forum.guest.get(`/api/discussions?limit=2&sort=oldest&cursor=${cursor}`)).status).toBe(400);
  });

  test('answers 404 for a category that does not exist or is hidden', async () => {
    const statuses = await Promise.all(
      ['nowhere', 'staff', '00000000-0000-7000-8000-000000000000'].map(
        async (id) => (await forum.as.ada.get(`/api/discussions?category_id=${id}`)).status,
      ),
    );
    expect(statuses).toEqual([404, 404, 404]);
    expect((await forum.as.mia.get('/api/discussions?category_id=staff')).body.count).toBe(1);
  });

  test('contains nothing that the viewer may not see', async () => {
    expect(JSON.stringify(await list(''))).not.toContain('curtain');
    expect(JSON.stringify(await list('', forum.as.ada))).not.toContain('curtain');
    expect(titles(await list('', forum.as.root))).toContain('Behind the curtain');
  });

  test('includes its rows as HTML', async () => {
    const { html } = await list('?limit=2');
    expect(html.match(/<article/g)).toHaveLength(2);
    expect(html).toContain('Two');
  });

  test('contains complete records', async () => {
    const [record] = (await list('?limit=1')).discussions;
    expect(record).toMatchObject({
      id: second,
      number: 2,
      title: 'Two',
      slug: 'two',
      content: 'About Two',
      html: expect.stringContaining('About Two'),
      category: { slug: 'general', name: 'General' },
      author: { id: forum.ids.ada, username: 'ada', display_name: null, avatar_url: null },
      reply_count: 1,
      view_count: 0,
      participant_count: 2,
      is_pinned: false,
      is_locked: false,
      lock_reason: null,
      is_deleted: false,
      created_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      url: 'http://forum.test/d/2-two',
    });
    expect(record.category_id).toBe(record.category.id);
  });
});

describe('a discussion', () => {
  let id: string;

  beforeAll(async () => {
    ({ id } = await forum.start('ada', 'A long one'));
    for (let number = 2; number <= 25; number++) await forum.reply(number % 2 ? 'ada' : 'bob', id, `Number ${number}`);
  });

  test('is found by id and by number, with its category and the first page of its posts', async () => {
    const { body } = await forum.guest.get(`/api/discussions/${id}`);
    expect(body).toMatchObject({
      success: true,
      discussion: { id, title: 'A long one', reply_count: 24 },
      category: { slug: 'general' },
      count: 20,
      hasMore: true,
    });
    expect(numbers(body)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect((await forum.guest.get(`/api/discussions/${body.discussion.number}`)).body.discussion.id).toBe(id);
  });

  test('is returned at the page of a given post', async () => {
    expect(numbers((await forum.guest.get(`/api/discussions/${id}?limit=10&near=14`)).body)).toEqual([
      11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
    ]);
    expect(numbers((await forum.guest.get(`/api/discussions/${id}?limit=10&near=999`)).body)).toEqual([
      21, 22, 23, 24, 25,
    ]);
  });

  test('returns its posts in both directions, page by page', async () => {
    const posts = async (query: string) => (await forum.guest.get(`/api/discussions/${id}/posts?${query}`)).body;
    const rising = await posts('limit=12');
    expect([numbers(rising).at(-1), rising.hasMore]).toEqual([12, true]);
    expect(numbers(await posts(`limit=12&cursor=${rising.next_cursor}`))[0]).toBe(13);
    const falling = await posts('limit=12&posts_order=DESC');
    expect(numbers(falling).slice(0, 3)).toEqual([25, 24, 23]);
    expect(numbers(await posts(`limit=12&posts_order=DESC&cursor=${falling.next_cursor}`))).toEqual([
      13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
    ]);
    expect(numbers(await posts('limit=3&offset=23'))).toEqual([24, 25]);
    expect(numbers(await posts('limit=3&offset=500'))).toEqual([]);
    expect((await forum.guest.get(`/api/discussions/${id}/posts?posts_order=UP`)).status).toBe(400);
  });

  test.each(['xyz', '0', '99999', '99999999999999', '00000000-0000-7000-8000-000000000000', "1'--"])(
    'is 404 for the id %s',
    async (wrong) => {
      for (const path of [`/api/discussions/${wrong}`, `/api/discussions/${wrong}/posts`, `/api/posts/${wrong}`]) {
        expect((await forum.guest.get(path)).status).toBe(404);
      }
    },
  );

  test('is 404 in a category that the viewer may not see, however it is requested', async () => {
    const { id: hidden, postId } = await forum.start('mia', 'Not for you', 'staff');
    for (const path of [`/api/discussions/${hidden}`, `/api/discussions/${hidden}/posts`, `/api/posts/${postId}`]) {
      expect((await forum.as.ada.get(path)).status).toBe(404);
      expect((await forum.as.mia.get(path)).status).toBe(200);
    }
    expect((await forum.as.ada.post('/api/posts', { discussion_id: hidden, content: 'Hello?' })).status).toBe(404);
  });
});

describe('categories', () => {
  test('are those that the viewer may see, with what they may do in each', async () => {
    const slugs = async (client = forum.guest) =>
      (await client.get('/api/categories')).body.categories.map((category: any) => category.slug);
    expect(await slugs()).toEqual(['announcements', 'general', 'help']);
    expect(await slugs(forum.as.mia)).toEqual(['announcements', 'general', 'help', 'staff']);
    const { category } = (await forum.as.ada.get('/api/categories/announcements')).body;
    expect(category.can).toEqual({ view: true, create: false, reply: true, moderate: false });
    expect((await forum.as.ada.get(`/api/categories/${category.id}`)).body.category.slug).toBe('announcements');
    expect((await forum.as.ada.get('/api/categories/staff')).status).toBe(404);
  });

  test('are paginated if a limit is given', async () => {
    const { body } = await forum.guest.get('/api/categories?limit=2');
    expect([body.count, body.hasMore]).toEqual([2, true]);
    expect((await forum.guest.get(`/api/categories?limit=2&cursor=${body.next_cursor}`)).body).toMatchObject({
      count: 1,
      hasMore: false,
    });
  });
});

describe('what a member wrote', () => {
  test('can be listed by them and by admins', async () => {
    const own = (await forum.as.bob.get('/api/users/posts?limit=3')).body;
    expect([own.count, own.hasMore, own.posts[0].author.username]).toEqual([3, true, 'bob']);
    const next = (await forum.as.bob.get(`/api/users/posts?limit=3&cursor=${own.next_cursor}`)).body;
    expect(next.posts[0].number).toBeLessThan(own.posts[2].number);
    expect((await forum.as.ada.get(`/api/users/posts?user_id=${forum.ids.bob}`)).status).toBe(403);
    expect((await forum.as.root.get(`/api/users/posts?user_id=${forum.ids.bob}`)).body.count).toBeGreaterThan(3);
    expect((await forum.as.root.get('/api/users/discussions?user_id=nobody')).status).toBe(404);
    expect((await forum.guest.get('/api/users/discussions')).status).toBe(401);
    expect(titles((await forum.as.ada.get('/api/users/discussions')).body)[0]).toBe('A long one');
  });

  test('is counted on their record, as far as the viewer may see it', async () => {
    expect((await forum.guest.get(`/api/users/${forum.ids.mia}`)).body.user).toMatchObject({
      discussion_count: 0,
      post_count: 0,
    });
    expect((await forum.as.mia.get(`/api/users/${forum.ids.mia}`)).body.user).toMatchObject({
      discussion_count: 2,
      post_count: 2,
    });
  });
});
