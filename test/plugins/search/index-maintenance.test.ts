import { describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { onServer } from '../../kit/database.ts';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();

/** Runs `work` while the search is disabled. */
async function without(work: () => Promise<unknown>): Promise<void> {
  const { kernel } = forum.app.app;
  await kernel.disable('search');
  await work();
  await kernel.enable('search');
  await forum.settled();
}
const importOld = (count: number) => {
  const general = forum.app.app
    .service(Categories)
    .all()
    .find(({ slug }) => slug === 'general')!;
  const createdAt = new Date(Date.UTC(2019, 0, 1));
  const posts = Array.from({ length: count }, (_, at) => ({
    authorId: forum.ids.ada,
    content: 'Sextant',
    html: `<p>Sextant ${at}</p>`,
    createdAt: new Date(createdAt.getTime() + at),
  }));
  return forum.app.app
    .service(Importer)
    .importDiscussions([{ title: 'Long ago', categoryId: general.id, authorId: forum.ids.ada, createdAt, posts }]);
};

describe('a new forum', () => {
  test('has nothing to backfill', async () => {
    await forum.settled();
    expect(forum.app.lines.filter(({ message }) => message.includes('backfilled into the search index'))).toEqual([]);
    expect(await forum.app.app.data.all(sql`select plugin from backfill where plugin = 'search'`)).toHaveLength(1);
  });
});

describe('after being disabled and enabled again, search', () => {
  test('finds what was written, edited, renamed, deleted, restored and imported in the meantime', async () => {
    const kept = await forum.start('ada', 'Kept', 'Anchor');
    const gone = await forum.start('ada', 'Gone', 'Anchor');
    const named = await forum.start('ada', 'Old name', 'Anchor');
    const reply = await forum.reply('bob', kept.id, 'Buoy');
    expect((await forum.titles('anchor')).sort()).toEqual(['Gone', 'Kept', 'Old name']);
    await without(async () => {
      expectStatus(await forum.guest.get('/api/search?q=anchor'), 404);
      forum.app.clock.advance(120_000);
      await forum.start('ada', 'Fresh', 'Anchor');
      expectStatus(await forum.as.bob.put(`/api/posts/${reply.id}`, { content: 'Beacon' }), 200);
      expectStatus(await forum.as.ada.put(`/api/discussions/${named.id}`, { title: 'New name' }), 200);
      expectStatus(await forum.as.ada.delete(`/api/discussions/${gone.id}`), 200);
      await importOld(1_200);
    });
    expect((await forum.titles('anchor')).sort()).toEqual(['Fresh', 'Kept', 'New name']);
    expect([await forum.titles('buoy'), await forum.titles('beacon'), await forum.titles('sextant')]).toEqual([
      [],
      ['Kept'],
      ['Long ago'],
    ]);
    expect(
      forum.app.lines.some(
        ({ message, done }) => message.includes('backfilled into the search index') && done === true,
      ),
    ).toBe(true);
  });

  test('backfills nothing if nothing has changed', async () => {
    forum.app.clock.advance(120_000);
    await without(async () => undefined);
    const walks = () =>
      forum.app.lines.filter(({ message }) => message.includes('backfilled into the search index')).length;
    const before = walks();
    await without(async () => forum.app.clock.advance(120_000));
    expect(walks()).toBe(before);
  });

  test('resumes an interrupted backfill, and finds what was written in between', async () => {
    const { app } = forum.app;
    await without(async () => {
      const [middle] = await app.data.all(
        sql<{ id: string }>`select id from search_post order by id offset 600 limit 1`,
      );
      await app.data.all(sql`delete from search_post where id > ${middle!.id}`);
      const rest = JSON.stringify({ after: middle!.id });
      await app.data.all(
        sql`insert into job (id, listener, key, payload) values (gen_random_uuid(), 'search/job:catch-up', 'catch-up', ${rest})`,
      );
      forum.app.clock.advance(120_000);
      await forum.start('ada', 'In between', 'Keel');
    });
    const [count] = await app.data.all(
      sql<{
        missing: number;
      }>`select ((select count(*) from post) - (select count(*) from search_post))::int as missing`,
    );
    expect(count!.missing).toBe(0);
    expect(await forum.titles('keel')).toEqual(['In between']);
  });

  test('runs an unfinished and a new backfill in turn, and logs the number of posts of each', async () => {
    const { app, lines } = forum.app;
    const before = lines.length;
    let posts = 0;
    await without(async () => {
      forum.app.clock.advance(120_000);
      await forum.start('ada', 'Turns', 'Rudder');
      await app.data.all(
        sql`insert into job (id, listener, key, payload) values (gen_random_uuid(), 'search/job:catch-up', 'catch-up', '{}')`,
      );
      const [all] = await app.data.all(sql<{ count: number }>`select count(*)::int as count from post`);
      posts = all!.count;
    });
    const logged = lines.slice(before).filter(({ message }) => message.includes('backfilled into the search index'));
    expect(posts).toBeGreaterThan(1_000);
    expect(logged.map((line) => [line['posts'], line['done']])).toContainEqual([posts, true]);
  });
});

describe('changing the language', () => {
  test('reindexes every post in the background', async () => {
    await forum.start('ada', 'Languages', 'Several oysters');
    expect(await forum.titles('oyster')).toEqual(['Languages']);
    await forum.app.app.settings.set({ 'search.language': 'simple' });
    await expect.poll(() => forum.titles('oysters'), { timeout: 20_000 }).toEqual(['Languages']);
    expect(await forum.titles('oyster')).toEqual([]);
    expect(await forum.titles('"Several oysters"')).toEqual(['Languages']);
    await forum.start('ada', 'Later', 'Some mussels');
    expect([await forum.titles('mussel'), await forum.titles('mussels')]).toEqual([[], ['Later']]);
    await expect(forum.app.app.settings.set({ 'search.language': 'klingon' })).rejects.toMatchObject({ status: 400 });
  });

  // The embedded database runs transactions one after another.
  test.runIf(onServer)('includes posts that are locked by a concurrent transaction', async () => {
    const { data, settings } = forum.app.app;
    const others = async (): Promise<number> =>
      (await data.one(
        sql<{ count: number }>`select count(*)::int as count from search_post where language <> 'english'`,
      ))!.count;
    await forum.start('ada', 'Written', 'Several limpets');
    const [begun, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const writing = data.transaction(async () => {
      await data.all(sql`select from search_post where title = 'Written' for update`);
      begun.resolve();
      await written.promise;
    });
    await begun.promise;
    await settings.set({ 'search.language': 'english' });
    await expect.poll(others).toBe(1);
    written.resolve();
    await writing;
    await expect.poll(others).toBe(0);
    expect(await forum.titles('limpet')).toEqual(['Written']);
  });
});
