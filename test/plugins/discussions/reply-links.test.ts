import { describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories, Discussions, Importer, type Category } from 'parley-forum/plugins/discussions';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, useForum, type Name } from './forum.ts';

const forum = useForum({ 'posts.rate_limit': 1_000, 'posts.public_history': true });

interface Started {
  readonly id: string;
  readonly number: number;
  /** Ids of its posts, by number. */
  readonly posts: readonly string[];
}
/** A discussion of ada's with that many replies by bob. */
async function started(title: string, replies = 2, category = 'general'): Promise<Started> {
  const { id, number, postId } = await forum.start('ada', title, category);
  const posts = ['', postId];
  for (let at = 0; at < replies; at++) posts.push((await forum.reply('bob', id, `Reply ${at + 2}`)).id);
  return { id, number, posts };
}
const answer = (name: Name, { id }: { readonly id: string }, to: string | null, content = 'An answer') =>
  forum.as[name].post('/api/posts', { discussion_id: id, content, reply_to_id: to });
const answered = async (name: Name, discussion: Started, to: string): Promise<any> =>
  expectStatus(await answer(name, discussion, to), 201).body.post;
const postsOf = async ({ number }: Started, client: Client = forum.guest): Promise<any[]> =>
  (await client.get(`/api/discussions/${number}/posts`)).body.posts;
const linksOf = async (discussion: Started, client: Client = forum.guest): Promise<unknown[]> =>
  (await postsOf(discussion, client)).map((post) => [post.reply_to_number, post.reply_count]);
/** The HTML of a post on the discussion’s page. */
async function shown({ number }: Started, post: number, client: Client = forum.guest): Promise<string> {
  const { headers } = expectStatus(await client.get(`/d/${number}`), 301);
  const { text } = await client.get(headers.get('location')!);
  return new RegExp(`<article class="post[^"]*" id="post-${post}".*?</article>`, 's').exec(text)?.[0] ?? '';
}
const words = (html: string): string =>
  html
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const headOf = (post: string): string => words(/<p class="post-to">.*?<\/p>/s.exec(post)?.[0] ?? '');
const footOf = (post: string): string => words(/<details class="post-replies">.*?<\/details>/s.exec(post)?.[0] ?? '');

