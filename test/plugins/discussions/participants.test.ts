import { describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();
const listed = async (id: string, query = '', client: Client = forum.guest): Promise<readonly string[]> => {
  const { participants } = expectStatus(await client.get(`/api/discussions/${id}/participants${query}`), 200).body;
  return participants.map(
    ({ user, post_count }: { user: { username: string }; post_count: number }) => `${user.username} ${post_count}`,
  );
};
/** A discussion of ada's, with two replies by bob and one by mia. */
async function discussed() {
  const started = await forum.start('ada', 'Who says what');
  for (const name of ['bob', 'mia', 'bob'] as const) await forum.reply(name, started.id, `By ${name}`);
  return started;
}

describe('the list of participants', () => {
  test('is ordered by their number of posts, and follows deletions and restorations', async () => {
    const { id } = await discussed();
    const [first, ...others] = await listed(id);
    expect(first).toBe('bob 2');
    expect(others.toSorted()).toEqual(['ada 1', 'mia 1']);
    const post = await forum.reply('ada', id, 'Once more');
    await forum.reply('ada', id, 'And again');
    expect((await listed(id))[0]).toBe('ada 3');
    expectStatus(await forum.as.mia.delete(`/api/posts/${post.id}`), 200);
    expect(await listed(id)).toContain('ada 2');
    expectStatus(await forum.as.mia.post(`/api/posts/${post.id}/restore`), 200);
    expect((await listed(id))[0]).toBe('ada 3');
  });

  test('continues across pages, even between equal numbers of posts', async () => {
    const { id } = await discussed();
    const all = await listed(id);
    const found: string[] = [];
    for (let query = '?limit=1'; query !== '';) {
      const page = expectStatus(await forum.guest.get(`/api/discussions/${id}/participants${query}`), 200).body;
      found.push(...(await listed(id, query)));
      query = page.next_cursor === null ? '' : `?limit=1&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(found).toEqual(all);
    expect((await forum.guest.get(`/api/discussions/${id}/participants?cursor=x`)).status).toBe(400);
  });

  test('is a page that is linked from the head of the discussion', async () => {
    const { number } = await discussed();
    const { text } = await forum.guest.get(`/d/${number}-who-says-what`);
    expect(text).toMatch(new RegExp(`<a href="/d/${number}/people">3\\s*people</a>`));
    const page = await forum.guest.get(`/d/${number}/people`);
    expect(page.text).toMatch(/href="\/u\/bob"[\s\S]*2 posts[\s\S]*1 post</);
    expect(page.text).not.toContain('rel="next"');
  });

  test('is hidden from those who may not read the discussion', async () => {
    const { id, number } = await discussed();
    expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
    for (const path of [`/api/discussions/${id}/participants`, `/d/${number}/people`])
      for (const client of [forum.guest, forum.as.bob]) expect((await client.get(path)).status).toBe(404);
    expect(await listed(id, '', forum.as.mia)).toHaveLength(3);
  });
});
