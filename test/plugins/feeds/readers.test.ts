import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();
const PATHS = ['/feed/rss', '/feed/atom', '/feed/json'];
const NOWHERE = '00000000-0000-7000-8000-000000000000';
let tag: string;
let token: string;

beforeAll(async () => {
  await forum.start('ada', 'For everybody');
  const answer = await forum.as.mia.post('/api/discussions', {
    title: 'Among staff',
    content: 'x',
    category_id: 'staff',
    tags: ['secret'],
  });
  expectStatus(answer, 201);
  tag = (await forum.as.mia.get('/api/tags/secret')).body.tag.id;
  ({ token } = (await forum.as.mia.post('/settings/security/api-token', {}, { accept: 'application/json' })).body);
});

describe('a guest', () => {
  test.each([...PATHS, '/feed/rss/category/general', '/rss/user/{mia}', '/atom/user/{ada}'])(
    'gets only public discussions at %s',
    async (path) => {
      const answer = await forum.guest.get(path.replace('{mia}', forum.ids.mia).replace('{ada}', forum.ids.ada));
      expect([answer.status, answer.text.includes('Among staff'), answer.headers.get('cache-control')]).toEqual([
        200,
        false,
        'private, no-cache',
      ]);
      expect(answer.headers.get('content-type')).toMatch(
        /^application\/(rss\+xml|atom\+xml|feed\+json); charset=utf-8$/,
      );
    },
  );

  test.each([
    '/feed/rss/category/nowhere',
    '/feed/atom/category/staff',
    '/feed/rss/category/{general}',
    `/rss/user/${NOWHERE}`,
    '/atom/user/nobody',
    '/rss/user/x',
    `/rss/tag/${NOWHERE}`,
    '/atom/tag/x',
    '/rss/tag/{tag}',
    '/atom/tag/{tag}',
    '/rss/tag/secret',
    '/feed',
    '/feed/xml',
    '/feed/json/category/general',
    '/rss',
    '/json/user/{ada}',
  ])('gets 404 for %s', async (path) => {
    const { category } = (await forum.guest.get('/api/categories/general')).body;
    const answer = await forum.guest.get(
      path.replace('{general}', category.id).replace('{ada}', forum.ids.ada).replace('{tag}', tag),
    );
    expect(answer.status).toBe(404);
  });

  test('gets the same response for a hidden category as for a missing one', async () => {
    const words = async (slug: string) => ({
      ...(await forum.guest.get(`/feed/rss/category/${slug}`)).body,
      request_id: '',
    });
    expect(await words('staff')).toEqual(await words('nowhere'));
  });

  test('gets 405 for POST and 204 for OPTIONS', async () => {
    const answer = await forum.guest.post('/feed/rss', {});
    expect([answer.status, answer.headers.get('allow'), answer.body.success]).toEqual([
      405,
      'GET, HEAD, OPTIONS',
      false,
    ]);
    expect((await forum.guest.request('OPTIONS', '/feed/rss')).status).toBe(204);
  });
});

describe('a logged-in reader', () => {
  const seen = async (client: Client, headers = {}) => {
    const answers = await Promise.all(
      [...PATHS, '/feed/rss/category/staff', `/rss/user/${forum.ids.mia}`, `/rss/tag/${tag}`].map((path) =>
        client.get(path, headers),
      ),
    );
    return answers.map((answer) => [
      answer.status,
      answer.text.includes('Among staff'),
      answer.headers.get('cache-control'),
      answer.headers.get('last-modified'),
    ]);
  };
  const ALL = Array.from({ length: 6 }, () => [200, true, 'private, no-store', null]);

  test('gets a hidden category by session, without guests getting the same response', async () => {
    expect(await seen(forum.as.mia)).toEqual(ALL);
    expect((await seen(forum.guest)).map(([, found]) => found)).toEqual([false, false, false, false, false, false]);
  });

  test('gets a hidden category by bearer token', async () => {
    expect(await seen(forum.app.client(), { authorization: `Bearer ${token}` })).toEqual(ALL);
  });

  test('gets only what they may see', async () => {
    expect((await forum.as.ada.get('/feed/rss')).text).not.toContain('Among staff');
    expect((await forum.as.ada.get('/feed/rss/category/staff')).status).toBe(404);
    expect((await forum.as.bad.get('/feed/rss')).text).toContain('For everybody');
  });

  test('gets no deleted discussions, nor do guests', async () => {
    const { id } = await forum.start('bob', 'Soon gone');
    await forum.as.bob.delete(`/api/discussions/${id}`);
    for (const client of [forum.guest, forum.as.bob, forum.as.mia, forum.as.root])
      expect((await client.get('/feed/rss')).text).not.toContain('Soon gone');
  });
});

describe('authentication', () => {
  test.each(['Bearer', 'Bearer nonsense', `Bearer parley_${'x'.repeat(43)}`])(
    'fails with 401 for "%s"',
    async (authorization) => {
      for (const client of [forum.guest, forum.as.mia]) {
        const answer = await client.get('/feed/rss', { authorization });
        expect([
          answer.status,
          answer.body.success,
          answer.headers.get('www-authenticate'),
          answer.headers.get('cache-control'),
        ]).toEqual([401, false, 'Bearer error="invalid_token"', 'no-store']);
      }
    },
  );

  test('treats other schemes and cookies without a session as a guest', async () => {
    const plain = (await forum.guest.get('/feed/rss')).text;
    expect((await forum.guest.get('/feed/rss', { authorization: 'Basic YTpi' })).text).toBe(plain);
    const answer = await forum.app.client().get('/feed/rss', { cookie: 'parley.sid=s%3Anothing.here' });
    expect([answer.status, answer.text]).toEqual([200, plain]);
  });

  test('ignores a token in the query string', async () => {
    const answer = await forum.guest.get(`/feed/rss?token=${token}`);
    expect([answer.status, answer.text]).toEqual([200, (await forum.guest.get('/feed/rss')).text]);
  });

  test('neither extends the session nor sets a cookie', async () => {
    forum.app.clock.advance(50 * 60_000);
    expect((await forum.as.bob.get('/feed/rss')).headers.getSetCookie()).toEqual([]);
    forum.app.clock.advance(20 * 60_000);
    expect((await forum.as.bob.get('/feed/rss')).headers.get('cache-control')).toBe('private, no-cache');
  });
});

test('responses have security headers, and links from them send no referrer', async () => {
  for (const path of ['/feed/rss', '/feed/nowhere']) {
    const { headers } = await forum.guest.get(path);
    expect([
      headers.get('x-content-type-options'),
      headers.get('referrer-policy'),
      headers.get('content-security-policy'),
    ]).toEqual(['nosniff', 'no-referrer', expect.stringContaining("default-src 'none'")]);
    expect(headers.get('x-request-id')).toBeTruthy();
  }
});