describe('a reply links to the post that it answers', () => {
  test('if the API is given its id or number, and both posts show it', async () => {
    const one = await started('Both ways');
    const post = await answered('mia', one, one.posts[2]!);
    expect(post).toMatchObject({ number: 4, reply_to_number: 2, reply_to_author: { username: 'bob' }, reply_count: 0 });
    await answered('ada', one, '2');
    expect((await forum.guest.get(`/api/posts/${post.id}`)).body.post.reply_to_number).toBe(2);
    const [first, second, , fourth, fifth] = await postsOf(one);
    expect([first.reply_count, first.replies, first.reply_to_number]).toEqual([0, undefined, null]);
    expect(second).toMatchObject({
      reply_count: 2,
      replies: [
        { number: 4, author: { username: 'mia' }, created_at: fourth.created_at },
        { number: 5, author: { username: 'ada' }, created_at: fifth.created_at },
      ],
    });
    expect((await forum.as.mia.get('/api/users/posts')).body.posts[0]).toMatchObject({
      id: post.id,
      reply_to_number: 2,
    });
  });

  test('but not if it answers the first post or none', async () => {
    const one = await started('Plain', 0);
    for (const to of [one.posts[1]!, '1', null])
      expect(expectStatus(await answer('bob', one, to), 201).body.post.reply_to_number).toBeNull();
    expect((await forum.reply('bob', one.id, 'Nothing')).reply_to_number).toBeNull();
    expect(await linksOf(one)).toEqual([1, 2, 3, 4, 5].map(() => [null, 0]));
  });

  test('if the form was opened at a post, even after a preview or a refusal', async () => {
    const one = await started('By form');
    const path = `/d/${one.number}/reply`;
    const actionIn = (text: string) => /<form[^>]* action="(\/d\/[^"]+)"/.exec(text)?.[1];
    const form = await forum.as.mia.get(`${path}?to=3`);
    expect(actionIn(form.text)).toBe(`${path}?to=3`);
    const preview = await forum.as.mia.submit(`${path}?to=3`, { content: 'Looks', preview: '1' });
    expect([preview.status, actionIn(preview.text)]).toEqual([200, `${path}?to=3`]);
    const refused = await forum.as.mia.submit(`${path}?to=3`, { content: ' ' });
    expect([refused.status, actionIn(refused.text)]).toEqual([400, `${path}?to=3`]);
    expect((await forum.as.mia.submit(`${path}?to=3`, { content: 'Sent' })).status).toBe(303);
    expect((await forum.as.mia.submit(`${path}?to=1`, { content: 'To the first' })).status).toBe(303);
    expect((await forum.as.mia.submit(path, { content: 'To none' })).status).toBe(303);
    expect(await linksOf(one)).toEqual([
      [null, 0],
      [null, 0],
      [null, 1],
      [3, 0],
      [null, 0],
      [null, 0],
    ]);
  });

  test('if that was quoted from its menu', async () => {
    const one = await started('Quoted');
    const path = `/d/${one.number}/reply`;
    const form = await forum.as.mia.get(`${path}?quote=2`);
    expect(form.text).toContain(`action="${path}?to=2"`);
    await forum.as.mia.submit(`${path}?quote=3`, { content: '> Reply 3\n\nYes' });
    await forum.as.mia.submit(`${path}?quote=3&to=2`, { content: '> Reply 3\n\nNo' });
    expect(await linksOf(one)).toEqual([
      [null, 0],
      [null, 1],
      [null, 1],
      [3, 0],
      [2, 0],
    ]);
  });

  test('in its event, and when a plugin replies', async () => {
    const one = await started('Told');
    forum.happened.length = 0;
    const { id } = await answered('mia', one, one.posts[3]!);
    await forum.as.mia.put(`/api/posts/${id}`, { content: 'Changed' });
    expect(forum.happened.map(({ action, payload }) => [action, payload.post.reply_to_number])).toEqual([
      ['post.created', 3],
      ['post.updated', 3],
    ]);
    const { app } = forum.app;
    const viewer = (await app.service(Accounts).viewers([forum.ids.bob])).get(forum.ids.bob)!;
    await app.service(Discussions).reply(viewer, { discussionId: one.id, content: 'From code', replyTo: '4' });
    expect((await linksOf(one)).slice(2)).toEqual([
      [null, 1],
      [3, 1],
      [4, 0],
    ]);
  });

  test('and is imported with that', async () => {
    const { app } = forum.app;
    const general = app
      .service(Categories)
      .all()
      .find(({ slug }) => slug === 'general')!;
    const createdAt = new Date(Date.UTC(2020, 0, 1));
    const post = (replyTo?: number) => ({
      authorId: forum.ids.ada,
      content: 'Old',
      html: '<p>Old</p>',
      createdAt,
      ...(replyTo !== undefined && { replyTo }),
    });
    const old = { categoryId: general.id, authorId: forum.ids.ada, createdAt };
    const bring = (title: string, links: readonly (number | undefined)[]) =>
      app.service(Importer).importDiscussions([{ title, ...old, posts: links.map(post) }]);
    await bring('Imported links', [undefined, undefined, 2, 1, 2]);
    const { number } = (await app.data.one(
      sql<{ number: number }>`select number from discussion where title = 'Imported links'`,
    ))!;
    expect(await linksOf({ number } as Started)).toEqual([
      [null, 0],
      [null, 2],
      [2, 0],
      [null, 0],
      [2, 0],
    ]);
    await expect(bring('Imported ahead', [undefined, 2])).rejects.toThrow('is not an earlier post');
  });
});

