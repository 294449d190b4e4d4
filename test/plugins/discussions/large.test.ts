import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Categories, Importer, discussionCacheTags } from 'parley-forum/plugins/discussions';
import { useForum } from './forum.ts';

const forum = useForum({ 'posts.rate_limit': 1_000, 'discussions.rate_limit': 1_000 });
const MOST = 2 * 1024 * 1024;
const importer = () => forum.app.app.kernel.service(Importer)!;
const general = () =>
  forum.app.app.kernel
    .service(Categories)!
    .all()
    .find(({ slug }) => slug === 'general')!;
const post = (text: string, size: number) => {
  const content = `${text} ${'word '.repeat(Math.min(size, 60_000) / 5)}`;
  return { authorId: forum.ids.ada, content, html: `<p>${text} ${'x'.repeat(size)}</p>`, createdAt: new Date() };
};
const imported = (title: string, posts: readonly ReturnType<typeof post>[]) => ({
  title,
  categoryId: general().id,
  authorId: forum.ids.ada,
  createdAt: new Date(),
  posts,
});
/** Imports a discussion and resolves to its id and number. */
async function bring(
  title: string,
  posts: readonly ReturnType<typeof post>[],
): Promise<{ id: string; number: number }> {
  await importer().importDiscussions([imported(title, posts)]);
  return (await forum.app.app.data.one(
    sql<{ id: string; number: number }>`select id, number from discussion where title = ${title}`,
  ))!;
}
const follow = async (path: string) => {
  const answer = await forum.guest.get(path);
  return answer.status >= 300 && answer.status < 400
    ? forum.guest.get(answer.headers.get('location')!.replace(/#.*/, ''))
    : answer;
};
const numbersOn = (text: string): number[] =>
  [...text.matchAll(/id="post-(\d+)" aria-labelledby/g)].map(([, number]) => Number(number));

describe('a text that would make a large page', () => {
  const table = `a|b\n-|-\n${'|\n'.repeat(28_000)}`;

  test('is refused wherever it is submitted, with the reason', async () => {
    const { id, postId } = await forum.start('ada', 'Tables');
    const general = { title: 'Large', category_id: 'general' };
    for (const content of [table, '# a\n'.repeat(16_000)]) {
      const answers = [
        await forum.as.ada.post('/api/discussions', { ...general, content }),
        await forum.as.ada.post('/api/posts', { discussion_id: id, content }),
        await forum.as.ada.put(`/api/posts/${postId}`, { content }),
        await forum.as.ada.post('/api/markdown/parse', { content }),
      ];
      for (const { status, body } of answers) expect([status, body.details[0].field]).toEqual([400, 'content']);
      expect(answers[0]!.body.details[0].message).toMatch(/10,000 cells|256 KiB/);
    }
    await expect(bring('Imported', [post('huge', 300 * 1024)])).rejects.toMatchObject({
      status: 400,
      details: [{ field: 'content' }],
    });
  });

  test('is shown with the reason in the form that it was typed into', async () => {
    const { number } = await forum.start('ada', 'Form');
    const answer = await forum.as.ada.submit(`/d/${number}/reply`, { content: table });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('10,000 cells');
  });
});

describe('a discussion of long posts', () => {
  let found: { id: string; number: number };

  beforeAll(async () => {
    found = await bring(
      'Long posts',
      Array.from({ length: 25 }, (_, index) => post(`number ${index + 1}`, 100 * 1024)),
    );
  });

  test('shows fewer of them at once, with a link to the next ones, so that none is left out', async () => {
    const seen: number[] = [];
    for (let path: string | undefined = `/d/${found.number}`; path !== undefined;) {
      const { status, text } = await follow(path);
      expect(status).toBe(200);
      expect(text.length).toBeLessThan(MOST);
      seen.push(...numbersOn(text));
      path = (/rel="next" href="([^"]*from[^"]*)"/.exec(text) ??
        /class="pager-step" rel="next" href="([^"]*)"/.exec(text))?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
  });

  test('opens at the post given in the URL', async () => {
    for (const number of [1, 2, 9, 20, 21, 25])
      expect(numbersOn((await follow(`/d/${found.number}/${number}`)).text)).toContain(number);
  });

  test('does not start a page at a post of another page', async () => {
    expect((await follow(`/d/${found.number}-long-posts?page=1&from=22`)).status).toBe(404);
    expect((await follow(`/d/${found.number}-long-posts?page=2&from=26`)).status).toBe(404);
  });

  test.each(['ASC', 'DESC'])('returns each post once when paginated by cursor, %s', async (order) => {
    const seen: number[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body, text } = await forum.guest.get(
        `/api/discussions/${found.id}/posts?limit=100&posts_order=${order}${cursor && `&cursor=${cursor}`}`,
      );
      expect(text.length).toBeLessThan(MOST);
      expect([body.count, body.hasMore]).toEqual([body.posts.length, body.next_cursor !== null]);
      expect(body.posts.every(({ html, is_truncated: truncated }: any) => html.length > 100_000 && !truncated)).toBe(
        true,
      );
      seen.push(...body.posts.map(({ number }: any) => number));
      cursor = body.next_cursor;
    }
    expect(order === 'ASC' ? seen : seen.toReversed()).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
  });

  test('opens near a post that does not fit on the same page as its first one', async () => {
    for (const order of ['ASC', 'DESC']) {
      const { body } = await forum.guest.get(`/api/discussions/${found.id}/posts?near=17&posts_order=${order}`);
      expect(body.posts.map(({ number }: any) => number)).toContain(17);
    }
  });
});

describe('posts stored before texts were limited', () => {
  let found: { id: string; number: number };
  const html = `<p>${'<a href="/x">x</a>'.repeat(60_000)}</p>`;

  beforeAll(async () => {
    found = await bring('Megabytes', [post('one', 10), post('two', 10), post('three', 10)]);
    const { data, cache } = forum.app.app;
    await data.all(
      sql`update post set html = ${html}, content = 'As *written* ' || repeat('word ', 12000) where discussion_id = ${found.id}`,
    );
    await cache.purge(discussionCacheTags.all, discussionCacheTags.lists);
  });

  test('are shown by their beginning, with a link to a page that has the full text', async () => {
    for (const client of [forum.guest, forum.as.ada, forum.as.mia]) {
      const { status, text } = await client.get(`/d/${found.number}-megabytes`);
      expect([status, numbersOn(text)]).toEqual([200, [1, 2, 3]]);
      expect(text).toContain('As written word');
      const [, path] = /href="(\/p\/[^"/]+)">Read the full post/.exec(text)!;
      const source = await client.get(path!);
      expect([source.status, source.text.includes('As *written* word'), source.text.length > 60_000]).toEqual([
        200,
        true,
        true,
      ]);
    }
    expect((await forum.guest.get('/p/018f0000-0000-7000-8000-000000000000')).status).toBe(404);
  });

  test('are marked as truncated in the API, which returns their source', async () => {
    const { body, text } = await forum.guest.get(`/api/discussions/${found.id}`);
    expect(body.posts).toHaveLength(3);
    expect(text.length).toBeLessThan(MOST);
    const single = (await forum.guest.get(`/api/posts/${body.posts[0].id}`)).body.post;
    for (const one of [...body.posts, body.discussion, single]) {
      expect([one.is_truncated, one.content.length > 60_000, one.html.length < 2_000]).toEqual([true, true, true]);
      expect(one.html).toMatch(/^<p dir="auto">As written word[^<]*<\/p>\n$/);
    }
  });

  test('can be deleted, and their page still works for moderators', async () => {
    const { body } = await forum.guest.get(`/api/discussions/${found.id}`);
    for (const { id } of body.posts.slice(1)) expect((await forum.as.mia.delete(`/api/posts/${id}`)).status).toBe(200);
    expect((await forum.as.mia.get(`/d/${found.number}-megabytes`)).status).toBe(200);
    expect((await forum.guest.get(`/d/${found.number}-megabytes`)).status).toBe(200);
  });
});

