import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { useForum, type Name } from './forum.ts';

const forum = useForum();
type Who = Name | 'guest';
const WHO: readonly Who[] = ['guest', 'bad', 'bob', 'ada', 'mia', 'root'];
const clientOf = (who: Who): Client => (who === 'guest' ? forum.guest : forum.as[who]);

/** The status for a guest, a banned member, another member, the author, a moderator and an admin. */
const TABLE: readonly (readonly [
  name: string,
  statuses: readonly number[],
  ask: (client: Client, made: Made) => Promise<{ status: number }>,
])[] = [
  [
    'read a discussion',
    [200, 200, 200, 200, 200, 200],
    async (client, { open }) => client.get(`/api/discussions/${await open()}`),
  ],
  ['read a post', [200, 200, 200, 200, 200, 200], async (client, { post }) => client.get(`/api/posts/${await post()}`)],
  [
    'start a discussion',
    [401, 403, 201, 201, 201, 201],
    (client) => client.post('/api/discussions', { title: 'Mine', content: 'x', category_id: 'general' }),
  ],
  [
    'start a discussion where only staff may',
    [401, 403, 403, 403, 201, 201],
    (client) => client.post('/api/discussions', { title: 'Mine', content: 'x', category_id: 'announcements' }),
  ],
  [
    'reply',
    [401, 403, 201, 201, 201, 201],
    async (client, { open }) => client.post('/api/posts', { discussion_id: await open(), content: 'x' }),
  ],
  [
    'reply in a locked discussion',
    [401, 403, 403, 403, 201, 201],
    async (client, { locked }) => client.post('/api/posts', { discussion_id: await locked(), content: 'x' }),
  ],
  [
    'edit a post',
    [401, 403, 403, 200, 200, 200],
    async (client, { post }) => client.put(`/api/posts/${await post()}`, { content: 'y' }),
  ],
  [
    'edit a post in a locked discussion',
    [401, 403, 403, 403, 200, 200],
    async (client, { lockedPost }) => client.put(`/api/posts/${await lockedPost()}`, { content: 'y' }),
  ],
  [
    'rename a discussion',
    [401, 403, 403, 200, 200, 200],
    async (client, { open }) => client.put(`/api/discussions/${await open()}`, { title: 'Renamed' }),
  ],
  [
    'pin a discussion',
    [401, 403, 403, 403, 200, 200],
    async (client, { open }) => client.put(`/api/discussions/${await open()}`, { is_pinned: true }),
  ],
  [
    'lock a discussion',
    [401, 403, 403, 403, 200, 200],
    async (client, { open }) => client.put(`/api/discussions/${await open()}`, { is_locked: false }),
  ],
  [
    'move a discussion',
    [401, 403, 403, 200, 200, 200],
    async (client, { open }) => client.put(`/api/discussions/${await open()}`, { category_id: 'help' }),
  ],
  [
    'move a discussion where only staff may start one',
    [401, 403, 403, 403, 200, 200],
    async (client, { open }) => client.put(`/api/discussions/${await open()}`, { category_id: 'announcements' }),
  ],
  [
    'move a discussion to a category hidden from them',
    [401, 403, 403, 400, 200, 200],
    async (client, { open }) => client.put(`/api/discussions/${await open()}`, { category_id: 'staff' }),
  ],
  [
    'delete a post',
    [401, 403, 403, 200, 200, 200],
    async (client, { post }) => client.delete(`/api/posts/${await post()}`),
  ],
  [
    'delete a discussion',
    [401, 403, 403, 200, 200, 200],
    async (client, { open }) => client.delete(`/api/discussions/${await open()}`),
  ],
  [
    'read a deleted post',
    [404, 404, 404, 404, 200, 200],
    async (client, { deletedPost }) => client.get(`/api/posts/${await deletedPost()}`),
  ],
  [
    'read a deleted discussion',
    [404, 404, 404, 404, 200, 200],
    async (client, { deleted }) => client.get(`/api/discussions/${await deleted()}`),
  ],
  [
    'restore a discussion',
    [401, 404, 404, 200, 200, 200],
    async (client, { deleted }) => client.post(`/api/discussions/${await deleted()}/restore`),
  ],
  [
    'restore a post',
    [401, 404, 404, 200, 200, 200],
    async (client, { deletedPost }) => client.post(`/api/posts/${await deletedPost()}/restore`),
  ],
  [
    'save a category',
    [401, 403, 403, 403, 403, 201],
    (client) =>
      client.post('/admin/categories/save', { name: `Fresh ${crypto.randomUUID()}` }, { accept: 'application/json' }),
  ],
];

/** Things of ada's, each created on request; resolves to its id. */
type Made = Readonly<
  Record<'open' | 'post' | 'locked' | 'lockedPost' | 'deleted' | 'deletedPost', () => Promise<string>>
>;

const lock = async (id: string): Promise<string> => {
  await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true });
  return id;
};
const made: Made = {
  open: async () => (await forum.start('ada', 'Open')).id,
  post: async () => (await forum.reply('ada', await made.open(), 'A reply')).id,
  locked: async () => lock(await made.open()),
  async lockedPost() {
    const id = await made.open();
    const post = await forum.reply('ada', id, 'Before');
    await lock(id);
    return post.id;
  },
  async deleted() {
    const id = await made.open();
    await forum.as.ada.delete(`/api/discussions/${id}`);
    return id;
  },
  async deletedPost() {
    const id = await made.post();
    await forum.as.ada.delete(`/api/posts/${id}`);
    return id;
  },
};

describe('who may', () => {
  // A guest's writes include a CSRF token, so that they are refused for the missing login.
  beforeAll(() => forum.guest.csrf('/'));

  test.each(TABLE)('%s', async (_name, statuses, ask) => {
    const answers: number[] = [];
    for (const who of WHO) answers.push((await ask(clientOf(who), made)).status);
    expect(Object.fromEntries(WHO.map((who, index) => [who, answers[index]]))).toEqual(
      Object.fromEntries(WHO.map((who, index) => [who, statuses[index]])),
    );
  });
});
