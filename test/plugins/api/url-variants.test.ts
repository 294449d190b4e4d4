import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareKept, createDice, SAME_PROGRAM, type Got, type Wanted } from '../../kit/spellings.ts';
import { useWorld } from './world.ts';

const FULL = process.env['PARLEY_FULL'] === '1';
const SEED = Number(process.env['PARLEY_SEED'] ?? 20260115);
const world = useWorld();
const PASSWORD = 'Plain-Sailing-42';
const cookies: string[] = [];
const discussions: { id: string; number: number; postId: string }[] = [];
let categories: readonly { readonly id: string; readonly slug: string }[];
const dice = createDice(SEED);

async function start(): Promise<void> {
  // Every third where only staff may read.
  const [who, slug] =
    discussions.length % 3 === 2
      ? (['root', 'staff'] as const)
      : ([dice.of(['ada', 'bob'] as const), 'general'] as const);
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
  const { id, postId } = dice.of(discussions);
  const changes: readonly (() => Promise<unknown>)[] = [
    start,
    () => world.must('root', 'POST', '/posts', { body: { discussion_id: id, content: `A reply ${dice.int(1e9)}` } }),
    () =>
      world.must('root', 'PUT', '/discussions/:id', {
        params: { id },
        body: { title: `Renamed ${dice.int(1e9)}`, is_pinned: dice.once(2) },
      }),
    () =>
      world.must('root', 'PUT', '/posts/:id', { params: { id: postId }, body: { content: `Edited ${dice.int(1e9)}` } }),
    () =>
      world
        .must('root', 'DELETE', '/discussions/:id', { params: { id } })
        .then(() => world.must('root', 'POST', '/discussions/:id/restore', { params: { id } })),
    () =>
      world
        .must('ada', 'POST', '/reactions/toggle', { body: { post_id: postId, reaction: 'like' } })
        .catch(() => undefined),
  ];
  await dice.of(changes)();
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
  dice.of([
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
function wanted(): Wanted {
  const { id, number, postId } = dice.of(discussions);
  const paging: (readonly [string, string])[] = [];
  if (dice.once(2)) paging.push(['limit', value()]);
  if (dice.once(2)) paging.push(['offset', value()]);
  if (dice.once(12)) paging.push(['cursor', value()]);
  const sort = (): (readonly [string, string])[] =>
    dice.once(2) ? [['sort', dice.of(['latest', 'newest', 'oldest', 'most_replied', 'no'])]] : [];
  const { id: category, slug } = dice.of(categories);
  return dice.of<Wanted>([
    { path: '/api/discussions', query: [...paging, ...sort()] },
    { path: '/api/discussions', query: [...paging, ...sort(), ['category_id', dice.of([category, slug, 'none'])]] },
    { path: `/api/discussions/${dice.of([id, String(number), id.toUpperCase()])}`, query: paging },
    {
      path: `/api/discussions/${dice.of([id, String(number)])}/posts`,
      query: [...paging, ['posts_order', dice.of(['ASC', 'DESC', 'asc'])]],
    },
    { path: `/api/posts/${postId}` },
    { path: '/api/categories', query: paging },
    { path: `/api/categories/${dice.of([category, slug])}` },
    { path: '/api/tags', query: paging },
    { path: '/api/tags/tag-1/discussions', query: [...paging, ...sort()] },
    { path: '/api/tags/tag-2' },
    {
      path: '/api/search',
      query: [
        ['q', dice.of(['ferries', 'words about', '"words about"', 'a+b', 'tag:tag-1', '?', '&'])],
        ['type', dice.of(['all', 'posts', 'discussions'])],
        ...paging,
      ],
    },
    { path: '/api/users/search', query: [['q', dice.of(['a', 'ad', 'bob', '?', ''])], ...paging] },
    { path: `/api/reactions/post/${postId}` },
    { path: '/api/notifications', query: paging },
    { path: '/api/notifications/count' },
    { path: '/api/events', query: paging },
    { path: '/api/version' },
  ]);
}

const headers = (): Record<string, string> =>
  ({
    ...(dice.once(3) && { 'accept-language': dice.of(['de', 'en', 'fr;q=0.5']) }),
    ...dice.of([
      {},
      {},
      {},
      { cookie: 'visitor=1' },
      { ...SAME_PROGRAM, cookie: dice.of(cookies) },
      { authorization: `Bearer ${world.tokens[dice.of(['ada', 'bob', 'mia', 'root'] as const)]}` },
      { authorization: 'Basic eA==' },
    ]),
    ...(dice.once(6) && { origin: dice.of(['https://app.example', 'https://evil.example']) }),
    ...(dice.once(6) && { accept: dice.of(['text/html', 'application/json']) }),
    ...(dice.once(20) && { host: 'elsewhere.example' }),
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

describe('an answer of the API that was kept', () => {
  it(
    'is byte for byte the one made anew, however its address is spelled and whoever asks',
    { timeout: FULL ? 1_200_000 : 120_000 },
    async () => {
      await world.app.app.settings.set({ 'api.cors_origins': ['https://app.example'] });
      const { wrong, succeeded } = await compareKept({
        app: world.app,
        dice,
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
