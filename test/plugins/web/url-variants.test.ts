import { beforeAll, expect, test } from 'vitest';
import { FULL } from '../../kit/full.ts';
import {
  compareCached,
  createRandom,
  plainBody,
  SAME_USER_AGENT,
  type Got,
  type UrlRequest,
} from '../../kit/url-variants.ts';
import { expectStatus, useForum } from '../discussions/forum.ts';

const SEED = Number(process.env['PARLEY_SEED'] ?? 20260115);
const forum = useForum();
const random = createRandom(SEED);
const made: { readonly id: string; readonly path: string }[] = [];
const cookies: string[] = [];

async function start(): Promise<void> {
  const [who, category] =
    made.length % 3 === 2 ? (['mia', 'staff'] as const) : ([random.of(['ada', 'bob'] as const), 'general'] as const);
  const body = {
    title: `Number ${made.length} & <more>`,
    content: 'Words',
    category_id: category,
    tags: [`Tag ${made.length % 4}`],
  };
  const { discussion } = expectStatus(await forum.as[who].post('/api/discussions', body), 201).body;
  made.push({ id: discussion.id, path: new URL(discussion.url).pathname });
}
beforeAll(async () => {
  for (let count = 0; count < 8; count++) await start();
  for (const name of ['ada', 'bob', 'mia', 'root'] as const)
    cookies.push([...forum.as[name].cookies].map((pair) => pair.join('=')).join('; '));
});

const change = (): Promise<unknown> =>
  random.of([
    start,
    () =>
      forum.as.root.post('/api/posts', { discussion_id: random.of(made).id, content: `A reply ${random.int(1e9)}` }),
    () => forum.as.mia.put(`/api/discussions/${random.of(made).id}`, { category_id: random.of(['general', 'staff']) }),
    () => forum.as.mia.delete(`/api/discussions/${random.of(made).id}`),
    () => forum.app.app.settings.set({ 'site.name': `Forum ${random.int(1e9)}` }),
  ])();
const wanted = (): UrlRequest => {
  const query: (readonly [string, string])[] = [];
  if (random.once(2)) query.push(['page', random.of(['1', '2', '01', '-1', 'x', ''])]);
  if (random.once(2)) query.push(['sort', random.of(['latest', 'newest', 'oldest', 'no'])]);
  const path = random.of([
    '/',
    '/categories',
    '/c/general',
    '/c/staff',
    '/tags',
    '/t/tag-1',
    '/t/tag-2',
    '/login',
    '/notifications',
    random.of(made).path,
    random.of(made).path,
  ]);
  return { path, query };
};
/** A robot's visits are not counted as views, which would change during the test. */
const ROBOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';
const headers = (): Record<string, string> => {
  const appearance = random.of([
    '',
    '',
    '; appearance=dark...',
    '; appearance=light.more.compact.large',
    '; appearance=x',
  ]);
  return {
    'user-agent': ROBOT,
    ...(random.once(2) && { 'accept-language': random.of(['de', 'en', 'fr;q=0.5, de;q=0.4']) }),
    ...random.of<Record<string, string>>([
      {},
      {},
      { cookie: `visitor=1${appearance}` },
      { ...SAME_USER_AGENT, cookie: `${random.of(cookies)}${appearance}` },
      { authorization: 'Bearer x' },
    ]),
    ...(random.once(4) && { accept: random.of(['text/html', 'application/json', '*/*']) }),
    ...(random.once(10) && { host: 'elsewhere.example' }),
    ...(random.once(10) && { 'x-forwarded-proto': 'https' }),
  };
};
/** Without nonces, tokens and values derived from them. */
const shown = ({ status, headers: { vary, location, ...rest }, body }: Got): unknown => [
  status,
  vary,
  location,
  rest['content-type'],
  rest['cache-control'],
  plainBody(body),
];

test(
  'a cached page equals a fresh one byte for byte, for any spelling of its URL and any caller',
  { timeout: FULL ? 1_200_000 : 180_000 },
  async () => {
    const { wrong, succeeded } = await compareCached({
      app: forum.app,
      random,
      rounds: FULL ? 60 : 5,
      requests: 80,
      change,
      wanted,
      headers,
      shown,
    });
    expect(wrong, `with the seed ${SEED}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(FULL ? 1_500 : 100);
  },
);
