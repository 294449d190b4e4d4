import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { definePlugin, HttpError } from 'parley-forum';
import {
  Categories,
  Discussions,
  Importer,
  postProjections,
  type ProjectedPost,
} from 'parley-forum/plugins/discussions';
import { expectStatus, install, useForum } from './forum.ts';

const forum = useForum();
const seen: { posts: ProjectedPost[][]; discussions: object[]; categories: string[][] } = {
  posts: [],
  discussions: [],
  categories: [],
};
let refuse = false;

const projection = definePlugin({
  id: 'test-projection',
  setup(_services, plugin) {
    plugin.extend(postProjections, {
      posts: async (_em, posts) => {
        if (refuse) throw new HttpError(503, 'No room');
        seen.posts.push([...posts]);
      },
      discussion: async (_em, discussion) => void seen.discussions.push(discussion),
      category: async (_em, from, to) => void seen.categories.push([from, to]),
    });
  },
});
const category = (slug: string) =>
  forum.app.app
    .service(Categories)
    .all()
    .find((one) => one.slug === slug)!;
const importOne = (posts: number) => {
  const post = (number: number) => ({
    authorId: forum.ids.ada,
    content: `Old ${number}`,
    html: `<p>Old ${number}</p>`,
    createdAt: new Date(Date.UTC(2020, 0, 1, 0, 0, number)),
  });
  const source = {
    title: 'Brought along',
    categoryId: category('general').id,
    authorId: forum.ids.ada,
    createdAt: new Date(Date.UTC(2020, 0, 1)),
  };
  return forum.app.app
    .service(Importer)
    .importDiscussions([{ ...source, posts: Array.from({ length: posts }, (_, at) => post(at + 1)) }]);
};

describe('without a projection', () => {
  test('every post can be read in order, and from a checkpoint on those that have changed since', async () => {
    const discussions = forum.app.app.service(Discussions);
    const { id, postId } = await forum.start('ada', 'First');
    const reply = await forum.reply('bob', id, 'A *reply*');
    const all = await discussions.projectedPosts(undefined, 10);
    expect(all.map((post) => post.id)).toEqual([postId, reply.id].sort((a, b) => (a < b ? -1 : 1)));
    const common = {
      discussionId: id,
      categoryId: category('general').id,
      title: 'First',
      removed: false,
      visible: true,
    };
    expect(all.find((post) => post.id === reply.id)).toMatchObject({
      ...common,
      number: 2,
      authorId: forum.ids.bob,
      content: 'A *reply*',
      html: expect.stringContaining('<em>reply</em>'),
    });
    expect((await discussions.projectedPosts(all[0]!.id, 10)).map((post) => post.id)).toEqual([all[1]!.id]);

    forum.app.clock.advance(120_000);
    const checkpoint = await discussions.checkpoint();
    expect(await discussions.projectedPosts(undefined, 10, checkpoint)).toEqual([]);
    await importOne(2);
    expect((await discussions.projectedPosts(undefined, 10, checkpoint)).map((post) => post.title)).toEqual([
      'Brought along',
      'Brought along',
    ]);
    expectStatus(await forum.as.bob.delete(`/api/posts/${reply.id}`), 200);
    expect(
      (await discussions.projectedPosts(undefined, 10, checkpoint)).find((post) => post.id === reply.id),
    ).toMatchObject({
      removed: true,
      visible: false,
    });
  });
});