describe('lists of long texts', () => {
  beforeAll(async () => {
    await importer().importDiscussions(
      Array.from({ length: 100 }, (_, index) => imported(`Long ${index}`, [post(`Text ${index}`, 200 * 1024)])),
    );
  });

  test.each([
    '/api/discussions?limit=100',
    '/feed/rss',
    '/feed/atom',
    '/feed/json',
    '/',
    '/search?q=word',
    '/api/search?q=word&limit=100',
  ])('stay below 2 MiB at %s', async (path) => {
    const { status, text } = await forum.guest.get(path);
    expect(status).toBe(200);
    expect(Buffer.byteLength(text)).toBeLessThan(MOST);
  });

  test('return the beginning of each, marked as truncated, and full texts for few items', async () => {
    const { discussions } = (await forum.guest.get('/api/discussions?limit=100&sort=newest')).body;
    expect(discussions).toHaveLength(100);
    for (const { content, html, is_truncated: truncated } of discussions) {
      expect([truncated, content.length, content.at(-1)]).toEqual([true, 501, '…']);
      expect(html).toMatch(/^<p dir="auto">Text \d+ word [^<]*…<\/p>\n$/);
    }
    const [one] = (await forum.guest.get('/api/discussions?limit=1&sort=newest')).body.discussions;
    expect([one.is_truncated, one.html.length > 200_000]).toEqual([false, true]);
    const { posts } = (await forum.as.ada.get('/api/users/posts?limit=50')).body;
    expect(posts.every(({ is_truncated: truncated }: any) => truncated)).toBe(true);
  });

  test('return short texts in full, however many', async () => {
    await forum.start('bob', 'Short');
    const list = (await forum.guest.get('/api/discussions?limit=100&sort=latest&offset=100')).body.discussions;
    expect(list.find(({ title }: any) => title === 'Short')).toMatchObject({
      content: 'About Short',
      html: '<p dir="auto">About Short</p>\n',
      is_truncated: false,
    });
  });
});

