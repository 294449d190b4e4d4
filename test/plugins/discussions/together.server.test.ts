import { afterAll, beforeAll, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { miscounted, startForum, type Client, type TestForum } from 'parley-forum/testing';
import { FULL } from '../../kit/full.ts';

const PASSWORD = 'Plain-Sailing-42';
const CLIENTS = 16;
/** For how many milliseconds all of them write. */
const LONG = FULL ? 60_000 : 10_000;

let first: TestForum;
let second: TestForum;
const clients: Client[] = [];
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  for (let at = 0; at < CLIENTS; at++) {
    const name = `member${at}`;
    await first.app.service(Accounts).create({
      username: name,
      email: `${name}@forum.test`,
      password: PASSWORD,
      groupId: at % 2 ? 'moderator' : 'member',
    });
    clients.push((at % 4 < 2 ? first : second).client());
    await clients[at]!.login(name, PASSWORD);
  }
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(Math.random() * from.length)];

test(
  'whatever many members do at once in two processes, nothing fails and every counter is right in the end',
  async () => {
    const [discussions, posts, failed]: [string[], string[], string[]] = [[], [], []];
    const categories = ['general', 'help'];
    const tags = () => [pick(['knots', 'masts', 'sails'])!, pick(['ropes', 'hulls'])!];
    const start = (client: Client) =>
      client.post('/api/discussions', {
        title: `About ${Math.random()}`,
        content: 'Words',
        category_id: pick(categories),
        tags: tags(),
      });
    const actions: readonly ((client: Client, id: string, post: string) => ReturnType<Client['get']>)[] = [
      start,
      ...Array.from(
        { length: 4 },
        () => (client: Client, id: string) =>
          client.post('/api/posts', {
            discussion_id: id,
            content: `Indeed, @member${Math.floor(Math.random() * CLIENTS)}`,
          }),
      ),
      (client, _id, post) => client.put(`/api/posts/${post}`, { content: `Edited ${Math.random()}` }),
      (client, _id, post) => client.delete(`/api/posts/${post}`),
      (client, _id, post) => client.post(`/api/posts/${post}/restore`),
      (client, id) => client.delete(`/api/discussions/${id}`),
      (client, id) => client.post(`/api/discussions/${id}/restore`),
      (client, id) => client.put(`/api/discussions/${id}`, { category_id: pick(categories) }),
      (client, id) => client.put(`/api/discussions/${id}`, { tags: tags(), is_pinned: Math.random() < 0.5 }),
      async (client, id, post) => {
        const { body } = await client.get(`/api/posts/${post}`);
        const from = body.post?.discussion_id ?? id;
        return client.post(`/api/discussions/${from}/move-posts`, {
          post_ids: [post],
          discussion_id: pick(discussions),
        });
      },
      (client, id) => client.post(`/api/discussions/${id}/merge`, { into: pick(discussions) }),
      (client, _id, post) => client.post('/api/reactions/toggle', { post_id: post, reaction: 'like' }),
      (client, id) => client.post('/api/subscriptions/toggle', { discussion_id: id }),
      (client) => client.post('/api/notifications/mark-read'),
    ];
    for (let count = 0; count < 4; count++) discussions.push((await start(clients[0]!)).body.discussion.id);
    const reply = await clients[1]!.post('/api/posts', { discussion_id: discussions[0], content: 'The first' });
    posts.push(reply.body.post.id);
    const until = Date.now() + LONG;
    await Promise.all(
      clients.map(async (client) => {
        while (Date.now() < until) {
          const { status, body, text } = await pick(actions)!(client, pick(discussions)!, pick(posts)!);
          if (status >= 500) failed.push(`${status} ${text.slice(0, 200)}`);
          if (status === 201 && body.discussion) discussions.push(body.discussion.id);
          if (status === 201 && body.post) posts.push(body.post.id);
        }
      }),
    );
    expect(failed).toEqual([]);
    expect(posts.length).toBeGreaterThan(1);
    await first.calm();
    await second.calm();
    expect(await miscounted(first)).toEqual([]);
    expect(
      [...first.lines, ...second.lines].filter(({ message }) => message.includes('rolled back a transaction')),
    ).toEqual([]);
  },
  LONG + 120_000,
);
