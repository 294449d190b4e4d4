import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Categories, SORTS } from 'parley-forum/plugins/discussions';
import { FULL } from '../../kit/full.ts';
import { listQuery } from '../../../plugins/discussions/lists/list-query.ts';
import type { OrderName } from '../../../plugins/discussions/lists/sort-orders.ts';
import { useForum } from './forum.ts';

const forum = useForum();
const MANY = FULL ? 100_000 : 10_000;

interface Node {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Heap Fetches'?: number;
  readonly Plans?: readonly Node[];
}
/** Rows scanned. */
const readBy = (node: Node): number =>
  node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) +
  (node.Plans ?? []).reduce((sum, plan) => sum + readBy(plan), 0);

/** Creates many discussions in one category, newer and with more views than all others. */
async function fill(slug: string): Promise<void> {
  const { data } = forum.app.app;
  const { id } = forum.app.app
    .service(Categories)
    .all()
    .find((category) => category.slug === slug)!;
  await data.transaction(async () => {
    await data.all(
      sql`create temp table made on commit drop as select gen_random_uuid() as id, gen_random_uuid() as post, n from generate_series(1, ${MANY}::int) n`,
    );
    await data.all(sql`insert into discussion (id, title, slug, category_id, author_id, first_post_id, last_post_at, last_post_id, last_author_id, created_at, updated_at,
        last_number, reply_count, view_count, is_pinned, is_pinned_everywhere)
      select m.id, 'One of many', 'one-of-many', ${id}::uuid, ${forum.ids.mia}::uuid, post, '2030-01-01', post, ${forum.ids.mia}::uuid, '2030-01-01', '2030-01-01', 1, 0, 99, true, true from made m`);
    await data.all(sql`insert into post (id, discussion_id, number, author_id, content, html, created_at, updated_at)
      select post, m.id, 1, ${forum.ids.mia}::uuid, '', '', '2030-01-01', '2030-01-01' from made m`);
    await data.all(
      sql`insert into discussion_participant (discussion_id, user_id, posts) select m.id, ${forum.ids.mia}::uuid, 1 from made m`,
    );
    await data.all(
      sql`insert into discussion_author (user_id, category_id, discussions, posts) values (${forum.ids.mia}, ${id}, ${MANY}, ${MANY})`,
    );
    await data.all(sql`insert into category_count (category_id, part, discussions, posts) values (${id}, 0, ${MANY}, ${MANY})
      on conflict (category_id, part) do update set discussions = category_count.discussions + excluded.discussions, posts = category_count.posts + excluded.posts`);
  });
  await data.all(sql`vacuum analyze discussion`);
}

/** A page of a list for a viewer who may not see the staff category. */
function pageOf(order: OrderName, { limit = 20, offset = 0 } = {}): ReturnType<typeof listQuery> {
  const categories = forum.app.app.service(Categories).all();
  const visible = categories.filter(({ slug }) => slug !== 'staff').map(({ id }) => id);
  return listQuery({ request: { limit, offset }, order, visible, all: categories.length });
}
/** Rows that the page scans. */
async function pageCosts(order: OrderName): Promise<number> {
  const query = pageOf(order);
  const [row] = await forum.app.app.data.all(
    sql<{ 'QUERY PLAN': readonly { readonly Plan: Node }[] }>`explain (analyze, format json) ${query}`,
  );
  return readBy(row!['QUERY PLAN'][0]!.Plan);
}
const ORDERS = ['pinned', 'pinned_everywhere', ...SORTS] as const;

describe('discussions that a viewer may not see', () => {
  beforeAll(async () => {
    for (let count = 0; count < 30; count++) await forum.start('ada', `Seen ${count}`, count % 2 ? 'general' : 'help');
    await fill('staff');
  });

  test.each(ORDERS)('cost a list nothing, ordered by %s', async (order) => {
    expect(await pageCosts(order)).toBeLessThan(500);
  });

  test('are on no page of a list, and each of the others is on one', async () => {
    const numbers = async (offset: number): Promise<number[]> =>
      (await forum.guest.get(`/api/discussions?limit=20&offset=${offset}`)).body.discussions.map(
        ({ number }: { number: number }) => number,
      );
    const found = [...(await numbers(0)), ...(await numbers(20))];
    expect([found.length, new Set(found).size]).toEqual([30, 30]);
  });
});

describe('discussions that a viewer may see', () => {
  beforeAll(() => fill('general'), 120_000);

  test.each(ORDERS)('cost a page no more if there are many, ordered by %s', async (order) => {
    expect(await pageCosts(order)).toBeLessThan(500);
  });
});

describe.skipIf(process.env['PARLEY_TEST_DATABASE'] !== 'server')('a list query is prepared', () => {
  let prepared: readonly { readonly parameters: string }[];

  beforeAll(async () => {
    const { data } = forum.app.app;
    prepared = await data.transaction(async () => {
      for (const order of ORDERS)
        for (const limit of [17, 20, 25, 30])
          for (const offset of [0, 1]) await data.all(pageOf(order, { limit, offset }));
      return data.all(sql<{ parameters: string }>`select parameter_types::text as parameters from pg_prepared_statements
        where statement like '%union all%) page%'`);
    });
  });

  test('once for pages of similar size and position', () => {
    expect(prepared).toHaveLength(ORDERS.length);
  });

  test('for exactly the categories that it reads, which may have few discussions or none', () => {
    // With parameters, PostgreSQL soon uses one plan for all categories, which scans a whole index for such a one.
    expect(prepared.filter(({ parameters }) => parameters.includes('uuid'))).toEqual([]);
  });
});

describe('members are found by an index', () => {
  beforeAll(async () => {
    const { data } = forum.app.app;
    await data.all(sql`insert into account (id, username, email, password_hash, group_id, joined_at)
      select gen_random_uuid(), 'zz' || n, 'zz' || n || '@forum.test', '!', 'member', now() from generate_series(1, 20000) n`);
    await data.all(sql`analyze account`);
  });
  const names = async (text: string): Promise<string[]> =>
    (await forum.guest.get(`/api/users/search?q=${encodeURIComponent(text)}`)).body.users.map(
      ({ username }: { username: string }) => username,
    );

  test('by prefix for fewer than three letters, and by any part from three on', async () => {
    expect(await names('ad')).toEqual(['ada']);
    expect(await names('da')).toEqual([]);
    expect(await names('ADA')).toEqual(['ada']);
    expect(await names('oot')).toEqual(['root']);
    expect(await names('_')).toEqual([]);
    expect(await names('zz1')).toContain('zz1');
  });
});
