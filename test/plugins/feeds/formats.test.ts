import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Categories } from 'parley-forum/plugins/discussions';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { all, one, parsed, plainOf, textOf } from './parsed.ts';

const BASE = 'http://forum.test';
const SECOND = 1_000;
const INSTALLED = '2025-12-24T18:00:00.000Z';
const HOSTILE = 'A ]]> & ]]> <script>alert("1")</script> &amp; &#x3C; \u0007 \u{1F6A2} ]]>';

const forum = useForum({
  'kernel.installed_at': INSTALLED,
  'site.name': 'Tea & <Ships>',
  'site.description': 'All "about" it & more',
});
const read = async (path: string): Promise<string> => expectStatus(await forum.guest.get(path), 200).text;
const rss = async (path = '/feed/rss') => one(parsed(await read(path)), 'channel');
const atom = async (path = '/feed/atom') => parsed(await read(path));
const json = async () => JSON.parse(await read('/feed/json'));
const started: { id: string; number: number; postId: string }[] = [];

describe('without discussions', () => {
  test('a feed has the date of the installation', async () => {
    expect(textOf(await rss(), 'lastBuildDate')).toBe('Wed, 24 Dec 2025 18:00:00 GMT');
    expect(textOf(await atom(), 'updated')).toBe(INSTALLED);
    expect([all(await rss(), 'item'), all(await atom(), 'entry'), (await json()).items]).toEqual([[], [], []]);
  });
});

