import { beforeAll, describe, expect, test } from 'vitest';
import { counters, Data, sql } from 'parley-forum';
import { figures } from 'parley-forum/plugins/admin';
import { Importer, type ImportedDiscussion } from 'parley-forum/plugins/discussions';
import { miscounted, startForum } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';

// The clock of the tests stands at 15 January 2026, and all accounts of the forum joined then.
const forum = useForum({ 'api.rate_limit_user': 100_000 });
const count = (): Promise<unknown> => forum.app.runSchedule('statistics/job:count');

interface Series {
  readonly name: string;
  readonly total: number;
  readonly before: number;
  readonly periods: readonly { readonly start: string; readonly count: number | null }[];
}
async function numbers(unit = 'day'): Promise<Readonly<Record<string, Series>>> {
  const { body } = expectStatus(await forum.as.root.get(`/api/statistics?unit=${unit}`), 200);
  return Object.fromEntries(body.statistics.map((one: Series) => [one.name, one]));
}
const on = (series: Series | undefined, start: string): number | null | undefined =>
  series?.periods.find((one) => one.start.startsWith(start))?.count;

/** Discussions of the past, each with posts by ada and bob in turn at these times. */
async function written(...discussions: readonly (readonly string[])[]): Promise<void> {
  const { id: categoryId } = (await forum.guest.get('/api/categories/general')).body.category;
  const authors = [forum.ids.ada, forum.ids.bob];
  const imported = discussions.map((times): ImportedDiscussion => {
    const posts = times.map((time, at) => ({
      authorId: authors[at % 2]!,
      content: 'x',
      html: '<p>x</p>',
      createdAt: new Date(time),
    }));
    return { title: 'From before', categoryId, authorId: forum.ids.ada, createdAt: posts[0]!.createdAt, posts };
  });
  await forum.app.app.service(Importer).importDiscussions(imported);
}
/** How many days and months have stored numbers. */
const stored = () =>
  forum.app.app.service(Data).one(sql<{ days: number; months: number }>`
    select count(distinct start) filter (where unit = 'day')::int as days,
      count(distinct start) filter (where unit = 'month')::int as months from statistics_number`);
const wrong = (): Promise<readonly string[]> => miscounted(forum.app);
/** Corrects all numbers, as the command `recount` does. */
async function recount(): Promise<void> {
  for (const { value } of forum.app.app.extensions.read(counters))
    if (value.name.startsWith('numbers of ')) await value.repair(await value.keys({ limit: 1_000 }));
}

beforeAll(async () => {
  await written(
    ['2026-01-10T23:59:59.999Z', '2026-01-11T00:00:00.000Z', '2026-01-11T12:00:00Z'],
    ['2025-12-05T10:00:00Z', '2025-12-05T11:00:00Z'],
    ['2025-03-01T00:00:00Z'],
    ['2023-01-01T00:00:00Z'],
  );
});

