import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import Notifications0002Backfill from '../../../migrations/notifications/0002-backfill.ts';
import Search0002Backfill from '../../../migrations/search/0002-backfill.ts';
import Tags0002Backfill from '../../../migrations/tags/0002-backfill.ts';
import Uploads0002Backfill from '../../../migrations/uploads/0002-backfill.ts';

const EARLY = '3 2026-01-01T00:00:00.000Z';
const LATE = '12 2026-02-01T00:00:00.000Z';
const POST = '01990000-0000-7000-8000-000000000001';

let forum: TestForum;
beforeAll(async () => void (forum = await startForum()));
afterAll(() => forum[Symbol.asyncDispose]());

/** The backfill after an upgrade, with what `stored` has put into the tables of the previous version. */
async function upgraded(
  plugin: string,
  migration: typeof Search0002Backfill,
  stored: () => Promise<unknown>,
): Promise<unknown> {
  const { data, kernel } = forum.app;
  await kernel.disable(plugin);
  await data.all(sql`delete from job where starts_with(listener, ${`${plugin}/`})`);
  await data.all(sql`delete from backfill where plugin = ${plugin}`);
  await data.migrateDown(plugin, [migration]);
  await stored();
  await data.migrate(plugin, [migration]);
  const row = await data.one(sql<{ checkpoint: string }>`select checkpoint from backfill where plugin = ${plugin}`);
  const jobs = await data.all(
    sql<{ payload: object }>`select payload from job where listener = ${`${plugin}/job:catch-up`}`,
  );
  return [row?.checkpoint, ...jobs.map(({ payload }) => payload)];
}

test('what a plugin missed before the upgrade is backfilled after it, from where that began', async () => {
  const { data, settings, kernel } = forum.app;
  expect(
    await upgraded('tags', Tags0002Backfill, () =>
      data.all(sql`insert into tag_absence (since) values (${LATE}), (${EARLY})`),
    ),
  ).toEqual([EARLY]);
  expect(
    await upgraded('uploads', Uploads0002Backfill, () =>
      data.all(sql`insert into upload_absence (since) values (${LATE})`),
    ),
  ).toEqual([LATE]);
  const before = async (): Promise<unknown> =>
    data.all(sql`insert into setting (key, value) values ('notifications.stopped_at', to_jsonb(${LATE}::text))`);
  expect(await upgraded('notifications', Notifications0002Backfill, before)).toEqual([LATE]);
  expect(await data.all(sql`select 1 from setting where key = 'notifications.stopped_at'`)).toEqual([]);
  await settings.load();
  for (const plugin of ['tags', 'uploads', 'notifications']) await kernel.enable(plugin);
});

test.each([
  ['is complete', sql`complete = ${LATE}`, [LATE]],
  ['is incomplete', sql`complete = ${EARLY}, stale = true`, [EARLY]],
  ['was never filled', sql`complete = null`, [undefined]],
  ['is being filled', sql`complete = null, walking = ${LATE}, walked = ${POST}`, [LATE, { after: POST }]],
  [
    'is being updated',
    sql`complete = ${EARLY}, walking = ${LATE}, walked = ${POST}`,
    [LATE, { since: EARLY, after: POST }],
  ],
])('the backfill of a search index that %s continues from there', async (_what, state, expected) => {
  const { data } = forum.app;
  expect(await upgraded('search', Search0002Backfill, () => data.all(sql`update search_state set ${state}`))).toEqual(
    expected,
  );
});
