import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts, userChanged } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { useForum } from './forum.ts';

const forum = useForum();
let id: string;

beforeAll(async () => {
  ({ id } = await forum.start('ada', 'The first'));
  for (let index = 0; index < 60; index++)
    await (index % 2 ? forum.reply('bob', id, `Reply ${index}`) : forum.start('mia', `Number ${index}`));
  // Statements of queued jobs would be counted too, whenever they run.
  await forum.app.app.jobs.stop();
});

describe('the number of SQL statements', () => {
  // The cache must not answer instead of the database.
  const asked = async (path: string): Promise<number> => {
    await forum.app.app.cache.purge('discussions', 'discussion-records');
    return forum.app.statements(() => forum.as.ada.get(path));
  };

  test.each([
    (limit: number) => `/api/discussions?limit=${limit}`,
    (limit: number) => `/api/discussions?limit=${limit}&sort=most_replied&offset=2`,
    (limit: number) => `/api/discussions/${id}?limit=${limit}`,
    (limit: number) => `/api/discussions/${id}/posts?limit=${limit}`,
    (limit: number) => `/api/users/posts?limit=${limit}`,
  ])('does not grow with the rows: %s', async (path) => {
    await asked(path(30));
    expect(await asked(path(25))).toBe(await asked(path(5)));
  });

  test('is one for a list, and one for the read marks that its HTML shows', async () => {
    await asked('/api/discussions?limit=9');
    expect(await asked('/api/discussions?limit=9')).toBe(2);
  });
});

describe('a cached response is never older than the last write', () => {
  const list = async () => (await forum.guest.get('/api/discussions')).text;
  const one = async () => (await forum.guest.get(`/api/discussions/${id}`)).text;
  const page = async (path: string) => (await forum.guest.get(path)).text;
  const warm = async () => {
    for (const path of ['/', '/c/general', '/d/1-the-first', '/categories'])
      for (let time = 0; time < 2; time++) await page(path);
    for (let time = 0; time < 2; time++) await Promise.all([list(), one()]);
  };

  test('after a reply, an edit and a deletion', async () => {
    await warm();
    const post = await forum.reply('bob', id, 'Fresh words');
    expect(JSON.parse(await one()).discussion.reply_count).toBe(post.number - 1);
    expect(await page('/d/1-the-first?page=2')).toContain('Fresh words');
    await forum.as.bob.put(`/api/posts/${post.id}`, { content: 'Other words' });
    expect(await page('/d/1-the-first?page=2')).toContain('Other words');
    await forum.as.bob.delete(`/api/posts/${post.id}`);
    expect(await page('/d/1-the-first?page=2')).not.toContain('Other words');
  });

  test('after a discussion is started and renamed', async () => {
    await warm();
    const { id: fresh } = await forum.start('ada', 'Brand new');
    for (const text of [await list(), await page('/'), await page('/c/general')]) expect(text).toContain('Brand new');
    await forum.as.ada.put(`/api/discussions/${fresh}`, { title: 'Renamed now' });
    for (const text of [await list(), await page('/'), await page('/c/general')])
      expect(text).not.toMatch(/>Brand new<|"title":"Brand new"/);
  });

  test('after something is written, moved or deleted elsewhere in its category', async () => {
    const counts = async (): Promise<readonly number[]> => {
      const { category } = JSON.parse(await one());
      return [category.discussion_count, category.post_count];
    };
    await warm();
    const [discussions = 0, posts = 0] = await counts();
    const { id: other } = await forum.start('ada', 'A neighbour');
    expect(await counts()).toEqual([discussions + 1, posts + 1]);
    const { id: reply } = await forum.reply('bob', other, 'Next door');
    expect(await counts()).toEqual([discussions + 1, posts + 2]);
    await forum.as.bob.delete(`/api/posts/${reply}`);
    expect(await counts()).toEqual([discussions + 1, posts + 1]);
    await forum.as.mia.put(`/api/discussions/${other}`, { category_id: 'help' });
    expect(await counts()).toEqual([discussions, posts]);
    await forum.as.mia.put(`/api/discussions/${other}`, { category_id: 'general' });
    expect(await counts()).toEqual([discussions + 1, posts + 1]);
    await forum.as.ada.delete(`/api/discussions/${other}`);
    expect(await counts()).toEqual([discussions, posts]);
  });

  test('after a minute, since lists show relative times', async () => {
    await warm();
    await forum.start('ada', 'Some time ago');
    const html = async (): Promise<string> => JSON.parse(await list()).html;
    const before = await html();
    expect(await html()).toBe(before);
    forum.app.clock.advance(5 * 60_000);
    expect(await html()).not.toBe(before);
  });

  test('after a category is renamed or hidden', async () => {
    await warm();
    const categories = forum.app.app.kernel.service(Categories)!;
    const general = categories.all().find(({ slug }) => slug === 'general')!;
    await categories.save({ ...general, name: 'Common room' });
    for (const text of [await list(), await one(), await page('/'), await page('/d/1-the-first')])
      expect(text).toContain('Common room');
    await categories.save({ ...general, view: 'members' });
    expect(JSON.parse(await list()).count).toBe(0);
    expect((await forum.guest.get(`/api/discussions/${id}`)).status).toBe(404);
    expect((await forum.guest.get('/d/1-the-first')).status).toBe(404);
    await categories.save({ ...general });
  });

  test('after a member is renamed', async () => {
    await warm();
    const { app } = forum.app;
    await app.data.transaction(() =>
      app.data.all(sql`update account set username = 'adele' where id = ${forum.ids.ada}`),
    );
    await app.cache.purge(`account:${forum.ids.ada}`);
    await app.hooks.emit(userChanged, { id: forum.ids.ada });
    expect((await app.service(Accounts).find(forum.ids.ada))?.username).toBe('adele');
    for (const text of [await list(), await one(), await page('/d/1-the-first')]) expect(text).toContain('adele');
  });

  test('while someone writes all the time', async () => {
    const { id: busy } = await forum.start('bob', 'Watched');
    for (let count = 1; count <= 15; count++) {
      const [, ...readers] = await Promise.all([
        forum.reply('bob', busy, `Reply ${count}`),
        forum.guest.get(`/api/discussions/${busy}`),
        forum.guest.get('/api/discussions'),
      ]);
      expect(readers.map(({ status }) => status)).toEqual([200, 200]);
      expect((await forum.guest.get(`/api/discussions/${busy}`)).body.discussion.reply_count).toBe(count);
      expect(
        (await forum.guest.get('/api/discussions')).body.discussions.find((discussion: any) => discussion.id === busy)
          .reply_count,
      ).toBe(count);
    }
  });
});

describe('the cost of a reply', () => {
  test('is at most thirteen statements, begin and commit included', async () => {
    // Its jobs are stored, not run, since their statements would be counted too.
    await forum.app.app.jobs.stop();
    await forum.reply('ada', id, 'Warm');
    expect(await forum.app.statements(() => forum.reply('ada', id, 'Counted'))).toBeLessThanOrEqual(13);
  });
});