describe('with discussions', () => {
  beforeAll(async () => {
    const categories = forum.app.app.service(Categories);
    await categories.save({ ...categories.all().find(({ slug }) => slug === 'general')!, name: 'General "A" & <B>' });
    for (const [title, content] of [
      ['The oldest', 'Words'],
      [
        HOSTILE,
        'See [this](/d/1), [that](https://elsewhere.example/x?a=1&b=2) and `]]>`.\n\n![a picture](/uploads/one.png)',
      ],
      ['The newest', 'Words'],
    ] as const) {
      const answer = await forum.as.ada.post('/api/discussions', {
        title,
        content,
        category_id: 'general',
        tags: ['ropes <&> "knots"'],
      });
      const { discussion, post_id: postId } = expectStatus(answer, 201).body;
      started.push({ id: discussion.id, number: discussion.number, postId });
      forum.app.clock.advance(SECOND);
    }
    await forum.reply('bob', started[0]!.id, 'A reply');
  });

  test('RSS has title, description, links, language and build date', async () => {
    const text = await read('/feed/rss');
    expect(text).toMatch(/^<\?xml version="1.0" encoding="utf-8"\?>\n<rss version="2.0"/);
    const channel = await rss();
    expect([
      textOf(channel, 'title'),
      textOf(channel, 'description'),
      textOf(channel, 'link'),
      textOf(channel, 'language'),
    ]).toEqual(['Tea & <Ships>', 'All "about" it & more', `${BASE}/`, 'en']);
    expect(one(channel, 'atom:link').attributes).toEqual({
      href: `${BASE}/feed/rss`,
      rel: 'self',
      type: 'application/rss+xml',
    });
    expect(textOf(channel, 'lastBuildDate')).toBe('Thu, 15 Jan 2026 12:00:02 GMT');
  });

  test('RSS items are sorted newest first, regardless of replies', async () => {
    const items = all(await rss(), 'item');
    expect(items.map((item) => textOf(item, 'guid'))).toEqual(
      started.toReversed().map(({ number }) => `${BASE}/d/${number}`),
    );
    expect(items.map((item) => textOf(item, 'pubDate'))).toEqual(
      [2, 1, 0].map((second) => `Thu, 15 Jan 2026 12:00:0${second} GMT`),
    );
    const [newest] = items;
    expect(textOf(newest!, 'link')).toBe(`${BASE}/d/${started[2]!.number}-the-newest`);
    expect(one(newest!, 'guid').attributes).toEqual({ isPermaLink: 'true' });
    expect((await forum.guest.get(new URL(textOf(newest!, 'guid')).pathname)).status).toBe(301);
    expect([textOf(newest!, 'dc:creator'), textOf(newest!, 'description'), all(newest!, 'author')]).toEqual([
      'ada',
      'Words',
      [],
    ]);
    expect(all(newest!, 'category').map(({ text, attributes }) => [text, attributes['domain']])).toEqual([
      ['General "A" & <B>', `${BASE}/categories`],
      ['ropes <&> "knots"', `${BASE}/tags`],
    ]);
  });

  test('Atom has stable ids, both dates, authors and category terms', async () => {
    const feed = await atom();
    expect([feed.name, feed.attributes['xmlns']]).toEqual(['feed', 'http://www.w3.org/2005/Atom']);
    expect([textOf(feed, 'id'), textOf(feed, 'title'), textOf(feed, 'subtitle')]).toEqual([
      `${BASE}/feed/atom`,
      'Tea & <Ships>',
      'All "about" it & more',
    ]);
    expect(all(feed, 'link').map(({ attributes }) => [attributes['rel'], attributes['href']])).toEqual([
      ['alternate', `${BASE}/`],
      ['self', `${BASE}/feed/atom`],
    ]);
    expect(textOf(feed, 'updated')).toBe('2026-01-15T12:00:03.000Z');
    const entries = all(feed, 'entry');
    expect(entries.map((entry) => textOf(entry, 'id'))).toEqual(
      started.toReversed().map(({ number }) => `${BASE}/d/${number}`),
    );
    const oldest = entries[2]!;
    expect([textOf(oldest, 'published'), textOf(oldest, 'updated')]).toEqual([
      '2026-01-15T12:00:00.000Z',
      '2026-01-15T12:00:03.000Z',
    ]);
    expect([textOf(one(oldest, 'author'), 'name'), textOf(one(oldest, 'author'), 'uri')]).toEqual([
      'ada',
      `${BASE}/u/ada`,
    ]);
    expect(all(oldest, 'category').map(({ attributes }) => attributes['term'])).toEqual(['general', 'ropes-knots']);
    expect(entries.every((entry) => textOf(entry, 'content') !== '')).toBe(true);
  });

  test('JSON Feed uses version 1.1', async () => {
    const feed = await json();
    expect([feed.version, feed.title, feed.home_page_url, feed.feed_url]).toEqual([
      'https://jsonfeed.org/version/1.1',
      'Tea & <Ships>',
      `${BASE}/`,
      `${BASE}/feed/json`,
    ]);
    expect(feed.items[0]).toEqual({
      id: `${BASE}/d/${started[2]!.number}`,
      url: `${BASE}/d/${started[2]!.number}-the-newest`,
      title: 'The newest',
      content_html: expect.stringContaining('<p'),
      summary: 'Words',
      date_published: '2026-01-15T12:00:02.000Z',
      date_modified: '2026-01-15T12:00:02.000Z',
      authors: [{ name: 'ada', url: `${BASE}/u/ada` }],
      tags: ['General "A" & <B>', 'ropes <&> "knots"'],
    });
  });

  test('a hostile title is escaped in every format', async () => {
    const { title } = (await forum.guest.get(`/api/discussions/${started[1]!.id}`)).body.discussion;
    const shown = title.replace('\u0007', '');
    const item = all(await rss(), 'item')[1]!;
    expect(textOf(item, 'title')).toBe(shown);
    const entry = all(await atom(), 'entry')[1]!;
    expect([one(entry, 'title').attributes['type'], plainOf(textOf(entry, 'title'))]).toEqual(['html', shown]);
    expect((await json()).items[1].title).toBe(title);
    for (const element of [...item.elements, ...entry.elements]) expect(element.name).not.toBe('script');
  });

  test('content is complete, with absolute URLs', async () => {
    const html = textOf(all(await rss(), 'item')[1]!, 'content:encoded');
    expect(html).toContain(`<a href="${BASE}/d/1">this</a>`);
    expect(html).toContain('href="https://elsewhere.example/x?a=1&amp;b=2"');
    expect(html).toContain(`<img src="${BASE}/uploads/one.png"`);
    expect(html).toMatch(/<code>]]&gt;<\/code>/);
    expect([textOf(all(await atom(), 'entry')[1]!, 'content'), (await json()).items[1].content_html]).toEqual([
      html,
      html,
    ]);
  });

  test('footnotes link to the page they are on, and every size of an image has an absolute URL', async () => {
    const { data } = forum.app.app;
    const { id, postId } = await forum.start('ada', 'With notes');
    await forum.as.ada.put(`/api/posts/${postId}`, { content: 'So it is[^1].\n\n[^1]: Or not.' });
    await data.all(sql`update post set html = html || '<p><img src="/uploads/a.png" srcset="/uploads/b.png 320w, /uploads/c.png 640w" alt="" /></p>'
      where id = ${postId}`);
    const item = (await json()).items.find(({ title }: { title: string }) => title === 'With notes');
    const [reference] = /href="[^"]*#fn-[^"]*"/.exec(item.content_html)!;
    const [, key] = /id="fn-([^"]*)"/.exec(item.content_html)!;
    expect(reference).toBe(`href="${item.url}#fn-${key}"`);
    expect(item.content_html).toContain(`href="${item.url}#fnref-${key}"`);
    expect(item.content_html).toContain(`srcset="${BASE}/uploads/b.png 320w, ${BASE}/uploads/c.png 640w"`);
    expect((await forum.guest.get(new URL(item.url).pathname)).text).toContain(`id="fn-${key}"`);
    await forum.as.ada.delete(`/api/discussions/${id}`);
  });

  test('a new title changes neither id nor order, and a deleted discussion disappears', async () => {
    await forum.as.ada.put(`/api/discussions/${started[0]!.id}`, { title: 'Renamed' });
    const items = all(await rss(), 'item');
    expect([textOf(items[2]!, 'title'), textOf(items[2]!, 'guid')]).toEqual([
      'Renamed',
      `${BASE}/d/${started[0]!.number}`,
    ]);
    await forum.as.ada.delete(`/api/discussions/${started[0]!.id}`);
    expect([all(await rss(), 'item').length, all(await atom(), 'entry').length, (await json()).items.length]).toEqual([
      2, 2, 2,
    ]);
  });

  test.each([
    ['rss', 'item'],
    ['atom', 'entry'],
  ])('categories, members and tags have their own feeds in %s', async (format, name) => {
    const tag = (await forum.guest.get('/api/tags')).body.tags[0];
    const other = await forum.start('bob', 'Elsewhere', 'help');
    const titles = async (path: string): Promise<readonly string[]> => {
      const root = parsed(await read(path));
      return all(format === 'rss' ? one(root, 'channel') : root, name).map((element) => textOf(element, 'title'));
    };
    expect(await titles(`/feed/${format}/category/help`)).toEqual(['Elsewhere']);
    expect(await titles(`/${format}/user/${forum.ids.bob}`)).toEqual(['Elsewhere']);
    expect(await titles(`/${format}/user/Bob`)).toEqual(['Elsewhere']);
    expect((await forum.guest.get(`/${format}/user/nobody`)).status).toBe(404);
    expect((await titles(`/${format}/user/${forum.ids.ada}`)).length).toBe(2);
    expect((await titles(`/${format}/tag/${tag.id}`)).length).toBe(2);
    expect((await titles(`/feed/${format}`)).length).toBe(3);
    await forum.as.bob.delete(`/api/discussions/${other.id}`);
  });

  test.each([
    ['/feed/rss/category/general', 'General "A" & <B> · Tea & <Ships>', '/c/general'],
    ['/rss/user/{ada}', 'Discussions by ada · Tea & <Ships>', '/u/ada'],
    ['/rss/tag/{tag}', 'Tag ropes <&> "knots" · Tea & <Ships>', '/t/ropes-knots'],
  ])('%s has the title and link of its subject', async (path, title, page) => {
    const tag = (await forum.guest.get('/api/tags')).body.tags[0];
    const address = path.replace('{ada}', forum.ids.ada).replace('{tag}', tag.id);
    const channel = await rss(address);
    expect([textOf(channel, 'title'), textOf(channel, 'link')]).toEqual([title, BASE + page]);
    expect(one(channel, 'atom:link').attributes['href']).toBe(BASE + address);
  });

  test('a setting limits the number of discussions', async () => {
    await forum.app.app.settings.set({ 'feeds.items': 1 });
    expect([all(await rss(), 'item').length, all(await atom(), 'entry').length, (await json()).items.length]).toEqual([
      1, 1, 1,
    ]);
    await forum.app.app.settings.set({ 'feeds.items': 20 });
    expect(all(await rss(), 'item').length).toBe(2);
  });
});
