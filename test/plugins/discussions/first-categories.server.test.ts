import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cache, sql } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import type { Database } from '../../../core/data/database.ts';
import { openDatabase } from '../../../core/host/databases/open.ts';
import { testLog } from '../../kit/database.ts';
import { startForum, type TestForum } from 'parley-forum/testing';

const WAITING = sql`select count(*)::int as count from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;
const forums: TestForum[] = [];
/** Another connection to the same database. */
let other: Database;
beforeAll(async () => {
  const first = await startForum();
  const { databaseUrl, redisUrl, dataDir } = first.app.environment;
  other = await openDatabase({ url: databaseUrl, folder: dataDir, log: testLog });
  forums.push(first, await startForum({ environment: { databaseUrl, redisUrl } }));
});
afterAll(async () => {
  await other.close();
  for (const forum of forums.toReversed()) await forum[Symbol.asyncDispose]();
});

test('two processes that start on an empty database create its first categories once', async () => {
  const [first] = forums;
  const slugs = async () =>
    (await first!.app.data.all(sql<{ slug: string }>`select slug from category order by position`)).map(
      ({ slug }) => slug,
    );
  const before = await slugs();
  await first!.app.data.all(sql`delete from category`);
  for (const { app } of forums) await app.service(Cache).purge(discussionCacheTags.categories);
  // Both have checked before one of them writes.
  let starting: Promise<unknown>;
  await other.transaction(async () => {
    await other.all(sql`lock table category in share mode`);
    starting = Promise.all(forums.map(({ app }) => app.kernel.restart('discussions')));
    // The transaction would see the activity as it first was, without connections opened since.
    const waiting = () => other.outside(() => other.one(WAITING));
    await expect.poll(waiting, { timeout: 15_000 }).toEqual({ count: 2 });
  });
  await starting!;
  expect(await slugs()).toEqual(before);
  for (const forum of forums) {
    const { status, body } = await forum.client().get('/api/categories');
    expect([status, body.categories.length]).toEqual([200, before.length - 1]);
  }
});
