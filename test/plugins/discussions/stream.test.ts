import { beforeAll, describe, expect, test } from 'vitest';
import { Settings, sql } from 'parley-forum';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

/** What scripts use to load more of a discussion: links to the posts before and after, and page fragments. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const FRAGMENT = { 'x-fragment': '1' };
const COUNT = 45;
let path = '';

/** Imports a discussion of ada's with that many posts, or with posts at these times; resolves to its path. */
async function bring(title: string, posts: number | readonly string[], size = 10): Promise<string> {
  const { app } = forum.app;
  const general = app
    .service(Categories)
    .all()
    .find(({ slug }) => slug === 'general')!;
  const moments = (typeof posts === 'number' ? Array.from({ length: posts }, () => forum.app.clock.now()) : posts).map(
    (moment) => new Date(moment),
  );
  const author = { authorId: forum.ids.ada, createdAt: moments[0]! };
  const post = (createdAt: Date, at: number) => ({
    authorId: author.authorId,
    createdAt,
    content: `Text ${at + 1}`,
    html: `<p>Text ${at + 1} ${'x'.repeat(size)}</p>`,
  });
  await app
    .service(Importer)
    .importDiscussions([{ title, categoryId: general.id, ...author, posts: moments.map(post) }]);
  const row = await app.data.one(
    sql<{ number: number; slug: string }>`select number, slug from discussion where title = ${title}`,
  );
  return `/d/${row!.number}-${row!.slug}`;
}
beforeAll(async () => void (path = await bring('One stream', COUNT)));

const get = async (url: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(url), 200).text;
const fragment = async (url: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(url, FRAGMENT), 200).text;
const numbersIn = (text: string): number[] =>
  [...text.matchAll(/id="post-(\d+)" /g)].map(([, number]) => Number(number));
const linkIn = (text: string, rel: 'prev' | 'next'): string | undefined =>
  new RegExp(`class="button" rel="${rel}" href="([^"]+)"`).exec(text)?.[1]?.replaceAll('&amp;', '&');

describe('the links of a page to the surrounding posts', () => {
  test('lead from each page to the next and back, until there are no more', async () => {
    const [first, second, third] = [await get(path), await get(`${path}?page=2`), await get(`${path}?page=3`)];
    expect([linkIn(first, 'prev'), linkIn(first, 'next')]).toEqual([undefined, `${path}?page=2`]);
    expect([linkIn(second, 'prev'), linkIn(second, 'next')]).toEqual([path, `${path}?page=3`]);
    expect([linkIn(third, 'prev'), linkIn(third, 'next')]).toEqual([`${path}?page=2`, undefined]);
  });

  test('are absent on a page that has all posts', async () => {
    expect(await get(await bring('Short', 20))).not.toContain('stream-more');
  });

  test('lead through the parts of a page with long posts, both ways', async () => {
    const long = await bring('Long', 24, 200 * 1024);
    const found: number[] = [];
    for (let at: string | undefined = long; at !== undefined;) {
      const text = await fragment(at);
      found.push(...numbersIn(text));
      at = linkIn(text, 'next');
    }
    expect(found).toEqual(Array.from({ length: 24 }, (_, at) => at + 1));
    expect(linkIn(await fragment(`${long}?page=1&from=15`), 'prev')).toBe(long);
    expect(linkIn(await fragment(`${long}?page=2&from=21`), 'prev')).toBe(long);
  });
});

