import { beforeAll, describe, expect, test } from 'vitest';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { leastOf, miscounted } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';
import { movesIn } from './moves.ts';

const forum = useForum();
const { talk, move, merge, shown, leads } = movesIn(forum);

/** The id of a category that moderators do not see. */
let closed: string;
beforeAll(async () => {
  closed = (await forum.app.app.service(Categories).save({ name: 'Owners', view: ['admin'], create: ['admin'] })).id;
});

const numbersIn = ({ posts }: any): readonly (readonly [number, string])[] =>
  posts.map(({ number, content, moved_post_id: moved }: any) => [number, content ?? (moved === undefined ? '-' : '→')]);

describe('splitting a discussion', () => {
  test('moves replies to a new one, where they keep their ids and their order', async () => {
    const from = await talk('Ropes', ['bob', 'ada', 'bob', 'mia']);
    const [, second, third] = from.replies;
    const answer = await move(from, {
      post_ids: [third.id, second.id],
      title: ' Knots  of all kinds ',
      category_id: 'help',
      reason: 'Another subject',
    });
    const { discussion, posts } = expectStatus(answer, 200).body;
    expect(posts).toEqual([
      { id: second.id, number: 1 },
      { id: third.id, number: 2 },
    ]);
    expect(discussion).toMatchObject({
      title: 'Knots of all kinds',
      slug: 'knots-of-all-kinds',
      reply_count: 1,
      participant_count: 2,
      last_post_number: 2,
      author: { username: 'ada' },
      last_author: { username: 'bob' },
      category: { slug: 'help' },
      content: second.content,
      created_at: second.created_at,
      last_post_at: third.created_at,
    });
    const there = await shown(discussion);
    expect(there.posts.map(({ id, number, is_first, content }: any) => [id, number, is_first, content])).toEqual([
      [second.id, 1, true, second.content],
      [third.id, 2, false, third.content],
    ]);
    const { posts: here, discussion: left } = await shown(from);
    expect(left).toMatchObject({ reply_count: 2, participant_count: 3, last_post_number: 5 });
    expect(here.slice(2, 4)).toEqual([
      { id: expect.any(String), number: 3, is_deleted: true, moved_post_id: second.id },
      { id: expect.any(String), number: 4, is_deleted: true, moved_post_id: third.id },
    ]);
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('updates the last activity of a discussion that loses its last post', async () => {
    const from = await talk('Anchors', ['bob', 'mia']);
    const { discussion } = (
      await move(from, { post_ids: [from.replies[1].id], title: 'Chains', category_id: 'general' })
    ).body;
    expect(discussion).toMatchObject({ author: { username: 'mia' }, reply_count: 0 });
    expect((await shown(from)).discussion).toMatchObject({
      last_author: { username: 'bob' },
      last_post_at: from.replies[0].created_at,
      last_post_number: 3,
      participant_count: 2,
    });
    expect(await forum.reply('bob', from.id, 'Next')).toMatchObject({ number: 4 });
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('can be undone: posts return at the end, and old URLs lead there', async () => {
    const from = await talk('Masts', ['bob', 'bob']);
    const [first] = from.replies;
    const { discussion } = (await move(from, { post_ids: [first.id], title: 'Sails', category_id: 'general' })).body;
    await merge(discussion, from);
    expect(numbersIn(await shown(from))).toEqual([
      [1, 'About Masts'],
      [2, '→'],
      [3, 'Masts, post 3'],
      [4, 'Masts, post 2'],
    ]);
    expect(await leads(`/d/${from.number}/2`)).toBe(`/d/${from.number}/4#post-4`);
    expect(await leads(`/d/${discussion.number}`)).toBe(`/d/${from.number}/4#post-4`);
    expect(await miscounted(forum.app)).toEqual([]);
  });
});

describe('moving posts to an existing discussion', () => {
  test('appends them in their order', async () => {
    const [from, to] = [await talk('From', ['bob', 'ada', 'bob']), await talk('To', ['mia'], 'help')];
    const ids = [from.replies[2].id, from.replies[0].id];
    const { body } = expectStatus(await move(from, { post_ids: ids, discussion_id: String(to.number) }), 200);
    expect(body).toMatchObject({
      discussion: { id: to.id, reply_count: 3, participant_count: 3 },
      posts: [
        { id: from.replies[0].id, number: 3 },
        { id: from.replies[2].id, number: 4 },
      ],
    });
    expect(numbersIn(await shown(to))).toEqual([
      [1, 'About To'],
      [2, 'To, post 2'],
      [3, 'From, post 2'],
      [4, 'From, post 4'],
    ]);
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('does not replace its last activity by that of older posts', async () => {
    const from = await talk('Long ago', ['bob']);
    forum.app.clock.advance(60_000);
    const to = await talk('Lately', ['mia']);
    await move(from, { post_ids: [from.replies[0].id], discussion_id: to.id });
    const lately = { last_author: { username: 'mia' }, last_post_at: to.replies[0].created_at };
    expect((await shown(to)).discussion).toMatchObject({ ...lately, last_post_number: 3 });
    await forum.as.mia.delete(`/api/posts/${to.replies[0].id}`);
    expect((await shown(to)).discussion).toMatchObject({ last_author: { username: 'ada' }, reply_count: 1 });
    await forum.as.mia.post(`/api/posts/${to.replies[0].id}/restore`);
    expect((await shown(to)).discussion).toMatchObject(lately);
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('keeps reply links between posts that are both there', async () => {
    const from = await talk('Questions', ['bob']);
    const answer = async (to: string, content: string) =>
      expectStatus(await forum.as.ada.post('/api/posts', { discussion_id: from.id, content, reply_to_id: to }), 201)
        .body.post;
    const [question] = from.replies;
    const goes = await answer(question.id, 'Goes along');
    const stays = await answer(question.id, 'Stays');
    const alone = await answer(stays.id, 'Goes alone');
    const to = await talk('Answers', []);
    await move(from, { post_ids: [question.id, goes.id, alone.id], discussion_id: to.id });
    const there = (await shown(to)).posts;
    expect(there.map(({ reply_to_number: number, reply_count: count }: any) => [number, count])).toEqual([
      [null, 0],
      [null, 1],
      [2, 0],
      [null, 0],
    ]);
    expect((await shown(from)).posts[3]).toMatchObject({ content: 'Stays', reply_to_number: null, reply_count: 0 });
    const split = (await move(to, { post_ids: [question.id, goes.id], title: 'Anew', category_id: 'general' })).body;
    // A reply to the first post has no reply link.
    expect((await shown(split.discussion)).posts[1]).toMatchObject({ content: 'Goes along', reply_to_number: null });
  });

  test('keeps the history of the posts, and their own URL', async () => {
    const [from, to] = [await talk('Before', ['bob']), await talk('After', [])];
    const [{ id }] = from.replies;
    await forum.as.bob.put(`/api/posts/${id}`, { content: 'Otherwise' });
    await move(from, { post_ids: [id], discussion_id: to.id });
    expect((await forum.guest.get(`/api/posts/${id}`)).body.post).toMatchObject({
      discussion_id: to.id,
      number: 2,
      content: 'Otherwise',
    });
    expect((await forum.as.bob.get(`/api/posts/${id}/revisions`)).body.revisions[0].content).toBe('Before, post 2');
    const source = await forum.guest.get(`/p/${id}`);
    expect([source.status, source.text.includes('too long')]).toEqual([200, false]);
    expect((await forum.as.bob.put(`/api/posts/${id}`, { content: 'And again' })).status).toBe(200);
  });
});

describe('merging discussions', () => {
  test('moves all posts, and the old URL redirects to them', async () => {
    const [from, to] = [await talk('Second', ['bob', 'mia'], 'help'), await talk('First', ['mia'])];
    const { body } = expectStatus(await merge(from, to), 200);
    expect(body).toMatchObject({
      discussion: { id: to.id, reply_count: 4, participant_count: 3 },
      posts: [{ id: from.postId, number: 3 }, { number: 4 }, { number: 5 }],
    });
    for (const name of ['guest', 'mia'] as const) {
      const client = name === 'guest' ? forum.guest : forum.as[name];
      expect((await client.get(`/api/discussions/${from.id}`)).status).toBe(404);
      expect((await client.get('/api/discussions?limit=100')).body.discussions).not.toContainEqual(
        expect.objectContaining({ id: from.id }),
      );
    }
    expect(await leads(`/d/${from.number}`)).toBe(`/d/${to.number}/3#post-3`);
    expect(await leads(`/d/${from.number}-second?page=1`)).toBe(`/d/${to.number}/3#post-3`);
    expect(await leads(`/d/${from.number}/2`)).toBe(`/d/${to.number}/4#post-4`);
    expect(await leads(`/d/${from.number}/99`)).toBe(`/d/${to.number}/3#post-3`);
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('is final: the old discussion can be neither restored nor written to', async () => {
    const [from, to] = [await talk('Gone', ['bob']), await talk('There', [])];
    await merge(from, to);
    expect((await forum.as.mia.post(`/api/discussions/${from.id}/restore`)).status).toBe(404);
    expect((await forum.as.mia.post('/api/posts', { discussion_id: from.id, content: 'x' })).status).toBe(404);
    expect((await merge(from, to)).status).toBe(404);
    expect((await merge(to, from)).status).toBe(404);
  });

  test('moves deleted posts too, which moderators can still restore', async () => {
    const [from, to] = [await talk('Torn', ['bob', 'bob']), await talk('Whole', [])];
    await forum.as.mia.delete(`/api/posts/${from.replies[0].id}`);
    const { body } = await merge(from, to);
    expect(body.posts.map(({ number }: any) => number)).toEqual([2, 4]);
    expect((await shown(to)).posts[2]).toEqual({ id: from.replies[0].id, number: 3, is_deleted: true });
    expect((await forum.as.mia.post(`/api/posts/${from.replies[0].id}/restore`)).status).toBe(200);
    expect((await shown(to)).discussion).toMatchObject({ reply_count: 3 });
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('redirects further when the target is merged in turn', async () => {
    const [one, two, three] = [await talk('One', ['bob']), await talk('Two', []), await talk('Three', [])];
    await merge(one, two);
    await merge(two, three);
    expect(numbersIn(await shown(three))).toEqual([
      [1, 'About Three'],
      [2, 'About Two'],
      [3, 'About One'],
      [4, 'One, post 2'],
    ]);
    expect(await leads(`/d/${one.number}/2`)).toBe(`/d/${three.number}/4#post-4`);
    expect(await leads(`/d/${two.number}`)).toBe(`/d/${three.number}/2#post-2`);
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('keeps its old titles in the history of the first post', async () => {
    const [from, to] = [await talk('Its title', []), await talk('Another title', [])];
    await forum.as.ada.put(`/api/discussions/${from.id}`, { title: 'Its second title' });
    await merge(from, to);
    const { revisions } = (await forum.as.ada.get(`/api/posts/${from.postId}/revisions`)).body;
    expect(revisions.map(({ title }: any) => title)).toEqual(['Its second title', 'Its title']);
    const { text } = await forum.as.ada.get(`/p/${from.postId}/history`);
    expect(text).toContain('Its second title');
  });

  test('is refused for too many posts, with what to do instead', async () => {
    const to = await talk('Small', []);
    const { id } = forum.app.app
      .service(Categories)
      .all()
      .find(({ slug }) => slug === 'general')!;
    await forum.app.app.service(Importer).importDiscussions([
      {
        title: 'Huge',
        categoryId: id,
        authorId: forum.ids.bob,
        createdAt: new Date(0),
        posts: Array.from({ length: 1_001 }, () => ({
          authorId: forum.ids.bob,
          content: 'x',
          html: '<p>x</p>',
          createdAt: new Date(0),
        })),
      },
    ]);
    const { discussions } = (await forum.guest.get('/api/discussions?limit=100')).body;
    const huge = discussions.find(({ title }: any) => title === 'Huge');
    const refused = await merge(huge, to);
    expect([refused.status, refused.body.error]).toEqual([
      409,
      'This discussion has more than 1000 posts; move posts to the other one in batches until 1000 are left, then merge',
    ]);
    const last = (await forum.guest.get(`/api/discussions/${huge.id}?near=1001&limit=1`)).body.posts[0];
    await move(huge, { post_ids: [last.id], discussion_id: to.id });
    expect((await merge(huge, to)).body.posts).toHaveLength(1_000);
    expect(await miscounted(forum.app)).toEqual([]);
  });
});

describe('moving is refused', () => {
  const fresh = { title: 'New', category_id: 'general' };

  test('to members who are not moderators', async () => {
    const [from, to] = [await talk('Mine', ['ada']), await talk('Also mine', [])];
    const body = { post_ids: [from.replies[0].id], discussion_id: to.id };
    for (const name of ['ada', 'bob'] as const) {
      expect((await move(from, body, name)).status).toBe(403);
      expect((await merge(from, to, name)).status).toBe(403);
      expect((await forum.as[name].get(`/d/${from.number}/move`)).status).toBe(403);
    }
    expect((await forum.guest.post(`/api/discussions/${from.id}/merge`, { into: to.id })).status).toBe(401);
  });

  test('for posts that cannot move on their own, and then nothing moves', async () => {
    const [from, other] = [await talk('Whole', ['bob', 'bob']), await talk('Other', ['bob'])];
    const [{ id }, gone] = from.replies;
    await forum.as.mia.delete(`/api/posts/${gone.id}`);
    for (const wrong of [from.postId, gone.id, other.replies[0].id, 'none', forum.ids.ada]) {
      const { status, body } = await move(from, { post_ids: [id, wrong], ...fresh });
      expect([status, body.details[0].field]).toEqual([400, 'post_ids']);
    }
    for (const post_ids of [[], Array(201).fill(id)])
      expect((await move(from, { post_ids, ...fresh })).status).toBe(400);
    expect((await shown(from)).discussion.reply_count).toBe(1);
  });

  test('for the stub of a moved post, like any other use of it', async () => {
    const [from, to] = [await talk('Left', ['bob']), await talk('Come', [])];
    await move(from, { post_ids: [from.replies[0].id], discussion_id: to.id });
    const place = (await shown(from, 'mia')).posts[1];
    expect(place).toEqual({
      id: expect.any(String),
      number: 2,
      is_deleted: true,
      moved_post_id: from.replies[0].id,
    });
    for (const answer of [
      await move(from, { post_ids: [place.id], ...fresh }),
      await forum.as.mia.get(`/api/posts/${place.id}`),
      await forum.as.mia.post(`/api/posts/${place.id}/restore`),
      await forum.as.mia.put(`/api/posts/${place.id}`, { content: 'x' }),
      await forum.as.bob.post('/api/posts', { discussion_id: from.id, content: 'x', reply_to_id: '2' }),
    ])
      expect(answer.status).toBeOneOf([400, 404]);
  });

  test('without a destination, with two of them, and to the same discussion', async () => {
    const from = await talk('Here', ['bob']);
    const post_ids = [from.replies[0].id];
    for (const [body, field] of [
      [{}, 'discussion_id'],
      [{ title: 'New' }, 'discussion_id'],
      [{ discussion_id: from.id, ...fresh }, 'discussion_id'],
      [{ discussion_id: from.id }, 'discussion_id'],
      [{ title: ' ', category_id: 'general' }, 'title'],
      [{ title: 'New', category_id: 'none' }, 'category_id'],
    ] as const) {
      const answer = await move(from, { post_ids, ...body });
      expect([answer.status, answer.body.details[0].field]).toEqual([400, field]);
    }
    const itself = await merge(from, from);
    expect([itself.status, itself.body.details[0]]).toEqual([
      400,
      { field: 'into', message: 'is the discussion that the posts are already in' },
    ]);
  });

  test('to a destination that is deleted or hidden from the moderator, as if it did not exist', async () => {
    const from = await talk('Open', ['bob']);
    const [deleted, hidden] = [await talk('Deleted', []), await forum.start('root', 'Hidden', closed)];
    await forum.as.mia.delete(`/api/discussions/${deleted.id}`);
    const post_ids = [from.replies[0].id];
    const unknown = await move(from, { post_ids, discussion_id: '999999' });
    expect(unknown.status).toBe(404);
    for (const { id } of [deleted, hidden]) {
      const answer = await move(from, { post_ids, discussion_id: id });
      expect([answer.status, answer.body.error]).toEqual([404, unknown.body.error]);
      expect((await merge(from, { id })).status).toBe(404);
    }
    expect((await move(from, { post_ids, title: 'New', category_id: closed })).status).toBe(400);
    expect((await move(hidden, { post_ids, ...fresh })).status).toBe(404);
    expect((await move(deleted, { post_ids: [deleted.postId], ...fresh })).status).toBe(409);
  });

  test('but not to moderators for a locked discussion', async () => {
    const [from, to] = [await talk('Locked', ['bob']), await talk('Locked, too', [])];
    for (const { id } of [from, to]) await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true });
    expectStatus(await move(from, { post_ids: [from.replies[0].id], discussion_id: to.id }), 200);
    expect((await shown(to)).discussion).toMatchObject({ reply_count: 1, is_locked: true });
  });
});

describe('the new place of a moved post', () => {
  test('is revealed only to those who may see it', async () => {
    const [from, to] = [await talk('In the open', ['bob', 'bob']), await forum.start('mia', 'Among staff', 'staff')];
    const [{ id }] = from.replies;
    await move(from, { post_ids: [id], discussion_id: to.id });
    const place = async (name?: 'ada' | 'mia') => (await shown(from, name)).posts[1].moved_post_id;
    expect([await place(), await place('ada'), await place('mia')]).toEqual([null, null, id]);
    const page = async (name?: 'ada' | 'mia') =>
      (await (name ? forum.as[name] : forum.guest).get(`/d/${from.number}-in-the-open`)).text;
    const link = `href="/d/${from.number}/2"`;
    for (const name of [undefined, 'ada'] as const) {
      expect(await page(name)).toContain('Post 2 was moved to another discussion.');
      expect(await page(name)).not.toContain(link);
      expect(await leads(`/d/${from.number}/2`, name)).toBe(`/d/${from.number}-in-the-open#post-2`);
    }
    expect(await page('mia')).toContain(link);
    expect(await leads(`/d/${from.number}/2`, 'mia')).toBe(`/d/${to.number}/2#post-2`);
    expect((await forum.as.bob.get(`/api/posts/${id}`)).status).toBe(404);
    // Cached pages follow the discussion that has the post now.
    await forum.as.mia.put(`/api/discussions/${to.id}`, { category_id: 'help' });
    expect([await place(), (await page()).includes(link)]).toEqual([id, true]);
    await forum.as.mia.delete(`/api/discussions/${to.id}`);
    expect([await place(), (await page()).includes(link), await place('mia')]).toEqual([null, false, id]);
  });

  test('is where a merged discussion redirects, only for those who may see it', async () => {
    const [from, to] = [await talk('Merged', ['bob']), await forum.start('mia', 'Unseen', 'staff')];
    await merge(from, to);
    expect(await leads(`/d/${from.number}`)).toBe(404);
    expect(await leads(`/d/${from.number}/2`, 'bob')).toBe(404);
    expect(await leads(`/d/${from.number}/2`, 'mia')).toBe(`/d/${to.number}/3#post-3`);
  });

  test('is found by its old URL, even if the old discussion is deleted', async () => {
    const [from, to] = [await talk('Bad company', ['bob']), await talk('Good company', [])];
    await move(from, { post_ids: [from.replies[0].id], discussion_id: to.id });
    await forum.as.mia.delete(`/api/discussions/${from.id}`);
    expect(await leads(`/d/${from.number}/2`)).toBe(`/d/${to.number}/2#post-2`);
    expect(await leads(`/d/${from.number}`)).toBe(404);
  });
});

describe('numbers and counters stay right', () => {
  const gapless = async (discussion: { readonly id: string }): Promise<void> => {
    const { posts } = await shown(discussion);
    expect(posts.map(({ number }: any) => number)).toEqual(posts.map((_: any, at: number) => at + 1));
  };

  test('while members reply where posts leave and where they arrive', async () => {
    const [from, to] = [await talk('Busy', Array(6).fill('bob')), await talk('Busier', ['ada'])];
    const answers = await Promise.all([
      ...from.replies.map(({ id }) => move(from, { post_ids: [id], discussion_id: to.id })),
      ...[from, to, from, to, from, to].map(({ id }, at) =>
        forum.as[at % 2 ? 'ada' : 'bob'].post('/api/posts', { discussion_id: id, content: `Meanwhile ${at}` }),
      ),
    ]);
    for (const { status } of answers) expect(status).toBeOneOf([200, 201]);
    for (const one of [from, to]) await gapless(one);
    expect((await shown(to)).discussion).toMatchObject({ reply_count: 10, last_post_number: 11 });
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('while posts move both ways, and two discussions are merged into each other', async () => {
    for (let round = 0; round < 5; round++) {
      const [one, two] = [await talk('One way', ['bob', 'ada']), await talk('The other way', ['mia', 'bob'], 'help')];
      const crossing = await Promise.all([
        move(one, { post_ids: [one.replies[0].id], discussion_id: two.id }),
        move(two, { post_ids: [two.replies[0].id], discussion_id: one.id }),
      ]);
      expect(crossing.map(({ status }) => status)).toEqual([200, 200]);
      for (const each of [one, two]) await gapless(each);
      const merged = await Promise.all([merge(one, two), merge(two, one)]);
      const statuses = merged.map(({ status }) => status).toSorted((a, b) => a - b);
      // The second one finds a discussion gone, before or after waiting for it.
      expect(statuses[0]).toBe(200);
      expect(statuses[1]).toBeOneOf([404, 409]);
    }
    expect(await miscounted(forum.app)).toEqual([]);
    expect(forum.app.lines.filter(({ message }) => message.includes('rolled back a transaction'))).toEqual([]);
  });

  test('while moved posts are edited and deleted, and their discussion changes category', async () => {
    for (let round = 0; round < 5; round++) {
      const [from, to] = [await talk('Handled', ['bob', 'bob', 'ada']), await talk('Handled elsewhere', [])];
      const [first, second, third] = from.replies;
      const answers = await Promise.all([
        move(from, { post_ids: [first.id, second.id], discussion_id: to.id }),
        forum.as.bob.put(`/api/posts/${first.id}`, { content: 'Edited' }),
        forum.as.mia.delete(`/api/posts/${second.id}`),
        forum.as.mia.delete(`/api/posts/${third.id}`),
        forum.as.mia.put(`/api/discussions/${from.id}`, { category_id: 'help' }),
      ]);
      for (const { status } of answers) expect(status).toBeOneOf([200, 400, 404, 409]);
      for (const one of [from, to]) await gapless(one);
    }
    expect(await miscounted(forum.app)).toEqual([]);
  });
});

describe('the cost of a move', () => {
  /** Posts of one move; `leastOf` measures six times at most. */
  const [FEW, MANY] = [2, 10];

  test('is as many statements for many posts as for two, and a page without moved posts takes none more', async () => {
    await forum.app.app.jobs.stop();
    const from = await talk(
      'Counted',
      Array.from({ length: 6 * (FEW + MANY) }, (_, at) => (at % 2 ? 'ada' : 'bob')),
    );
    const to = await talk('Counting', ['mia']);
    const ids = from.replies.map(({ id }) => id);
    const cost = (posts: number) => (): Promise<number> => {
      const body = { post_ids: ids.splice(0, posts), discussion_id: to.id };
      return forum.app.statements(async () => expectStatus(await move(from, body), 200));
    };
    const few = await leastOf(cost(FEW));
    expect(await leastOf(cost(MANY))).toBe(few);
    expect(few).toBeLessThanOrEqual(30);
    const read = ({ id }: { readonly id: string }): Promise<number> =>
      leastOf(async () => {
        await forum.as.mia.put(`/api/discussions/${id}`, { title: `Read ${Math.random()}` });
        return forum.app.statements(() => forum.guest.get(`/api/discussions/${id}?limit=100`));
      });
    const plain = await read(await talk('Plain', ['bob', 'bob']));
    expect([await read(from), await read(to)]).toEqual([plain + 1, plain]);
  });
});
