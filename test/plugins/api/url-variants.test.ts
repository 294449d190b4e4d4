import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FULL } from '../../kit/full.ts';
import { compareCached, createRandom, SAME_USER_AGENT, type Got, type UrlRequest } from '../../kit/url-variants.ts';
import { useWorld } from './world.ts';

const SEED = Number(process.env['PARLEY_SEED'] ?? 20260115);
const world = useWorld();
const PASSWORD = 'Plain-Sailing-42';
const cookies: string[] = [];
const discussions: { id: string; number: number; postId: string }[] = [];
let categories: readonly { readonly id: string; readonly slug: string }[];
const random = createRandom(SEED);

async function start(): Promise<void> {
  // Every third one in a category that only staff may read.
  const [who, slug] =
    discussions.length % 3 === 2
      ? (['root', 'staff'] as const)
      : ([random.of(['ada', 'bob'] as const), 'general'] as const);
  const {
    discussion_id: id,
    post_id: postId,
    discussion,
  } = await world.must(who, 'POST', '/discussions', {
    body: {
      title: `Discussion ${discussions.length}`,
      content: 'Words about *ferries* & <boats>',
      category_id: categories.find((one) => one.slug === slug)!.id,
      tags: [`tag ${discussions.length % 4}`],
    },
  });
  discussions.push({ id, number: discussion.number, postId });
}
async function change(): Promise<void> {
  const { id, postId } = random.of(discussions);
  const changes: readonly (() => Promise<unknown>)[] = [
    start,
    () => world.must('root', 'POST', '/posts', { body: { discussion_id: id, content: `A reply ${random.int(1e9)}` } }),
    () =>
      world.must('root', 'PUT', '/discussions/:id', {
        params: { id },
        body: { title: `Renamed ${random.int(1e9)}`, is_pinned: random.once(2) },
      }),
    () =>
      world.must('root', 'PUT', '/posts/:id', {
        params: { id: postId },
        body: { content: `Edited ${random.int(1e9)}` },
      }),
    () =>
      world
        .must('root', 'DELETE', '/discussions/:id', { params: { id } })
        .then(() => world.must('root', 'POST', '/discussions/:id/restore', { params: { id } })),
    () =>
      world
        .must('ada', 'POST', '/reactions/toggle', { body: { post_id: postId, reaction: 'like' } })
        .catch(() => undefined),
  ];
  await random.of(changes)();
}

beforeAll(async () => {
  for (const name of ['ada', 'mia', 'root']) {
    const client = world.app.client();
    await client.login(name, PASSWORD);
    cookies.push([...client.cookies].map((pair) => pair.join('=')).join('; '));
  }
  categories = (await world.must('root', 'GET', '/categories')).categories;
  for (let count = 0; count < 8; count++) await start();
});
afterAll(() => discussions.splice(0));

const value = (): string =>
  random.of([
    '0',
    '1',
    '2',
    '5',
    '100',
    '100000',
    '-1',
    '1e1',
    'x',
    '',
    ' 1',
    '1 ',
    '01',
    '1?',
    '?',
    'a&b',
    'a=b',
    'a;b',
    'ä',
    '日本',
  ]);
function wanted(): UrlRequest {
  const { id, number, postId } = random.of(discussions);
  const paging: (readonly [string, string])[] = [];
  if (random.once(2)) paging.push(['limit', value()]);
  if (random.once(2)) paging.push(['offset', value()]);
  if (random.once(12)) paging.push(['cursor', value()]);
  const sort = (): (readonly [string, string])[] =>
    random.once(2) ? [['sort', random.of(['latest', 'newest', 'oldest', 'most_replied', 'no'])]] : [];
  const { id: category, slug } = random.of(categories);
  return random.of<UrlRequest>([
    { path: '/api/discussions', query: [...paging, ...sort()] },
    { path: '/api/discussions', query: [...paging, ...sort(), ['category_id', random.of([category, slug, 'none'])]] },
    { path: `/api/discussions/${random.of([id, String(number), id.toUpperCase()])}`, query: paging },
    {
      path: `/api/discussions/${random.of([id, String(number)])}/posts`,
      query: [...paging, ['posts_order', random.of(['ASC', 'DESC', 'asc'])]],
    },
    { path: `/api/posts/${postId}` },
    { path: '/api/categories', query: paging },
    { path: `/api/categories/${random.of([category, slug])}` },
    { path: '/api/tags', query: paging },
    { path: '/api/tags/tag-1/discussions', query: [...paging, ...sort()] },
    { path: '/api/tags/tag-2' },
    {
      path: '/api/search',
      query: [
        ['q', random.of(['ferries', 'words about', '"words about"', 'a+b', 'tag:tag-1', '?', '&'])],
        ['type', random.of(['all', 'posts', 'discussions'])],
        ...paging,
      ],
    },
    { path: '/api/users/search', query: [['q', random.of(['a', 'ad', 'bob', '?', ''])], ...paging] },
    { path: `/api/reactions/post/${postId}` },
    { path: '/api/notifications', query: paging },
    { path: '/api/notifications/count' },
    { path: '/api/events', query: paging },
    { path: '/api/version' },
  ]);
}

const headers = (): Record<string, string> =>
  ({
    ...(random.once(3) && { 'accept-language': random.of(['de', 'en', 'fr;q=0.5']) }),
    ...random.of([
      {},
      {},
      {},
      { cookie: 'visitor=1' },
      { ...SAME_USER_AGENT, cookie: random.of(cookies) },
      { authorization: `Bearer ${world.tokens[random.of(['ada', 'bob', 'mia', 'root'] as const)]}` },
      { authorization: 'Basic eA==' },
    ]),
    ...(random.once(6) && { origin: random.of(['https://app.example', 'https://evil.example']) }),
    ...(random.once(6) && { accept: random.of(['text/html', 'application/json']) }),
    ...(random.once(20) && { host: 'elsewhere.example' }),
  }) as Record<string, string>;

const shown = ({ status, headers: { etag, vary, location, allow, ...rest }, body }: Got): unknown => [
  status,
  etag,
  vary,
  location,
  allow,
  rest['content-type'],
  rest['cache-control'],
  rest['access-control-allow-origin'],
  rest['access-control-expose-headers'],
  body.replace(/"request_id":"[^"]*"/, ''),
];

describe('a cached API response', () => {
  it(
    'is byte for byte the fresh one, however its URL is spelled and whoever requests it',
    { timeout: FULL ? 1_200_000 : 120_000 },
    async () => {
      await world.app.app.settings.set({ 'api.cors_origins': ['https://app.example'] });
      const { wrong, succeeded } = await compareCached({
        app: world.app,
        random,
        rounds: FULL ? 150 : 8,
        requests: 130,
        change,
        wanted,
        headers,
        shown,
      });
      expect(wrong, `with the seed ${SEED}`).toEqual([]);
      expect(succeeded).toBeGreaterThan(FULL ? 5_000 : 400);
    },
  );
});
