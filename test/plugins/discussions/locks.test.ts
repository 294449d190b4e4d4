import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql, type RawBuilder } from 'parley-forum';
import { openDatabase } from '../../../core/host/databases/open.ts';
import type { Database } from '../../../core/data/database.ts';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import type { Answer } from 'parley-forum/testing';
import { onServer, testLog } from '../../kit/database.ts';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum({ 'tags.max': 5 });
/** Another connection to the same database, which holds rows. */
let other: Database;
beforeAll(async () => {
  const { databaseUrl, dataDir } = forum.app.app.environment;
  if (onServer) other = await openDatabase({ url: databaseUrl, folder: dataDir, log: testLog });
});
afterAll(() => other?.close());

const categoryOf = (slug: string): string =>
  forum.app.app
    .service(Categories)
    .all()
    .find((one) => one.slug === slug)!.id;
const rolledBack = () => forum.app.lines.filter(({ message }) => message.includes('rolled back a transaction'));
const put = (path: string, body: object) => forum.as.mia.put(path, body).then((answer) => expectStatus(answer, 200));

interface Place {
  readonly id: string;
  readonly reply: string;
  readonly gone: string;
}
/** Every kind of write to a discussion; each gets a discussion of its own. */
const WRITES: Readonly<Record<string, (place: Place) => Promise<unknown>>> = {
  'a reply': ({ id }) => forum.reply('bob', id, 'One more'),
  'a new discussion': () => forum.start('bob', 'Another one'),
  'the deletion of a reply': ({ reply }) =>
    forum.as.mia.delete(`/api/posts/${reply}`).then((answer) => expectStatus(answer, 200)),
  'the restoring of a reply': ({ gone }) =>
    forum.as.mia.post(`/api/posts/${gone}/restore`).then((answer) => expectStatus(answer, 200)),
  'the deletion of a discussion': ({ id }) =>
    forum.as.mia.delete(`/api/discussions/${id}`).then((answer) => expectStatus(answer, 200)),
  'a move': ({ id }) => put(`/api/discussions/${id}`, { category_id: categoryOf('help') }),
  'a move of a post': async ({ id, reply }) => {
    const { id: to } = await forum.start('ada', 'Elsewhere', 'help');
    const body = { post_ids: [reply], discussion_id: to };
    return forum.as.mia.post(`/api/discussions/${id}/move-posts`, body).then((answer) => expectStatus(answer, 200));
  },
  'a merge': async ({ id }) => {
    const { id: to } = await forum.start('ada', 'Elsewhere', 'help');
    return forum.as.mia.post(`/api/discussions/${id}/merge`, { into: to }).then((answer) => expectStatus(answer, 200));
  },
  'an import': () =>
    forum.app.app.service(Importer).importDiscussions(
      ['general', 'help'].map((slug) => ({
        title: 'Brought along',
        categoryId: categoryOf(slug),
        authorId: forum.ids.bob,
        createdAt: new Date(0),
        posts: [{ authorId: forum.ids.bob, content: 'x', html: '<p>x</p>', createdAt: new Date(0) }],
      })),
    ),
};
/** Writes that change no counter of a category, and those of other plugins. */
const MORE: typeof WRITES = {
  'an edit': ({ reply }) =>
    forum.as.bob
      .put(`/api/posts/${reply}`, { content: `Edited ${Math.random()}` })
      .then((answer) => expectStatus(answer, 200)),
  'a lock and a pin': ({ id }) => put(`/api/discussions/${id}`, { is_locked: true, is_pinned: true }),
  'other tags': ({ id }) => put(`/api/discussions/${id}`, { tags: ['knots', 'masts'] }),
  'a reaction': ({ reply }) =>
    forum.as.ada
      .post('/api/reactions/toggle', { post_id: reply, reaction: 'like' })
      .then((answer) => expectStatus(answer, 200)),
  'a subscription': ({ id }) =>
    forum.as.ada.post('/api/subscriptions/toggle', { discussion_id: id }).then((answer) => expectStatus(answer, 200)),
};

async function place(): Promise<Place> {
  const { id } = await forum.start('ada', 'A place');
  const [reply, gone] = [await forum.reply('bob', id, 'Stays'), await forum.reply('bob', id, 'Goes')];
  expectStatus(await forum.as.mia.delete(`/api/posts/${gone.id}`), 200);
  return { id, reply: reply.id, gone: gone.id };
}