describe('a projection that was disabled', () => {
  const batches: string[][] = [];
  const plugin = (fail: () => boolean) =>
    definePlugin({
      id: 'test-absent',
      needs: { discussions: Discussions },
      setup: ({ discussions }, handle) =>
        handle.backfill(
          discussions.postBackfill({
            posts: async (_em, posts) => {
              if (fail()) throw new Error('interrupted');
              batches.push(posts.map(({ id }) => id));
            },
          }),
        ),
    });

  test('receives everything written meanwhile in batches, and resumes where it was interrupted', async () => {
    let interrupted = false;
    await install(
      forum.app,
      plugin(() => interrupted),
    );
    const { kernel } = forum.app.app;
    forum.app.clock.advance(120_000);
    await kernel.disable('test-absent');
    forum.app.clock.advance(120_000);
    await importOne(1_200);
    await kernel.enable('test-absent');
    await expect.poll(() => batches.length, { timeout: 20_000 }).toBeGreaterThan(0);
    interrupted = true;
    const before = batches.length;
    await kernel.disable('test-absent');
    interrupted = false;
    await kernel.enable('test-absent');
    await expect.poll(() => new Set(batches.flat()).size, { timeout: 20_000 }).toBe(1_200);
    expect(batches.slice(0, before).map(({ length }) => length)).toEqual([500, 500, 200].slice(0, before));
  });
});

describe('a projection', () => {
  beforeAll(() => install(forum.app, projection));
  beforeEach(() => {
    refuse = false;
    Object.assign(seen, { posts: [], discussions: [], categories: [] });
  });

  test('receives new discussions, replies and edits', async () => {
    const { id, postId } = await forum.start('ada', 'Seen');
    const reply = await forum.reply('bob', id, 'One');
    expectStatus(await forum.as.bob.put(`/api/posts/${reply.id}`, { content: 'Two' }), 200);
    const common = {
      discussionId: id,
      categoryId: category('general').id,
      title: 'Seen',
      removed: false,
      visible: true,
    };
    expect(seen.posts).toMatchObject([
      [
        {
          ...common,
          id: postId,
          number: 1,
          authorId: forum.ids.ada,
          content: 'About Seen',
          html: expect.stringContaining('>About Seen</p>'),
          createdAt: new Date(forum.app.clock.now()),
        },
      ],
      [{ ...common, id: reply.id, number: 2, authorId: forum.ids.bob, content: 'One' }],
      [
        {
          ...common,
          id: reply.id,
          number: 2,
          authorId: forum.ids.bob,
          content: 'Two',
          html: expect.stringContaining('>Two</p>'),
        },
      ],
    ]);
    expect(seen.discussions).toEqual([]);
  });

  test('learns whether a post is deleted itself or with its discussion', async () => {
    const { id, postId } = await forum.start('ada', 'Coming and going');
    const reply = await forum.reply('bob', id, 'One');
    seen.posts.length = 0;
    const steps = [
      ['delete', `/api/posts/${reply.id}`],
      ['delete', `/api/posts/${postId}`],
      ['post', `/api/posts/${reply.id}/restore`],
      ['post', `/api/discussions/${id}/restore`],
    ] as const;
    for (const [method, path] of steps) expectStatus(await forum.as.mia[method](path), 200);
    expect(seen.posts).toMatchObject([
      [{ id: reply.id, removed: true, visible: false }],
      [{ id: reply.id, removed: false, visible: false }],
    ]);
    const whole = { id, title: 'Coming and going', categoryId: category('general').id };
    expect(seen.discussions).toEqual([
      { ...whole, visible: false },
      { ...whole, visible: true },
    ]);
  });

  test('learns of new titles and categories, but not of pins and locks', async () => {
    const { id } = await forum.start('ada', 'Old name');
    expectStatus(
      await forum.as.mia.put(`/api/discussions/${id}`, { is_pinned: true, is_locked: true, title: 'Old name' }),
      200,
    );
    expect(seen.discussions).toEqual([]);
    expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { title: 'New name', category_id: 'help' }), 200);
    expect(seen.discussions).toEqual([{ id, title: 'New name', categoryId: category('help').id, visible: true }]);
  });

  test('learns where the discussions of a deleted category went, as does a later backfill', async () => {
    const categories = forum.app.app.service(Categories);
    const [from, to] = [(await categories.save({ name: 'Short-lived' })).id, category('general').id];
    const { id } = await forum.start('ada', 'Homeless', from);
    forum.app.clock.advance(120_000);
    const checkpoint = await forum.app.app.service(Discussions).checkpoint();
    forum.app.clock.advance(120_000);
    await categories.remove(from, to);
    expect(seen.categories).toEqual([[from, to]]);
    expect(await forum.app.app.service(Discussions).projectedPosts(undefined, 10, checkpoint)).toMatchObject([
      { discussionId: id, categoryId: to },
    ]);
  });

  test('receives a batch of an import in one call', async () => {
    await importOne(300);
    expect(seen.posts.map((posts) => posts.length)).toEqual([300]);
    expect(seen.posts[0]![299]).toMatchObject({
      number: 300,
      title: 'Brought along',
      content: 'Old 300',
      removed: false,
      visible: true,
    });
  });

  test('that throws rejects the change', async () => {
    const { id } = await forum.start('ada', 'Kept as it is');
    refuse = true;
    expect((await forum.as.bob.post('/api/posts', { discussion_id: id, content: 'Lost' })).status).toBe(503);
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.count).toBe(1);
  });
});

