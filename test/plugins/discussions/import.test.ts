import { expect, test } from 'vitest';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { useForum } from './forum.ts';

const forum = useForum();

test('an import writes everything with its counters, in batches, and raises no actions', async () => {
  const { kernel } = forum.app.app;
  const general = kernel
    .service(Categories)!
    .all()
    .find(({ slug }) => slug === 'general')!;
  const { ada, bob } = forum.ids;
  const made = (index: number) => ({
    title: `Old times ${index}`,
    categoryId: general.id,
    authorId: ada,
    createdAt: new Date(Date.UTC(2020, 0, 1, 0, index)),
    views: index,
    pinned: index === 3,
    locked: index === 4,
    posts: Array.from({ length: 10 }, (_, post) => ({
      authorId: post % 3 ? bob : ada,
      content: `Post ${post}`,
      html: `<p>Post ${post}</p>`,
      createdAt: new Date(Date.UTC(2020, 0, 1, 0, index, post)),
    })),
  });
  const steps: number[] = [];
  let total: unknown;
  const cost = await forum.app.statements(async () => {
    total = await kernel.service(Importer)!.importDiscussions(
      Array.from({ length: 1_200 }, (_, index) => made(index)),
      { progress: (discussions) => void steps.push(discussions) },
    );
  });
  expect(total).toEqual({ discussions: 1_200, posts: 12_000 });
  // Batches are smaller with the embedded database, so that the process can serve other requests in between.
  const [batch, most] = forum.app.app.data.embedded ? [25, 1_000] : [500, 40];
  expect(steps).toEqual([...Array(Math.floor(1_199 / batch)).keys()].map((at) => (at + 1) * batch).concat(1_200));
  expect(cost).toBeLessThan(most);
  expect(forum.happened).toEqual([]);

  const [latest] = (await forum.guest.get('/api/discussions?limit=1')).body.discussions;
  expect(latest).toMatchObject({
    title: 'Old times 1199',
    number: 1_200,
    reply_count: 9,
    participant_count: 2,
    view_count: 1_199,
    last_post_at: '2020-01-01T19:59:09.000Z',
    last_author: { username: 'ada' },
  });
  expect((await forum.guest.get('/api/discussions?category_id=general&limit=1')).body.discussions[0]).toMatchObject({
    title: 'Old times 3',
    is_pinned: true,
  });
  expect((await forum.guest.get('/api/categories/general')).body.category).toMatchObject({
    discussion_count: 1_200,
    post_count: 12_000,
  });
  expect((await forum.guest.get(`/api/users/${ada}`)).body.user).toMatchObject({
    discussion_count: 1_200,
    post_count: 4_800,
  });
  expect((await forum.guest.get(`/api/users/${bob}`)).body.user).toMatchObject({
    discussion_count: 0,
    post_count: 7_200,
  });
  expect((await forum.reply('bob', latest.id, 'Now')).number).toBe(11);
});

test('an import is refused if the author of a discussion did not write its first post', async () => {
  const { kernel } = forum.app.app;
  const [general] = kernel.service(Categories)!.all();
  const createdAt = new Date(Date.UTC(2020, 0, 1));
  const post = { authorId: forum.ids.bob, content: 'Post', html: '<p>Post</p>', createdAt };
  const source = { title: 'Whose is it', categoryId: general!.id, authorId: forum.ids.ada, createdAt, posts: [post] };
  await expect(kernel.service(Importer)!.importDiscussions([source])).rejects.toThrow('did not write the first post');
});

test('what a caller writes with a batch is stored with it or not at all', async () => {
  const { kernel } = forum.app.app;
  const [general] = kernel.service(Categories)!.all();
  const createdAt = new Date(Date.UTC(2021, 0, 1));
  const post = { authorId: forum.ids.ada, content: 'Post', html: '<p>Post</p>', createdAt };
  const source = { title: 'Kept', categoryId: general!.id, authorId: forum.ids.ada, createdAt, posts: [post] };
  const ids: string[] = [];
  await kernel.service(Importer)!.importDiscussions([source], {
    written: async ([one]) => void ids.push(one!.id, one!.source.title),
  });
  expect((await forum.guest.get(`/api/discussions/${ids[0]}`)).body.discussion.title).toBe('Kept');
  const refused = kernel.service(Importer)!.importDiscussions([{ ...source, title: 'Lost' }], {
    written: () => Promise.reject(new Error('no room')),
  });
  await expect(refused).rejects.toThrow('no room');
  const { discussions } = (await forum.guest.get('/api/discussions?limit=100&sort=newest')).body;
  expect(discussions.map(({ title }: { title: string }) => title)).not.toContain('Lost');
});
