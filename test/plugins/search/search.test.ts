import { beforeAll, describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Access } from 'parley-forum/plugins/access';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { Search } from 'parley-forum/plugins/search';
import { leastOf } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();

describe('a search', () => {
  let pump: { id: string; number: number; postId: string };

  beforeAll(async () => {
    pump = await forum.start('ada', 'The forward bilge pump', 'It hums but moves **nothing**.');
    await forum.reply('bob', pump.id, 'Was it corrosion under the clamp?');
    await forum.reply('ada', pump.id, 'The clamp, and then the clamp again.');
    await forum.start('bob', 'A cracked frame', 'Found while looking for the pump.');
  });

  test('matches titles, posts and all forms of a word', async () => {
    const [first, second] = await forum.search('pumps');
    expect([first.title, second.title]).toEqual(['The forward bilge pump', 'A cracked frame']);
    expect(first).toMatchObject({
      type: 'discussions',
      id: pump.id,
      discussion_id: pump.id,
      number: pump.number,
      url: `http://forum.test/d/${pump.number}-the-forward-bilge-pump`,
      author: { username: 'ada' },
    });
    expect(second.excerpt).toBe('Found while looking for the <mark>pump</mark>');
  });

  test('lists each discussion once, and each post separately', async () => {
    expect(await forum.titles('clamp')).toEqual(['The forward bilge pump']);
    const posts = await forum.search('clamp', '&type=posts');
    expect(posts.map(({ type, number, title, author, url }) => [type, number, title, author.username, url])).toEqual([
      ['posts', 3, 'The forward bilge pump', 'ada', `http://forum.test/d/${pump.number}/3#post-3`],
      ['posts', 2, 'The forward bilge pump', 'bob', `http://forum.test/d/${pump.number}/2#post-2`],
    ]);
    expect((await forum.search('hums', '&type=posts'))[0].url).toBe(
      `http://forum.test/d/${pump.number}-the-forward-bilge-pump`,
    );
  });

  test('supports phrases, exclusions and alternatives', async () => {
    expect(await forum.titles('"forward bilge"')).toEqual(['The forward bilge pump']);
    expect(await forum.titles('"bilge forward"')).toEqual([]);
    expect(await forum.titles('pump -frame')).toEqual(['The forward bilge pump']);
    expect((await forum.titles('cracked or hums')).sort()).toEqual(['A cracked frame', 'The forward bilge pump']);
  });

  test('supports filters by author, category and date, even without words', async () => {
    expect(await forum.titles('pump author:BOB')).toEqual(['A cracked frame']);
    expect((await forum.search('author:bob', '&type=posts')).map(({ number }) => number)).toEqual([1, 2]);
    expect(await forum.titles('pump category:help')).toEqual([]);
    expect((await forum.titles('pump category:general')).length).toBe(2);
    const day = new Date(forum.app.clock.now()).toISOString().slice(0, 10);
    expect((await forum.titles(`pump after:${day}`)).length).toBe(2);
    expect(await forum.titles(`pump before:${day}`)).toEqual([]);
    expect(await forum.titles('pump before:2020')).toEqual([]);
  });

  test('supports filters by tag', async () => {
    const body = { title: 'Tagged', content: 'A pump of brass', category_id: 'general', tags: ['Brass Work'] };
    const made = expectStatus(await forum.as.ada.post('/api/discussions', body), 201).body.discussion;
    for (const q of ['pump tag:brass-work', 'tag:brass-work', `tag:${made.tags[0].id}`])
      expect(await forum.titles(q)).toEqual(['Tagged']);
    expect(await forum.titles('frame tag:brass-work')).toEqual([]);
    expectStatus(await forum.as.ada.delete(`/api/discussions/${made.id}`), 200);
    expect(await forum.titles('tag:brass-work')).toEqual([]);
  });

  test('finds nothing for unknown names, and does not look up members by e-mail address', async () => {
    for (const filter of ['author:nobody', 'category:nowhere', 'tag:nothing', 'author:bob@forum.test'])
      expect(await forum.titles(`pump ${filter}`)).toEqual([]);
  });

  test('finds nothing for stop words', async () => {
    expect(await forum.titles('the')).toEqual([]);
    expect(await forum.titles('the and')).toEqual([]);
  });

  test('accepts any input', async () => {
    for (const q of [
      '"',
      '-',
      "'; drop table post; --",
      '& | ! <-> :*',
      '((',
      '\\',
      '%',
      '💧',
      '"unfinished',
      ':::',
      'a'.repeat(256),
    ]) {
      expect([q, (await forum.guest.get(`/api/search?q=${encodeURIComponent(q)}`)).status]).toEqual([q, 200]);
    }
  });
});

