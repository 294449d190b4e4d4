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
const forum = useForum({ 'pro.enabled': true });
const random = createRandom(SEED);
const made: { readonly id: string; readonly tag: string }[] = [];
const tokens: string[] = [];
const cookies: string[] = [];

async function start(): Promise<void> {
  const [who, category] = random.once(3)
    ? (['mia', 'staff'] as const)
    : ([random.of(['ada', 'bob'] as const), 'general'] as const);
  const body = {
    title: `Number ${made.length} & <more>`,
    content: 'Words',
    category_id: category,
    tags: [`Tag ${made.length % 3}`],
  };
  const { discussion } = expectStatus(await forum.as[who].post('/api/discussions', body), 201).body;
  made.push({ id: discussion.id, tag: discussion.tags[0].id });
}

beforeAll(async () => {
  for (let count = 0; count < 6; count++) await start();
  for (const name of ['ada', 'mia'] as const) {
    tokens.push(
      (await forum.as[name].post('/settings/security/api-token', {}, { accept: 'application/json' })).body
        .token as string,
    );
    cookies.push([...forum.as[name].cookies].map((pair) => pair.join('=')).join('; '));
  }
});

const change = (): Promise<unknown> =>
  random.of([
    start,
    () => forum.as.mia.put(`/api/discussions/${random.of(made).id}`, { title: `Renamed ${random.int(1e9)}` }),
    () =>
      forum.as.mia.put(`/api/discussions/${random.of(made).id}`, {
        category_id: random.of(['general', 'staff', 'help']),
      }),
    () => forum.as.mia.delete(`/api/discussions/${random.of(made).id}`),
    async () => forum.app.clock.advance(1_000),
  ])();

const wanted = (): UrlRequest => {
  const query = random.of<readonly (readonly [string, string])[]>([
    [],
    [],
    [['token', random.of([...tokens, 'wrong', ''])]],
    [['limit', '1']],
  ]);
  const format = random.of(['rss', 'atom']);
  const id = random.of([random.of(made).tag, 'tag-1', 'tag-2', 'nothing']);
  return random.of<UrlRequest>([
    { path: `/feed/${random.of(['rss', 'atom', 'json'])}`, query },
    { path: `/feed/${format}/category/${random.of(['general', 'staff', 'help'])}`, query },
    { path: `/${format}/tag/${id}`, query },
    { path: `/${format}/user/${random.of([forum.ids.ada, forum.ids.mia])}`, query },
  ]);
};
const headers = (): Record<string, string> => ({
  ...(random.once(3) && { 'accept-language': random.of(['de', 'en', 'fr;q=0.5']) }),
  ...random.of<Record<string, string>>([
    {},
    {},
    {},
    { cookie: 'visitor=1' },
    { ...SAME_USER_AGENT, cookie: random.of(cookies) },
    { authorization: `Bearer ${random.of(tokens)}` },
    { authorization: 'Basic eA==' },
  ]),
  ...(random.once(10) && { host: 'elsewhere.example' }),
  ...(random.once(8) && { accept: 'text/html' }),
});
/** Excludes the body of the error pages shown where there is no feed. */
const shown = ({ status, headers: { etag, vary, ...rest }, body }: Got): unknown => [
  status,
  etag,
  vary,
  rest['last-modified'],
  rest['content-type'],
  rest['cache-control'],
  rest['content-type']?.toString().startsWith('text/html') ? '' : plainBody(body),
];

test(
  'a cached feed is byte for byte the same as a fresh one, for every URL variant and caller',
  { timeout: FULL ? 1_200_000 : 120_000 },
  async () => {
    const { wrong, succeeded } = await compareCached({
      app: forum.app,
      random,
      rounds: FULL ? 100 : 6,
      requests: 100,
      change,
      wanted,
      headers,
      shown,
    });
    expect(wrong, `with the seed ${SEED}`).toEqual([]);
    expect(succeeded).toBeGreaterThan(FULL ? 3_000 : 200);
  },
);