describe('a page fragment', () => {
  test('has the same posts, without the surrounding frame', async () => {
    for (const client of [forum.guest, forum.as.bob, forum.as.ada]) {
      const [whole, part] = [await get(`${path}?page=2`, client), await fragment(`${path}?page=2`, client)];
      expect(numbersIn(part)).toEqual(numbersIn(whole));
      expect(linkIn(part, 'next')).toBe(linkIn(whole, 'next'));
      for (const frame of ['<!doctype', '<html', 'class="bar"', 'class="side"', 'class="rail"', 'csrf-token'])
        expect(part).not.toContain(frame);
      expect(part.length).toBeLessThan(whole.length);
    }
  });

  test('is never stored, and the full page is complete afterwards', async () => {
    for (const client of [forum.guest, forum.as.bob]) {
      await get(`${path}?page=3`, client);
      const { headers } = expectStatus(await client.get(`${path}?page=3`, FRAGMENT), 200);
      expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['private, no-store', null]);
      expect(await get(`${path}?page=3`, client)).toContain('<!doctype html>');
    }
  });

  test('is refused to those who may not see the page', async () => {
    const { number } = await forum.start('mia', 'Behind the door', 'staff');
    const staff = `/d/${number}-behind-the-door`;
    expect((await forum.guest.get(staff, FRAGMENT)).status).toBe(404);
    expect((await forum.as.bob.get(staff, FRAGMENT)).status).toBe(404);
    expect(await fragment(staff, forum.as.mia)).toContain('About Behind the door');
    expect((await forum.guest.get(`${path}?page=9`, FRAGMENT)).status).toBe(404);
  });

  test('is not a visit: it counts no view and marks nothing read', async () => {
    const url = await bring('Unvisited', COUNT);
    const number = /\d+/.exec(url)![0];
    const bob = forum.as.bob;
    const record = async () => expectStatus(await bob.get(`/api/discussions/${number}`), 200).body.discussion;
    const visitor = () => forum.app.client({ 'user-agent': 'Mozilla/5.0 (X11; Linux) Firefox/150.0' });
    await fragment(`${url}?page=2`, visitor());
    await fragment(`${url}?page=2`, bob);
    expect(await record()).toMatchObject({ last_read_number: 0 });
    // The page itself is a visit.
    await get(`${url}?page=3`, visitor());
    await get(`${url}?page=3`, bob);
    await expect.poll(async () => (await record()).last_read_number, { timeout: 10_000 }).toBe(40);
    await expect.poll(async () => (await record()).view_count, { timeout: 10_000 }).toBe(2);
  });

  test('leaves a flash notice to the full page', async () => {
    const { number } = await forum.start('bob', 'Noticed');
    const answer = await forum.as.bob.get(`/d/${number}/9`);
    expect(answer.status).toBe(302);
    expect(await fragment(`/d/${number}-noticed`, forum.as.bob)).not.toContain('There is no post 9');
    expect(await get(`/d/${number}-noticed`, forum.as.bob)).toMatch(/class="notice info"[^]*?There is no post 9/);
  });

  test('takes no more statements for many posts than for few, nor than the full page', async () => {
    const few = await bring('Few', 22);
    const count = (url: string, headers: Readonly<Record<string, string>>): Promise<number> => {
      let turn = 0;
      return leastOf(async () => {
        await forum.app.app.cache.purge('discussion-records');
        return forum.app.statements(async () => {
          expectStatus(await forum.as.bob.get(`${url}&turn=${turn++}`, headers), 200);
        });
      });
    };
    const [two, twenty, whole] = [
      await count(`${few}?page=2`, FRAGMENT),
      await count(`${path}?page=2`, FRAGMENT),
      await count(`${path}?page=2`, {}),
    ];
    expect(twenty).toBeLessThanOrEqual(two);
    expect(twenty).toBeLessThanOrEqual(whole);
  });
});

describe('the position in a discussion', () => {
  test('is shown beside a discussion longer than a page, with links to its ends', async () => {
    const text = await get(`${path}?page=2`);
    expect(text).toContain('Posts 21 to 40 of 45');
    const number = /\d+/.exec(path)![0];
    expect(text).toContain(`href="/d/${number}/45?here=1#post-45" data-number="45"`);
    expect(await get(await bring('One page', 20))).not.toContain('<x-position');
  });

  test('is found by day: the first post on that day or after it, in the site’s time zone', async () => {
    const url = await bring('By day', [
      '2026-03-01T12:00:00Z',
      '2026-03-02T22:30:00Z',
      '2026-03-02T23:30:00Z',
      '2026-03-05T12:00:00Z',
    ]);
    const number = /\d+/.exec(url)![0];
    const at = async (day: string) => {
      const answer = expectStatus(await forum.guest.get(`/d/${number}?date=${day}`), 302);
      return answer.headers.get('location');
    };
    const post = (wanted: number) => `/d/${number}/${wanted}?here=1#post-${wanted}`;
    expect(await at('2020-01-01')).toBe(`/d/${number}`);
    expect([await at('2026-03-02'), await at('2026-03-03'), await at('2026-03-05')]).toEqual([
      post(2),
      post(4),
      post(4),
    ]);
    expect([await at('1000-01-02'), await at('9999-12-29')]).toEqual([`/d/${number}`, post(4)]);
    // After the last day, it is the last post.
    expect(await at('2026-04-01')).toBe(post(4));
    await forum.app.app.kernel.service(Settings)!.set({ 'site.timezone': 'Europe/Berlin' });
    expect([await at('2026-03-02'), await at('2026-03-03')]).toEqual([post(2), post(3)]);
    await forum.app.app.kernel.service(Settings)!.reset(['site.timezone']);
  });

  test('accepts only days, and only for discussions that the viewer may see', async () => {
    const { number } = await forum.start('mia', 'Staff days', 'staff');
    expect((await forum.guest.get(`/d/${number}?date=2026-03-03`)).status).toBe(404);
    const own = path.split('-')[0]!;
    for (const day of ['', 'yesterday', '2026-02-31', '2026-3-1', '99999-01-01', '0001-01-01', '9999-12-31'])
      expect((await forum.guest.get(`${own}?date=${day}`)).status, day).toBe(400);
  });

  test('takes as many statements to find by day, however long the discussion is', async () => {
    const short = (await bring('Two posts', 2)).split('-')[0]!;
    const count = (url: string) =>
      leastOf(() =>
        forum.app.statements(async () => void expectStatus(await forum.guest.get(`${url}?date=2026-01-01`), 302)),
      );
    expect(await count(path.split('-')[0]!)).toBe(await count(short));
  });
});

test('the first page of a list can show what is new, later pages cannot', async () => {
  for (let at = 0; at < 21; at++) await forum.start(at % 2 ? 'ada' : 'mia', `Row ${at}`);
  const shown = async (url: string): Promise<boolean> => (await get(url)).includes('<x-list-changes');
  expect(await Promise.all(['/', '/c/general', '/?page=2', '/c/general?page=2'].map(shown))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