describe('invalid parameters are refused', () => {
  test.each([
    '',
    '?q=',
    '?q=%20%20',
    `?q=${'a'.repeat(257)}`,
    '?q=a%00b',
    '?q=x&type=cats',
    '?q=x&limit=0',
    '?q=x&offset=-1',
    '?q=x&cursor=nonsense',
    '?q=before:never',
  ])('GET /api/search%s', async (query) => {
    const answer = expectStatus(await forum.guest.get(`/api/search${query}`), 400);
    expect(answer.body).toMatchObject({ success: false, code: 'validation_failed' });
    expect(answer.body.details[0].field).toMatch(/^(q|type|limit|offset|cursor)$/);
  });
});

describe('excerpts', () => {
  test('are found deep in a long post; on a page of long posts, the first ones are searched deepest', async () => {
    for (let n = 0; n < 12; n++) await forum.start('ada', `Long ${n}`, `${'filler '.repeat(2_500)} okapi ${n}`);
    const found = await forum.search('okapi');
    expect(found).toHaveLength(12);
    const marked = found.map(({ excerpt }: { excerpt: string }) => excerpt.includes('<mark>okapi</mark>'));
    expect(marked.slice(0, 2)).toEqual([true, true]);
    expect(marked.at(-1)).toBe(false);
  });

  test('reveal nothing of spoilers, which are not searched either', async () => {
    const { id } = await forum.start('ada', 'The end of the voyage', 'Everybody ||drowns horribly|| at Capehorn.');
    await forum.reply('bob', id, 'So it was.\n\n:::spoiler\nThe boatswain, at Capehorn.\n:::');
    const [found, ...others] = await forum.search('Capehorn', '&type=posts');
    expect([found.excerpt, others]).toEqual(['Everybody … at <mark>Capehorn</mark>', []]);
    expect([await forum.titles('drowns'), await forum.titles('boatswain')]).toEqual([[], []]);
  });

  test('show the title when the text does not contain the match', async () => {
    await forum.start('ada', 'Zanzibar in winter', 'Nothing of it here, only monsoon.');
    expect((await forum.search('zanzibar'))[0].excerpt).toMatch(
      /^<mark>Zanzibar<\/mark> in winter – Nothing of it here/,
    );
    expect((await forum.search('zanzibar monsoon'))[0].excerpt).toMatch(
      /<mark>Zanzibar<\/mark>.*<mark>monsoon<\/mark>/,
    );
    expect((await forum.search('monsoon'))[0].excerpt).not.toContain('Zanzibar');
  });

  test('are escaped, whatever the post contains', async () => {
    await forum.start(
      'ada',
      'Hostile <b>title</b>',
      'Before `<script>alert(1)</script>` <img src=x onerror=alert(2)> \u0002zebra\u0003 & "quotes" </mark> after',
    );
    const [{ excerpt, title }] = await forum.search('zebra');
    expect(title).toBe('Hostile <b>title</b>');
    expect(excerpt).toContain('<mark>zebra</mark>');
    expect(excerpt.replaceAll(/<\/?mark>/g, '')).not.toMatch(/[<>]/);
    expect(excerpt.match(/<mark>/g)?.length).toBe(excerpt.match(/<\/mark>/g)?.length);
    const page = await forum.guest.get('/search?q=zebra');
    expect(page.text).toContain('<mark>zebra</mark>');
    expect(page.text).not.toContain('<script>alert');
    expect(page.text).toContain('Hostile &lt;b&gt;title');
  });
});

describe('members', () => {
  test('are found by a part of their name', async () => {
    const [found] = await forum.search('OOT', '&type=users');
    expect(found).toMatchObject({
      type: 'users',
      title: 'root',
      excerpt: 'r<mark>oot</mark>',
      url: 'http://forum.test/u/root',
      author: { username: 'root' },
      discussion_id: null,
    });
    expect(found).not.toHaveProperty('email');
    expect(await forum.search('forum.test', '&type=users')).toEqual([]);
    expect(await forum.search('%', '&type=users')).toEqual([]);
  });

  test('are found by the start of the name only for queries of fewer than three letters', async () => {
    expect(await forum.search('oo', '&type=users')).toEqual([]);
    expect((await forum.search('RO', '&type=users')).map(({ title }) => title as string)).toEqual(['root']);
  });

  test('are listed in pages', async () => {
    await forum.app.app
      .service(Accounts)
      .create({ username: 'anna', email: 'anna@forum.test', password: 'Plain-Sailing-42', groupId: 'member' });
    const first = (await forum.guest.get('/api/search?q=a&type=users&limit=1')).body;
    expect(first).toMatchObject({ type: 'users', count: 1, hasMore: true });
    const second = (await forum.guest.get(`/api/search?q=a&type=users&limit=10&cursor=${first.next_cursor}`)).body;
    expect([first, second].flatMap(({ results }) => results.map(({ title }: { title: string }) => title))).toEqual([
      'ada',
      'anna',
    ]);
    expect(second).toMatchObject({ hasMore: false, next_cursor: null });
  });
});