test('the history of a long post is returned in pages of limited size', async () => {
  const { id } = await forum.start('ada', 'History');
  const { id: postId } = await forum.reply('ada', id, 'first');
  for (let index = 0; index < 12; index++) {
    expect(
      (await forum.as.ada.put(`/api/posts/${postId}`, { content: `${index} ${'word '.repeat(12_500)}` })).status,
    ).toBe(200);
    forum.app.clock.advance(60_000);
  }
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { body, text } = await forum.as.ada.get(
      `/api/posts/${postId}/revisions?limit=100${cursor && `&cursor=${cursor}`}`,
    );
    expect(text.length).toBeLessThan(700_000);
    expect(body.count).toBeGreaterThan(0);
    seen.push(...body.revisions.map(({ content }: any) => content.split(' ')[0]));
    cursor = body.next_cursor;
  }
  expect(seen).toEqual(['10', '9', '8', '7', '6', '5', '4', '3', '2', '1', '0', 'first']);
});

describe('a text', () => {
  test('loses surrounding blank lines and nothing else, so that code stays code as in its preview', async () => {
    const content = '\n \t\n    code();\n\ntext  \n\n\n';
    const { id } = await forum.start('ada', 'Code');
    const written = await forum.reply('ada', id, content);
    expect([written.content, written.html]).toEqual([
      '    code();\n\ntext  ',
      '<figure class="code" dir="ltr"><x-copy></x-copy><pre dir="ltr" tabindex="0"><code>code();\n</code></pre></figure>\n<p dir="auto">text</p>\n',
    ]);
    expect((await forum.guest.post('/api/markdown/parse', { content })).body.html).toBe(written.html);
    const edited = (await forum.as.ada.put(`/api/posts/${written.id}`, { content: '\r\n    more\r\n' })).body.post;
    expect([edited.content, edited.html]).toEqual([
      '    more',
      '<figure class="code" dir="ltr"><x-copy></x-copy><pre dir="ltr" tabindex="0"><code>more\n</code></pre></figure>\n',
    ]);
    const started = (
      await forum.as.ada.post('/api/discussions', { title: '  Spaces  ', content: '    first', category_id: 'general' })
    ).body.discussion;
    expect([started.title, started.content]).toEqual(['Spaces', '    first']);
    for (const empty of [' ', '\n\n', ' \n\t '])
      expect((await forum.as.ada.post('/api/posts', { discussion_id: id, content: empty })).status).toBe(400);
  });

  test('keeps leading white space when it is sent by a form', async () => {
    const { id, number } = await forum.start('ada', 'Code in a form');
    await forum.as.ada.submit(`/d/${number}/reply`, { content: '    code();\r\n' });
    const { posts } = (await forum.guest.get(`/api/discussions/${id}`)).body;
    expect(posts[1].content).toBe('    code();');
  });

  test('loses terminal control characters', async () => {
    const { id } = await forum.start('ada', 'Bells');
    expect((await forum.reply('ada', id, 'a\u0007b\u001b[31m\tc\u0085')).content).toBe('ab[31m\tc');
  });

  test('loses direction controls in titles that would affect what follows', async () => {
    const { id } = await forum.start('ada', '\u202eturned\u202c, \u2066set apart\u2069 and \u200f\u05d0\u200e');
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.discussion.title).toBe(
      'turned, set apart and \u200f\u05d0\u200e',
    );
    const renamed = await forum.as.ada.put(`/api/discussions/${id}`, { title: 'renamed\u202e' });
    expect(renamed.body.discussion.title).toBe('renamed');
  });

  test('is refused if nothing of it is visible', async () => {
    const { id } = await forum.start('ada', 'Something');
    const general = { title: 'Seen', content: 'Seen', category_id: 'general' };
    for (const unseen of ['\u200b', '\u202e\u2060 \u00ad', '\u3164'])
      for (const [path, body, field] of [
        ['/api/posts', { discussion_id: id, content: unseen }, 'content'],
        ['/api/discussions', { ...general, content: unseen }, 'content'],
        ['/api/discussions', { ...general, title: unseen }, 'title'],
      ] as const)
        expect((await forum.as.ada.post(path, body)).body.details).toEqual([{ field, message: 'is required' }]);
  });
});