/** Waits until that many statements wait for locked rows. */
async function untilWaiting(count: number): Promise<void> {
  const waiting = sql<{
    count: number;
  }>`select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await expect.poll(async () => (await other.one(waiting))!.count, { timeout: 15_000 }).toBeGreaterThanOrEqual(count);
}

/** Runs `meanwhile` while the other connection holds `rows` and `work` waits for them; then releases them. */
async function holding(
  rows: RawBuilder<unknown>,
  work: () => Promise<unknown>,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const release = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holder = other.transaction(async () => {
    await other.all(rows);
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const working = work();
  working.catch(() => undefined);
  try {
    await untilWaiting(1);
    await meanwhile();
  } finally {
    release.resolve();
    await holder;
  }
  await working;
}

/** How many rows of `table` are not locked. */
const free = async (table: string, where: RawBuilder<unknown>): Promise<number> =>
  (
    await other.transaction(() =>
      other.all(sql`select 1 from ${sql.table(table)} where ${where} for update skip locked`),
    )
  ).length;

describe.runIf(onServer)('rows are locked in one order', () => {
  // All parts exist, so that any of them can be held.
  beforeAll(async () => {
    await other.all(sql`insert into category_count (category_id, part, discussions, posts)
      select ${categoryOf('general')}::uuid, part, 0, 0 from generate_series(0, 7) as part on conflict do nothing`);
  });

  const general = () => sql`category_id = ${categoryOf('general')}`;
  const bob = () => sql`user_id = ${forum.ids.bob}`;
  /** The counters of an author, by category and in total; the latter are maintained by the database itself. */
  const ofBob = () => ({
    discussion_author: sql`${bob()} and ${general()}`,
    discussion_author_total: bob(),
  });
  /** What one category loses and another one gains changes no total. */
  const MOVES = ['a move', 'a move of a post', 'a merge'];

  test.each([
    ...Object.keys(WRITES).map((name) => [name, 'discussion_author'] as const),
    ...Object.keys(WRITES)
      .filter((name) => !MOVES.includes(name))
      .map((name) => [name, 'discussion_author_total'] as const),
  ])('%s locks the counters of the category before it requests %s', async (name, table) => {
    const at = await place();
    const parts = await free('category_count', general());
    await holding(
      sql`select 1 from ${sql.table(table)} where ${ofBob()[table]} for update`,
      () => WRITES[name]!(at),
      // For a moment, other work may be waiting.
      async () => {
        await expect.poll(() => free('category_count', general())).toBeLessThan(parts);
      },
    );
  });

  test.each(Object.keys(WRITES))('%s holds no row of an author while it waits for a category', async (name) => {
    const at = await place();
    await holding(
      sql`select 1 from category_count where ${general()} order by part for update`,
      () => WRITES[name]!(at),
      async () => {
        for (const [table, where] of Object.entries(ofBob())) expect(await free(table, where)).toBe(1);
      },
    );
  });

  test('all of them at once wait for held rows, and never for one another', async () => {
    const before = rolledBack().length;
    const everything = { ...WRITES, ...MORE };
    const names = Object.keys(everything);
    const places: Place[] = [];
    while (places.length < names.length) places.push(await place());
    await holding(
      sql`select 1 from discussion_author order by category_id, user_id for update`,
      () => Promise.all(names.map((name, index) => everything[name]!(places[index]!))),
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
      },
    );
    expect(rolledBack().length).toBe(before);
  });
});

describe.runIf(onServer)('when two callers change one post that both read before', () => {
  /** The response to the second write, which happens after the first. */
  async function second(id: string, writes: readonly [() => Promise<unknown>, () => Promise<Answer>]): Promise<Answer> {
    let answer: Promise<Answer>;
    forum.app.clock.advance(1_000);
    await holding(sql`select 1 from discussion where id = ${id} for update`, writes[0], async () => {
      answer = writes[1]();
      await untilWaiting(2);
    });
    return answer!;
  }

  test('the second one gets a conflict if the first one saved another text', async () => {
    const { id, reply } = await place();
    const edit = `/p/${reply}/edit`;
    const [, seen] = /name="updated_at" value="([^"]+)"/.exec((await forum.as.bob.get(edit)).text)!;
    const save = (who: 'bob' | 'mia') => () =>
      forum.as[who].submit(edit, { content: `By ${who}`, reason: 'x', updated_at: seen! });
    expect((await second(id, [save('mia'), save('bob')])).status).toBe(409);
    expect((await forum.guest.get(`/api/posts/${reply}`)).body.post.content).toBe('By mia');
  });

  test('the second one does not write to a post that the first one deleted', async () => {
    const { id, reply } = await place();
    const write = () => forum.as.bob.put(`/api/posts/${reply}`, { content: 'Too late' });
    expect((await second(id, [() => forum.as.mia.delete(`/api/posts/${reply}`), write])).status).toBe(404);
  });

  test('an author deletes nothing that the first one has locked', async () => {
    const { id, reply } = await place();
    const lock = () => forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true });
    expect((await second(id, [lock, () => forum.as.bob.delete(`/api/posts/${reply}`)])).status).toBe(409);
    await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: false });
    expect((await second(id, [lock, () => forum.as.ada.delete(`/api/discussions/${id}`)])).status).toBe(409);
    expect((await forum.guest.get(`/api/posts/${reply}`)).status).toBe(200);
  });
});