describe('many results', () => {
  beforeAll(async () => {
    const general = forum.app.app
      .service(Categories)
      .all()
      .find(({ slug }) => slug === 'general')!;
    const made = (index: number) => ({
      title: `Wanderlust ${index}`,
      categoryId: general.id,
      authorId: forum.ids.bob,
      createdAt: new Date(Date.UTC(2024, 0, 1 + index)),
      posts: Array.from({ length: index === 0 ? 600 : 2 }, (_, post) => ({
        authorId: forum.ids.bob,
        content: 'About wandering',
        html: '<p>About wandering</p>',
        createdAt: new Date(Date.UTC(2024, 0, 1 + index, 0, 0, post)),
      })),
    });
    await forum.app.app.service(Importer).importDiscussions(Array.from({ length: 60 }, (_, index) => made(index)));
  });
  const walk = async (query: string, next: (body: any, at: number) => string): Promise<string[]> => {
    const ids: string[] = [];
    for (let body: any = { hasMore: true }, at = 0; body.hasMore; at++) {
      body = expectStatus(await forum.guest.get(`/api/search?${query}${at === 0 ? '' : next(body, at)}`), 200).body;
      expect(body.count).toBe(body.results.length);
      ids.push(...body.results.map(({ id }: { id: string }) => id));
    }
    return ids;
  };

  test('have the same order by cursor and by offset, without duplicates', async () => {
    const byCursor = await walk('q=wandering&limit=7', (body) => `&cursor=${body.next_cursor}`);
    const byOffset = await walk('q=wandering&limit=7', (_body, at) => `&offset=${at * 7}`);
    expect(byCursor).toEqual(byOffset);
    expect(new Set(byCursor).size).toBe(60);
  });

  test('end after the ranked newest ones, and a large offset is accepted', async () => {
    expect((await walk('q=wandering&type=posts&limit=100', (body) => `&cursor=${body.next_cursor}`)).length).toBe(250);
    expect((await forum.guest.get('/api/search?q=wandering&offset=10000')).body).toMatchObject({
      count: 0,
      hasMore: false,
      next_cursor: null,
    });
    expectStatus(await forum.guest.get(`/api/search?q=wandering&offset=${Number.MAX_SAFE_INTEGER}`), 200);
  });

  test('run the same number of statements as few', async () => {
    const { app } = forum.app;
    const cost = async (limit: number) =>
      leastOf(() =>
        forum.app.statements(() =>
          app.service(Search).search({ q: 'wandering', type: 'discussions', limit }, app.service(Access).guest),
        ),
      );
    expect(await cost(50)).toBe(await cost(1));
    expect(await cost(50)).toBeLessThan(13);
  });
});

test('a moved post is found in its new discussion, under the new title', async () => {
  const [from, to] = [await forum.start('ada', 'Where it was', 'A'), await forum.start('ada', 'Where it went', 'B')];
  const { id } = await forum.reply('bob', from.id, 'The marlinspike');
  await forum.reply('bob', from.id, 'Another marlinspike');
  const path = `/api/discussions/${from.id}/move-posts`;
  expectStatus(await forum.as.mia.post(path, { post_ids: [id], discussion_id: to.id }), 200);
  const found = await forum.search('marlinspike', '&type=posts');
  expect(found.find((post) => post.id === id)).toMatchObject({
    id,
    discussion_id: to.id,
    number: 2,
    title: 'Where it went',
  });
  expect((await forum.titles('marlinspike')).toSorted()).toEqual(['Where it was', 'Where it went']);
  expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/merge`, { into: to.id }), 200);
  expect(await forum.titles('marlinspike')).toEqual(['Where it went']);
  expect(await forum.titles('"where it was"')).toEqual([]);
});
