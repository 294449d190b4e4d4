import { beforeAll, expect, test } from 'vitest';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum({ 'site.name': 'Tea & <Ships>' });
let tag: string;

const page = async (path: string): Promise<string> => (await forum.guest.get(path)).text;
/** URL, media type and title of each feed linked in the head of a page. */
const named = async (path: string) =>
  [...(await page(path)).matchAll(/<link rel="alternate" type="([^"]*)" title="([^"]*)" href="([^"]*)">/g)].map(
    ([, type, title, href]) => [href, type, title],
  );

beforeAll(async () => {
  const answer = await forum.as.ada.post('/api/discussions', {
    title: 'First',
    content: 'x',
    category_id: 'general',
    tags: ['Ropes'],
  });
  tag = expectStatus(answer, 201).body.discussion.tags[0].id;
});

test('the front page links the feeds of all discussions in its head and footer', async () => {
  expect(await named('/')).toEqual([
    ['/feed/rss', 'application/rss+xml', 'Tea &amp; &lt;Ships&gt; (RSS)'],
    ['/feed/atom', 'application/atom+xml', 'Tea &amp; &lt;Ships&gt; (Atom)'],
    ['/feed/json', 'application/feed+json', 'Tea &amp; &lt;Ships&gt; (JSON)'],
  ]);
  expect(await page('/')).toMatch(
    /<footer[\s\S]*<a href="\/feed\/rss" type="application\/rss\+xml">[\s\S]*Tea &amp; &lt;Ships&gt; \(RSS\)<\/a>/,
  );
});

test.each([
  ['/c/general', (kind: string) => `/feed/${kind}/category/general`, 'General'],
  ['/u/ada', (kind: string) => `/${kind}/user/${forum.ids.ada}`, 'ada'],
  ['/u/ada/posts', (kind: string) => `/${kind}/user/${forum.ids.ada}`, 'ada'],
  ['/t/ropes', (kind: string) => `/${kind}/tag/${tag}`, 'Ropes'],
])('%s links its own feeds, and they exist', async (path, href, title) => {
  expect(await named(path)).toEqual([
    [href('rss'), 'application/rss+xml', `${title} (RSS)`],
    [href('atom'), 'application/atom+xml', `${title} (Atom)`],
  ]);
  for (const kind of ['rss', 'atom']) expect((await forum.guest.get(href(kind))).text).toContain('First');
});

test.each(['/login', '/categories', '/tags', '/d/1-first'])('%s links no feed', async (path) => {
  expect(await named(path)).toEqual([]);
});

test('while the plugin is disabled, no page links a feed, and feeds return 404', async () => {
  await forum.app.app.plugins.disable('feeds');
  expect(await named('/c/general')).toEqual([]);
  expect((await forum.guest.get('/feed/rss')).status).toBe(404);
  await forum.app.app.plugins.enable('feeds');
  expect((await named('/c/general')).length).toBe(2);
  expect((await forum.guest.get('/feed/rss')).status).toBe(200);
});
