import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { leastOf } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();
const MANY = 205;
let post: { id: string; number: number; postId: string };

/** Gives the post many likes, the last one by the member with the greatest number, and one love. */
beforeAll(async () => {
  post = await forum.start('ada', 'Liked by many');
  const people = Array.from({ length: MANY }, (_, at) => ({
    username: `reader${at}`,
    email: `reader${at}@forum.test`,
  }));
  const ids = await forum.app.app.service(Accounts).importAccounts(people);
  await forum.app.app.data.all(sql`insert into reaction (post_id, type, user_id, created_at)
    select ${post.postId}::uuid, 'like', id, now() from unnest(${ids}::uuid[]) with ordinality as t (id, at) order by at`);
  await forum.app.app.data.all(sql`insert into reaction_count (post_id, type, count)
    values (${post.postId}::uuid, 'like', ${MANY})`);
  await forum.as.bob.post('/api/reactions/toggle', { post_id: post.postId, reaction: 'love' });
});

describe('GET /api/reactions/post/{post_id}/members', () => {
  const people = async (query: string, client = forum.guest) =>
    expectStatus(await client.get(`/api/reactions/post/${post.postId}/members?${query}`), 200).body;

  test('lists everyone who gave one kind of reaction, newest first, page by page', async () => {
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const body = await people(`reaction=like&limit=50${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.members.map(({ user }: any) => user.username));
      expect([body.count, body.hasMore]).toEqual([body.members.length, seen.length < MANY]);
      cursor = body.next_cursor;
    }
    expect(seen).toEqual(Array.from({ length: MANY }, (_, at) => `reader${MANY - 1 - at}`));
    expect((await people('reaction=like&limit=2&offset=3')).members.map(({ user }: any) => user.username)).toEqual(
      seen.slice(3, 5),
    );
  });

  test('takes slug or emoji, and says who reacted and when', async () => {
    const found = {
      user: { id: forum.ids.bob, username: 'bob', display_name: null, avatar_url: null },
      created_at: '2026-01-15T12:00:00.000Z',
    };
    for (const reaction of ['love', encodeURIComponent('❤️')])
      expect((await people(`reaction=${reaction}`)).members).toEqual([found]);
    expect((await people('reaction=sad')).members).toEqual([]);
  });

  test('refuses unknown reactions and cursors of other lists, and posts that the caller may not see', async () => {
    const hidden = await forum.start('mia', 'Not for all', 'staff');
    const status = async (path: string, client = forum.guest) => (await client.get(path)).status;
    const path = `/api/reactions/post/${post.postId}/members`;
    expect([
      await status(path),
      await status(`${path}?reaction=shrug`),
      await status(`${path}?reaction=like&cursor=abc`),
      await status(`/api/reactions/post/${hidden.postId}/members?reaction=like`),
      await status(`/api/reactions/post/${hidden.postId}/members?reaction=like`, forum.as.mia),
    ]).toEqual([400, 400, 400, 404, 200]);
  });

  test('runs as many statements for many members as for one', async () => {
    const asked = (limit: number) =>
      leastOf(async () => {
        await forum.app.app.cache.purge(discussionCacheTags.all);
        return forum.app.statements(() => people(`reaction=like&limit=${limit}`));
      });
    expect(await asked(100)).toBe(await asked(1));
  });
});

describe('the page of who reacted', () => {
  const path = (query = ''): string => `/p/${post.postId}/reactions${query}`;
  const page = async (query = ''): Promise<string> => expectStatus(await forum.guest.get(path(query)), 200).text;
  const people = (text: string): readonly string[] =>
    [...text.matchAll(/<a href="\/u\/(\w+)"/g)].map(([, name]) => name!);

  test('shows the newest hundred of each kind, and leads to the others', async () => {
    const text = await page();
    expect(people(text)).toHaveLength(101);
    expect(people(text)[0]).toBe('reader204');
    expect(text).toContain(`href="${path('?kind=like&amp;page=2')}">and 105 more</a>`);
  });

  test('shows a page of one kind, with links to its other pages and to all kinds', async () => {
    const seen: string[] = [];
    for (const query of ['?kind=like', '?kind=like&page=2', '?kind=like&page=3']) {
      const text = await page(query);
      expect(text).toContain(`href="${path()}"`);
      expect(text).toContain(`href="${path('?kind=like&amp;page=2')}"`);
      expect(text).not.toContain('more</a>');
      seen.push(...people(text));
    }
    expect(seen).toEqual(Array.from({ length: MANY }, (_, at) => `reader${MANY - 1 - at}`));
    expect(people(await page('?kind=love'))).toEqual(['bob']);
  });

  test('is not found beyond its end, for other kinds, or without a kind', async () => {
    for (const query of ['?kind=like&page=4', '?kind=sad', '?kind=shrug', '?page=2'])
      expect((await forum.guest.get(path(query))).status).toBe(404);
  });

  test('runs as many statements for many members as for one', async () => {
    const asked = (query: string) =>
      leastOf(async () => {
        await forum.app.app.cache.purge(discussionCacheTags.all);
        return forum.app.statements(() => page(query));
      });
    expect(await asked('?kind=like')).toBe(await asked('?kind=love'));
  });
});
