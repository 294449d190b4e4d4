import { beforeAll, expect, test } from 'vitest';
import { FULL } from '../../kit/full.ts';
import { compareCached, createRandom, plainBody, type Got } from '../../kit/url-variants.ts';
import { expectStatus, useForum } from '../discussions/forum.ts';

const SEED = Number(process.env['PARLEY_SEED'] ?? 20260115);
const forum = useForum({ 'sitemap.addresses': 4 });
const random = createRandom(SEED);
const made: string[] = [];
const cookies: string[] = [];

async function start(): Promise<void> {
  const category = random.once(3) ? 'staff' : 'general';
  const body = {
    title: `Number ${made.length} & <more>`,
    content: 'Words',
    category_id: category,
    tags: [`Tag ${made.length % 3}`],
  };
  made.push(expectStatus(await forum.as.mia.post('/api/discussions', body), 201).body.discussion_id);
}
beforeAll(async () => {
  for (let count = 0; count < 6; count++) await start();
  cookies.push([...forum.as.mia.cookies].map((pair) => pair.join('=')).join('; '));
});

const change = (): Promise<unknown> =>
  random.of([
    start,
    () =>
      forum.as.mia.put(`/api/discussions/${random.of(made)}`, {
        title: `Renamed ${random.int(1e9)}`,
        category_id: random.of(['general', 'staff']),
      }),
    () => forum.as.mia.delete(`/api/discussions/${random.of(made)}`),
    () => forum.app.app.settings.set({ 'sitemap.addresses': random.of([3, 4, 50_000]) }),
  ])();
const wanted = () => ({
  path: random.of([
    '/sitemap.xml',
    '/robots.txt',
    '/sitemaps/lists-1.xml',
    '/sitemaps/lists-2.xml',
    '/sitemaps/discussions-1.xml',
    '/sitemaps/discussions-2.xml',
    '/sitemaps/discussions-9.xml',
    '/sitemaps/x',
  ]),
});
const headers = (): Record<string, string> => ({
  ...(random.once(4) && { cookie: random.of(cookies) }),
  ...(random.once(6) && { authorization: 'Bearer x' }),
  ...(random.once(6) && { host: 'elsewhere.example' }),
  ...(random.once(4) && { 'accept-language': 'de' }),
});
/** If there is no sitemap, the response is an error page, whose body is not compared here. */
const shown = ({ status, headers: { etag, vary, ...rest }, body }: Got): unknown => [
  status,
  etag,
  vary,
  rest['content-type'],
  rest['cache-control'],
  rest['content-type']?.toString().startsWith('text/html') ? '' : plainBody(body),
];

test(
  'a cached sitemap equals a fresh one byte for byte, for any spelling of its URL and any caller',
  { timeout: FULL ? 600_000 : 120_000 },
  async () => {
    const { wrong, succeeded } = await compareCached({
      app: forum.app,
      random,
      rounds: FULL ? 80 : 5,
      requests: 80,
      change,
      wanted,
      headers,
      shown,
    });
    expect(wrong, `with the seed ${SEED}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(FULL ? 1_500 : 80);
  },
);