describe('the numbers', () => {
  test('are counted for the page before the first count, which stores nothing', async () => {
    expect(on((await numbers())['posts'], '2026-01-11')).toBe(2);
    expect((await forum.as.root.get('/admin/statistics')).text).toContain('<title>Jan 11: Posts 2</title>');
    await forum.app.calm();
    expect(await stored()).toEqual({ days: 0, months: 0 });
  });

  test('are those of each day in UTC, and those of as many days before are summed', async () => {
    await count();
    const { posts, discussions, active_members: active, sign_ups: signUps } = await numbers();
    expect(posts?.periods).toHaveLength(30);
    expect([posts?.periods[0]?.start, posts?.periods.at(-1)?.start]).toEqual([
      '2025-12-17T00:00:00.000Z',
      '2026-01-15T00:00:00.000Z',
    ]);
    expect([on(posts, '2026-01-10'), on(posts, '2026-01-11'), on(posts, '2026-01-12')]).toEqual([1, 2, 0]);
    expect([posts?.total, posts?.before]).toEqual([3, 2]);
    expect([discussions?.total, discussions?.before]).toEqual([1, 1]);
    expect(on(active, '2026-01-11')).toBe(2);
    expect([active?.total, active?.before]).toEqual([0.1, 0.1]);
    // Five members of the tests, and none before.
    expect([on(signUps, '2026-01-15'), signUps?.total, signUps?.before]).toEqual([5, 5, 0]);
  });

  test('of months count different people of the whole month', async () => {
    const { posts, active_members: active } = await numbers('month');
    expect(posts?.periods).toHaveLength(12);
    expect([on(posts, '2025-03'), on(posts, '2025-12'), on(posts, '2026-01')]).toEqual([1, 2, 3]);
    expect([on(active, '2025-12'), on(active, '2026-01')]).toEqual([2, 2]);
    expect([posts?.total, posts?.before]).toEqual([6, 0]);
  });

  test('include what was deleted or is hidden, count what was moved once, and are counted again while the day lasts', async () => {
    const before = (await numbers())['posts'];
    const { id } = await forum.start('mia', 'Rota', 'staff');
    const reply = await forum.reply('mia', id, 'To be moved');
    const { id: doomed } = await forum.start('ada', 'Doomed');
    expectStatus(await forum.as.ada.delete(`/api/discussions/${doomed}`), 200);
    const move = { post_ids: [reply.id], title: 'Apart', category_id: 'general' };
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/move-posts`, move), 200);
    expect(on((await numbers())['posts'], '2026-01-15')).toBe(on(before, '2026-01-15'));
    await count();
    const after = await numbers();
    expect(on(after['posts'], '2026-01-15')).toBe(Number(on(before, '2026-01-15')) + 3);
    expect(on(after['discussions'], '2026-01-15')).toBe(3);
  });

  test('are the same as those of a recount, which corrects them after an import', async () => {
    expect(await wrong()).toEqual([]);
    await written(['2025-11-30T00:00:00Z', '2026-01-02T00:00:00Z']);
    expect(on((await numbers())['posts'], '2026-01-02')).toBe(0);
    expect((await wrong()).join('\n')).toContain('2026-01-02T00:00:00.000Z posts: 0, but 1');
    await recount();
    expect(on((await numbers())['posts'], '2026-01-02')).toBe(1);
    expect(await wrong()).toEqual([]);
  });
});

test('a forum without content stores none, as the content it is installed with may be older', async () => {
  await using fresh = await startForum();
  await fresh.runSchedule('statistics/job:count');
  expect(await fresh.app.data.all(sql`select from statistics_number`)).toEqual([]);
});

test('of a plugin that fails are left out, and the others are counted', async () => {
  const fail = () => Promise.reject(new Error('cannot count, as told'));
  const remove = forum.app.app.extensions.add(
    'saboteur',
    figures,
    { name: 'bad', label: 'Bad', kind: 'sum', count: fail },
    -1,
  );
  const { id } = await forum.start('ada', 'Counted all the same');
  const before = (await numbers())['posts'];
  await count();
  const { posts, bad } = await numbers();
  expect(on(posts, '2026-01-15')).toBe(Number(on(before, '2026-01-15')) + 1);
  expect(on(bad, '2026-01-15')).toBeNull();
  expectStatus(await forum.as.root.get('/admin/statistics'), 200);
  remove();
  expectStatus(await forum.as.root.delete(`/api/discussions/${id}`), 200);
});

describe('the pages', () => {
  test('show a chart with a table for each number, and say which time zone counts', async () => {
    const page = expectStatus(await forum.as.root.get('/admin/statistics'), 200).text;
    expect(page.match(/<svg class="chart"/g)).toHaveLength(4);
    for (const text of ['Sign-ups', 'New discussions', 'Posts', 'Active members', 'those of UTC', 'Show as a table'])
      expect(page).toContain(text);
    expect(page).toContain('<title>Jan 11: Posts 2</title>');
    expect((await forum.as.root.get('/admin/statistics?unit=month')).text).toContain(
      '<title>Mar 2025: Posts 1</title>',
    );
    expect((await forum.as.root.get('/admin/statistics?unit=year')).status).toBe(400);
  });

  test('give a file', async () => {
    const file = expectStatus(await forum.as.root.get('/admin/statistics?unit=month&format=csv'), 200);
    expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(file.headers.get('content-disposition')).toContain('statistics-month.csv');
    const lines = file.text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(13);
    expect([lines[0], lines[2]]).toEqual(['month,sign_ups,discussions,posts,active_members', '2025-03,0,1,1,1']);
  });

  test('and the dashboard are for administrators only', async () => {
    expect((await forum.as.root.get('/admin')).text).toContain('class="chart chart-spark"');
    for (const path of ['/admin/statistics', '/admin/statistics?format=csv'])
      expect([(await forum.as.mia.get(path)).status, (await forum.guest.get(path)).status]).toEqual([403, 303]);
    expect([
      (await forum.as.mia.get('/api/statistics')).status,
      (await forum.as.ada.get('/api/statistics')).status,
      (await forum.guest.get('/api/statistics')).status,
    ]).toEqual([403, 403, 401]);
  });

  test('read one statement, however much was written', async () => {
    const read = (): Promise<number> => forum.app.statements(() => forum.as.root.get('/api/statistics'));
    await read();
    const before = await read();
    await written(...Array.from({ length: 40 }, (_, at) => [`2026-01-0${(at % 9) + 1}T00:00:00Z`]));
    await recount();
    expect(await read()).toBe(before);
  });

  test('keep no numbers that are older than what is shown and what it is compared with', async () => {
    forum.app.clock.advance(3 * 86_400_000);
    await count();
    expect(await stored()).toEqual({ days: 60, months: 24 });
  });
});
