import { beforeAll, describe, expect, test } from 'vitest';
import { expectStatus, useForum } from './forum.ts';

/** Lists are continued in three ways: by pages, by script, and by the cursor of the API. */
const forum = useForum();
const COUNT = 45;
const ids: string[] = [];

beforeAll(async () => {
  for (let count = 1; count <= COUNT; count++) {
    forum.app.clock.advance(1_000);
    const answer = await forum.as.ada.post('/api/discussions', {
      title: `Number ${count}`,
      content: 'Words',
      category_id: 'general',
      tags: ['knots'],
    });
    ids.push(expectStatus(answer, 201).body.discussion.id);
  }
  for (const at of [3, 30])
    expectStatus(await forum.as.mia.put(`/api/discussions/${ids[at]}`, { is_pinned: true }), 200);
});

const rowsIn = (html: string): string[] =>
  [...html.matchAll(/<article class="card[^>]*aria-labelledby="d-(\d+)"/g)].map(([, number = '']) => number);
const nextIn = (html: string): string | undefined =>
  /class="pager-step" rel="next" href="([^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
const page = async (path: string): Promise<string> => expectStatus(await forum.guest.get(path), 200).text;
const part = async (path: string): Promise<string> =>
  expectStatus(await forum.guest.get(path, { 'X-Fragment': '1' }), 200).text;

/** Follows the links to the next page: as readers without JavaScript do, and as x-feed does with fragments. */
const walk =
  (read: (path: string) => Promise<string>) =>
  async (path: string, between: () => Promise<unknown> = () => Promise.resolve()): Promise<string[]> => {
    const found: string[] = [];
    for (let at: string | undefined = path; at !== undefined;) {
      const html = await read(at);
      found.push(...rowsIn(html));
      at = nextIn(html);
      await between();
    }
    return found;
  };
const byLinks = walk(page);
const byScript = walk(part);

async function byPages(path: string): Promise<string[]> {
  const join = path.includes('?') ? '&' : '?';
  return (await Promise.all([path, `${path}${join}page=2`, `${path}${join}page=3`].map(page))).flatMap(rowsIn);
}

describe.each([
  '/',
  '/?sort=newest',
  '/?sort=most_replied',
  '/c/general',
  '/c/general?sort=oldest',
  '/t/knots',
  '/t/knots?sort=oldest',
])('%s', (path) => {
  test('has each discussion once, in the same order by pages and by script', async () => {
    const found = await byPages(path);
    expect(new Set(found).size).toBe(COUNT);
    expect(found).toHaveLength(COUNT);
    expect(await byScript(path)).toEqual(found);
    expect(await byLinks(path)).toEqual(found);
  });

  test.each([
    ['by script', byScript],
    ['by links', byLinks],
  ])('repeats nothing, and loses only what has moved up, while others write, %s', async (_way, read) => {
    // The last ones move up to what has already been read.
    const moving = ids.slice(0, 2);
    let at = 0;
    const found = await read(path, async () => {
      forum.app.clock.advance(1_000);
      await forum.reply('bob', moving[at++ % moving.length]!, 'Up');
    });
    expect(new Set(found).size).toBe(found.length);
    expect(found.length).toBeGreaterThanOrEqual(COUNT - moving.length);
  });
});

test('a link to the next page from another order, or a forged one, is refused', async () => {
  const next = nextIn(await page('/?sort=newest'))!;
  expect(next).toMatch(/^\/\?sort=newest&page=2&cursor=/);
  for (const path of [next.replace('newest', 'oldest'), '/?page=2&cursor=x', `/?page=2&cursor=${'x'.repeat(600)}`])
    expect((await forum.guest.get(path)).status, path).toBe(400);
  // A page number beyond the end does not matter, since the cursor decides.
  const last = next.replace('page=2', 'page=900');
  expect(await page(last)).toContain('class="card');
});

test('a cursor continues only the list that issued it, whether that is a page or in the API', async () => {
  const cursorOf = async (query: string) =>
    expectStatus(await forum.guest.get(`/api/discussions?limit=2${query}`), 200).body.next_cursor as string;
  const [plain, category] = [await cursorOf(''), await cursorOf('&category_id=general')];
  const front = new URL(nextIn(await page('/'))!, 'http://forum.test').searchParams.get('cursor')!;
  const statusOf = async (cursor: string, query = '') =>
    (await forum.guest.get(`/api/discussions?cursor=${cursor}${query}`)).status;
  expect([await statusOf(plain), await statusOf(front), await statusOf(category)]).toEqual([200, 200, 400]);
  const own = '&category_id=general';
  expect([await statusOf(plain, own), await statusOf(front, own), await statusOf(category, own)]).toEqual([
    400, 400, 200,
  ]);
});