describe('what cannot be answered', () => {
  test.each([
    ['a post of another discussion', async () => (await started('Another')).posts[2]!],
    ['a post of a hidden category', async () => (await forum.start('root', 'Hidden', 'staff')).postId],
    ['a post that does not exist', () => '00000000-0000-7000-8000-000000000000'],
    ['a number beyond the last', () => '9'],
    ['an invalid id', () => 'xyz'],
  ])('is %s, which the API reports as missing', async (_what, to) => {
    const one = await started('Refusing');
    const { status, body } = await answer('mia', one, await to());
    expect([status, body.details]).toEqual([
      400,
      [{ field: 'reply_to_id', message: 'is not a post of this discussion, or no longer exists' }],
    ]);
    expect(await postsOf(one)).toHaveLength(3);
  });

  test.each(['bob', 'mia'] as const)('is a deleted post, for %s', async (name) => {
    const one = await started('Deleted before');
    await forum.as.mia.delete(`/api/posts/${one.posts[2]}`);
    const { status, body } = await answer(name, one, one.posts[2]!);
    expect([status, body.details?.[0]?.field]).toEqual([400, 'reply_to_id']);
    expect((await forum.as[name].get(`/d/${one.number}/reply?to=2`)).text).toContain('post 1');
  });

  test('is refused only after a discussion that may not be replied to', async () => {
    const { id } = await forum.start('root', 'Not seen', 'staff');
    expect((await answer('bob', { id }, 'xyz')).status).toBe(404);
    const one = await started('Locked');
    await forum.as.mia.put(`/api/discussions/${one.id}`, { is_locked: true });
    expect((await answer('bob', one, 'xyz')).status).toBe(403);
  });

  test('is reported in the form, which keeps the text as a reply to the discussion', async () => {
    const one = await started('Gone meanwhile');
    const path = `/d/${one.number}/reply`;
    await forum.as.mia.delete(`/api/posts/${one.posts[3]}`);
    const refused = await forum.as.bob.submit(`${path}?to=3`, { content: 'Long thought about' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(
      'The post you are replying to: is not a post of this discussion, or no longer exists',
    );
    expect(refused.text).toContain('Long thought about');
    expect(refused.text).toContain(`action="${path}"`);
  });
});

describe('a reply link', () => {
  test('counts and shows what the reader may see, after deletion and restoration', async () => {
    const one = await started('Counted');
    const first = await answered('mia', one, one.posts[2]!);
    await answered('ada', one, one.posts[2]!);
    const before = [
      [null, 0],
      [null, 2],
      [null, 0],
      [2, 0],
      [2, 0],
    ];
    expect(await linksOf(one)).toEqual(before);
    await forum.as.mia.delete(`/api/posts/${first.id}`);
    for (const client of [forum.guest, forum.as.mia]) {
      const [, second] = await postsOf(one, client);
      expect([second.reply_count, second.replies.map(({ number }: any) => number)]).toEqual([1, [5]]);
    }
    await forum.as.mia.post(`/api/posts/${first.id}/restore`);
    expect(await linksOf(one)).toEqual(before);

    await forum.as.mia.delete(`/api/posts/${one.posts[2]}`);
    const [, , , fourth] = await postsOf(one);
    expect([fourth.reply_to_number, fourth.reply_to_author]).toEqual([null, undefined]);
    expect((await forum.guest.get(`/api/posts/${first.id}`)).body.post.reply_to_number).toBeNull();
    expect((await forum.as.mia.get(`/api/posts/${first.id}`)).body.post.reply_to_number).toBe(2);
    expect([headOf(await shown(one, 4)), headOf(await shown(one, 4, forum.as.mia))]).toEqual([
      '',
      'in reply to #2 by bob',
    ]);
    await forum.as.mia.post(`/api/posts/${one.posts[2]}/restore`);
    expect(await linksOf(one)).toEqual(before);
    expect(headOf(await shown(one, 4))).toBe('in reply to #2 by bob');
  });

  test('is in the list of events as it is visible now', async () => {
    const one = await started('Listed');
    const { id } = await answered('mia', one, one.posts[2]!);
    const listed = async () => {
      const { events } = (await forum.as.root.get('/api/events?limit=100&type=post.created')).body;
      return events.find(({ data }: any) => data.post?.id === id)?.data.post.reply_to_number;
    };
    await expect.poll(listed).toBe(2);
    await forum.as.mia.delete(`/api/posts/${one.posts[2]}`);
    await expect.poll(listed).toBeNull();
  });

  test('survives edits of the post, and a move, deletion and restoration of the discussion', async () => {
    const one = await started('Staying');
    const { id } = await answered('mia', one, one.posts[2]!);
    const kept = async () =>
      expect((await linksOf(one)).slice(1)).toEqual([
        [null, 1],
        [null, 0],
        [2, 0],
      ]);
    await forum.as.mia.put(`/api/posts/${id}`, { content: 'Other words' });
    await forum.as.bob.put(`/api/posts/${one.posts[2]}`, { content: 'Other words, too' });
    await kept();
    expectStatus(await forum.as.mia.put(`/api/discussions/${one.id}`, { category_id: 'help' }), 200);
    await kept();
    await forum.as.mia.delete(`/api/discussions/${one.id}`);
    await forum.as.mia.post(`/api/discussions/${one.id}/restore`);
    await kept();
  });

  test('is removed with what is deleted from the database, and nothing else is', async () => {
    const one = await started('Erased by hand');
    await answered('mia', one, one.posts[2]!);
    const { data } = forum.app.app;
    const left = () =>
      data.all(sql`select number, reply_to_number from post where discussion_id = ${one.id} order by number`);
    const found: unknown[] = [];
    const undone = data.transaction(async () => {
      await data.all(sql`delete from post where id = ${one.posts[2]}`);
      found.push(await left());
      await data.all(sql`delete from discussion where id = ${one.id}`);
      found.push(await left());
      throw new Error('not for good');
    });
    await expect(undone).rejects.toThrow('not for good');
    expect(found).toEqual([[1, 3, 4].map((number) => ({ number, reply_to_number: null })), []]);
    expect((await linksOf(one)).at(-1)).toEqual([2, 0]);
  });
});

describe('a page of a discussion', () => {
  test('links from a reply to what it answers, and from there to its replies', async () => {
    const one = await started('On the page');
    await answered('mia', one, one.posts[2]!);
    const [second, fourth] = [await shown(one, 2), await shown(one, 4)];
    expect([headOf(fourth), headOf(second), footOf(fourth)]).toEqual(['in reply to #2 by bob', '', '']);
    expect(fourth).toContain(`<a href="/d/${one.number}/2#post-2">`);
    expect(footOf(second)).toMatch(/^1 reply #4 mia /);
    expect(second).toContain(`<a href="/d/${one.number}/4#post-4">`);
    for (const plain of [await shown(one, 1), await shown(one, 3)]) expect(plain).not.toMatch(/post-(to|replies)/);
  });

  test('is refreshed for guests and members after a reply, an edit and a deletion', async () => {
    const one = await started('Anew');
    for (const client of [forum.guest, forum.as.ada]) expect(footOf(await shown(one, 2, client))).toBe('');
    const { id } = await answered('mia', one, one.posts[2]!);
    for (const client of [forum.guest, forum.as.ada]) expect(footOf(await shown(one, 2, client))).toMatch(/^1 reply /);
    await answered('mia', one, one.posts[2]!);
    for (const client of [forum.guest, forum.as.ada])
      expect(footOf(await shown(one, 2, client))).toMatch(/^2 replies #4 mia .* #5 mia /);
    await forum.as.mia.delete(`/api/posts/${id}`);
    for (const client of [forum.guest, forum.as.ada])
      expect(footOf(await shown(one, 2, client))).toMatch(/^1 reply #5 mia /);
  });

  test('lists the first twenty replies to a post, and how many more there are', async () => {
    const one = await started('Popular');
    for (let at = 0; at < 23; at++) await answered('mia', one, one.posts[2]!);
    const foot = footOf(await shown(one, 2));
    expect(foot).toMatch(/^23 replies #4 mia .* #23 mia .* and 3 more$/);
    expect(foot).not.toContain('#24');
    expect((await postsOf(one))[1]).toMatchObject({
      reply_count: 23,
      replies: expect.objectContaining({ length: 20 }),
    });
  });

  test('takes as many statements with reply links as without, and so does the API', async () => {
    const [without, one] = [await started('Without links', 19), await started('With links', 3)];
    for (let at = 0; at < 16; at++) await answered('mia', one, one.posts[2 + (at % 3)]!);
    let edits = 0;
    const cost = (path: string) =>
      leastOf(async () => {
        // Drop what is cached.
        await forum.as.mia.put(`/api/posts/${path.includes('without') ? without.posts[3] : one.posts[3]}`, {
          content: `Changed ${++edits}`,
        });
        return forum.app.statements(() => forum.as.ada.get(path));
      });
    expect(await cost(`/d/${one.number}-with-links`)).toBe(await cost(`/d/${without.number}-without-links`));
    expect(await cost(`/api/discussions/${one.number}/posts?with`)).toBe(
      await cost(`/api/discussions/${without.number}/posts?without`),
    );
  });
});

test('the author of the answered post is notified once, unless they reply to themselves', async () => {
  const one = await started('Notified');
  await forum.as.bob.post('/api/notifications/mark-read');
  await answered('bob', one, one.posts[2]!);
  const { id } = await answered('mia', one, one.posts[3]!);
  const unread = async () => (await forum.as.bob.get('/api/notifications?unread=true')).body.notifications;
  await expect.poll(unread).toMatchObject([{ type: 'reply', post_id: id, actor: { username: 'mia' } }]);
});

test('those who may see a restricted category see its reply links, and others nothing', async () => {
  const categories = forum.app.app.service(Categories);
  const { id } = await categories.save({
    name: 'Crew only',
    view: 'members',
    create: 'members',
    reply: 'members',
  } as unknown as Category);
  const one = await started('In the crew', 2, id);
  await answered('mia', one, one.posts[2]!);
  expect((await linksOf(one, forum.as.ada)).at(-1)).toEqual([2, 0]);
  expect((await forum.guest.get(`/api/discussions/${one.number}/posts`)).status).toBe(404);
});