describe('moved posts', () => {
  beforeAll(() => void (refuse = false));
  const move = async (id: string, how: string, body: object) =>
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/${how}`, body), 200);

  test('reach a projection with their new and old places, and a merged discussion as deleted', async () => {
    const [from, to] = [await forum.start('ada', 'From'), await forum.start('ada', 'To')];
    const { id } = await forum.reply('bob', from.id, 'Moves');
    seen.posts.length = seen.discussions.length = 0;
    await move(from.id, 'move-posts', { post_ids: [id], discussion_id: to.id });
    const moved = { id, discussionId: to.id, number: 2, title: 'To', content: 'Moves', visible: true };
    expect(seen.posts).toMatchObject([[{ ...moved, left: { discussionId: from.id, whole: false } }]]);
    expect(seen.discussions).toEqual([]);
    await move(from.id, 'merge', { into: to.id });
    expect(seen.posts[1]).toMatchObject([{ id: from.postId, number: 3, left: { discussionId: from.id, whole: true } }]);
    expect(seen.discussions).toMatchObject([{ id: from.id, visible: false }]);
    const all = await forum.app.app.service(Discussions).projectedPosts(undefined, 500);
    expect(all.filter(({ discussionId }) => discussionId === from.id)).toEqual([]);
  });

  test('stay where they are when a projection rejects them', async () => {
    const [from, to] = [await forum.start('ada', 'Refused'), await forum.start('ada', 'Not reached')];
    const { id } = await forum.reply('bob', from.id, 'Stays');
    refuse = true;
    const answer = await forum.as.mia.post(`/api/discussions/${from.id}/merge`, { into: to.id });
    refuse = false;
    expect(answer.status).toBe(503);
    expect((await forum.guest.get(`/api/posts/${id}`)).body.post).toMatchObject({ discussion_id: from.id, number: 2 });
  });
});

test('a batch in search of changes scans a limited number of posts, and returns where to continue', async () => {
  const discussions = forum.app.app.service(Discussions);
  await importOne(10_100);
  forum.app.clock.advance(120_000);
  const checkpoint = await discussions.checkpoint();
  const createdAt = new Date(Date.UTC(2021, 0, 1));
  const source = { title: 'Since', categoryId: category('general').id, authorId: forum.ids.ada, createdAt };
  const posts = [{ authorId: forum.ids.ada, content: 'New', html: '<p>New</p>', createdAt }];
  await forum.app.app.service(Importer).importDiscussions(Array.from({ length: 1_001 }, () => ({ ...source, posts })));
  const passed: string[] = [];
  const backfill = discussions.postBackfill({
    posts: async (_em, batch) => void passed.push(...batch.map(({ title }) => title)),
  });
  let after = await backfill.run(checkpoint, undefined);
  expect(passed).toEqual([]);
  while (after !== undefined) after = await backfill.run(checkpoint, after);
  expect(passed).toEqual(Array.from({ length: 1_001 }, () => 'Since'));
});
