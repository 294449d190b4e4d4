import { counterKeys, sql, type Cache, type Counter, type Data, type RawBuilder } from 'parley-forum';
import { listCacheTags } from 'parley-forum/plugins/discussions';
import { lastPostOf } from './counters.ts';

interface RecountDeps {
  readonly data: Data;
  readonly cache: Cache;
}
interface MismatchRow {
  readonly line: string;
}
type Keys = readonly string[];

const mismatches = async (data: Data, query: RawBuilder<MismatchRow>): Promise<readonly string[]> =>
  (await data.all(query)).map(({ line }) => line);

/** All counters of this plugin. Categories come last, because they are compared with the counts of participants. */
export const discussionCounters = ({ data, cache }: RecountDeps): readonly Counter[] => {
  const repairAndPurge = (work: () => Promise<unknown>) =>
    data.transaction(work).then(() => cache.purge(...listCacheTags));
  return [
    participants(data, repairAndPurge),
    discussions(data, repairAndPurge),
    authors(data, repairAndPurge),
    authorTotals(data, repairAndPurge),
    categories(data, repairAndPurge),
  ];
};

type RepairAndPurge = (work: () => Promise<unknown>) => Promise<void>;

const lock = (data: Data, keys: Keys): Promise<unknown> =>
  data.all(sql`select from discussion where id = any(${keys}::uuid[]) order by id for no key update`);

function participants(data: Data, repairAndPurge: RepairAndPurge): Counter {
  const actual = (keys: Keys) => sql`select discussion_id, author_id as user_id, count(*)::int as posts from post
    where discussion_id = any(${keys}::uuid[]) and deleted_at is null group by discussion_id, author_id`;
  return {
    name: 'posts of participants',
    keys: counterKeys(data, { table: 'discussion', column: 'id' }),
    check: (keys) =>
      mismatches(
        data,
        sql<MismatchRow>`
      select format('discussion %s, member %s: %s, but %s', discussion_id, user_id, coalesce(k.posts, 0), coalesce(w.posts, 0)) as line
      from (${actual(keys)}) w
      full join (select * from discussion_participant where discussion_id = any(${keys}::uuid[])) k
        using (discussion_id, user_id)
      where coalesce(k.posts, 0) <> coalesce(w.posts, 0) order by discussion_id, user_id`,
      ),
    repair: (keys) =>
      repairAndPurge(async () => {
        await lock(data, keys);
        await data.all(sql`delete from discussion_participant k where discussion_id = any(${keys}::uuid[])
        and not exists (select from (${actual(keys)}) w
          where w.discussion_id = k.discussion_id and w.user_id = k.user_id)`);
        await data.all(sql`insert into discussion_participant (discussion_id, user_id, posts)
          select * from (${actual(keys)}) w
        on conflict (discussion_id, user_id) do update set posts = excluded.posts`);
      }),
  };
}

function discussions(data: Data, repairAndPurge: RepairAndPurge): Counter {
  const counted = (keys: Keys) => sql`select d.id, w.*, l.*
    from discussion d cross join lateral (
      select max(number) as numbers, count(*) filter (where number > 1 and deleted_at is null)::int as replies,
        count(distinct author_id) filter (where deleted_at is null)::int as people
      from post where discussion_id = d.id
    ) w cross join lateral (
      select id as last_id, author_id as last_author, created_at as last_at from ${lastPostOf(sql`d.id`)} last_post
    ) l where d.id = any(${keys}::uuid[])`;
  const stored = sql`(d.last_number, d.reply_count, d.participant_count, d.last_post_id, d.last_author_id, d.last_post_at)`;
  const actual = sql`(c.numbers, c.replies, c.people, c.last_id, c.last_author, c.last_at)`;
  return {
    name: 'numbers and last posts of discussions',
    keys: counterKeys(data, { table: 'discussion', column: 'id' }),
    check: (keys) =>
      mismatches(
        data,
        sql<MismatchRow>`select format('discussion %s: %s, but %s', d.number, ${stored}, ${actual}) as line
      from discussion d join (${counted(keys)}) c on c.id = d.id
      where ${stored} is distinct from ${actual} order by d.id`,
      ),
    repair: (keys) =>
      repairAndPurge(async () => {
        await lock(data, keys);
        await data.all(sql`update discussion d
          set last_number = c.numbers, reply_count = c.replies, participant_count = c.people, last_post_id = c.last_id,
        last_author_id = c.last_author, last_post_at = c.last_at from (${counted(keys)}) c where d.id = c.id
          and ${stored} is distinct from ${actual}`);
      }),
  };
}

function authors(data: Data, repairAndPurge: RepairAndPurge): Counter {
  const actual = (
    keys: Keys,
  ) => sql`select user_id, category_id, sum(discussions)::int as discussions, sum(posts)::int as posts from (
      select d.author_id as user_id, d.category_id, 1 as discussions, 0 as posts from discussion d
      join post f on f.id = d.first_post_id
      where d.author_id = any(${keys}::uuid[]) and d.deleted_at is null and f.deleted_at is null
      union all
      select p.author_id, d.category_id, 0, 1 from post p join discussion d on d.id = p.discussion_id
      where p.author_id = any(${keys}::uuid[]) and p.deleted_at is null and d.deleted_at is null
    ) each group by user_id, category_id`;
  return {
    name: 'discussions and posts of members',
    keys: async ({ after, limit, descending = false }) => {
      const [order, part] = [
        descending ? sql`desc` : sql`asc`,
        (column: string) => (after === undefined ? sql`true` : sql`${sql.ref(column)} > ${after}::uuid`),
      ];
      // Only posts that are not deleted are indexed by author.
      const rows = await data.all(sql<{ id: string }>`select id from (
          (select distinct user_id as id from discussion_author
              where ${part('user_id')} order by id ${order} limit ${limit})
          union (select distinct author_id as id from post where deleted_at is null
              and ${part('author_id')} order by id ${order} limit ${limit})
        ) member order by id ${order} limit ${limit}`);
      return rows.map(({ id }) => id);
    },
    check: (keys) =>
      mismatches(
        data,
        sql<MismatchRow>`
      select format('member %s, category %s: %s and %s, but %s and %s', user_id, category_id, coalesce(k.discussions, 0), coalesce(k.posts, 0),
        coalesce(w.discussions, 0), coalesce(w.posts, 0)) as line
      from (${actual(keys)}) w full join (select * from discussion_author where user_id = any(${keys}::uuid[])) k
        using (user_id, category_id)
      where (coalesce(k.discussions, 0), coalesce(k.posts, 0)) <> (coalesce(w.discussions, 0), coalesce(w.posts, 0))
      order by user_id, category_id`,
      ),
    repair: (keys) =>
      repairAndPurge(async () => {
        await data.all(sql`insert into discussion_author (user_id, category_id, discussions, posts)
          select user_id, category_id, 0, 0 from (${actual(keys)}) w
        order by category_id, user_id on conflict do nothing`);
        await data.all(
          sql`select from discussion_author where user_id = any(${keys}::uuid[])
            order by category_id, user_id for update`,
        );
        // Count only after the rows are locked: transactions that held one of them have committed, and later ones wait.
        await data.all(sql`update discussion_author k set discussions = t.discussions, posts = t.posts from (
          select a.user_id, a.category_id, coalesce(w.discussions, 0) as discussions, coalesce(w.posts, 0) as posts
          from discussion_author a left join (${actual(keys)}) w using (user_id, category_id)
          where a.user_id = any(${keys}::uuid[])
        ) t where k.user_id = t.user_id and k.category_id = t.category_id`);
      }),
  };
}

function authorTotals(data: Data, repairAndPurge: RepairAndPurge): Counter {
  const actual = (keys: Keys) => sql`select t.id as user_id, coalesce(sum(a.posts), 0)::int as posts
    from unnest(${keys}::uuid[]) as t(id) left join discussion_author a on a.user_id = t.id group by t.id`;
  return {
    name: 'posts of members in all categories',
    keys: counterKeys(
      data,
      { table: 'discussion_author', column: 'user_id' },
      { table: 'discussion_author_total', column: 'user_id' },
    ),
    check: (keys) =>
      mismatches(
        data,
        sql<MismatchRow>`select format('member %s: %s, but %s', user_id, coalesce(t.posts, 0), w.posts) as line
      from (${actual(keys)}) w left join discussion_author_total t using (user_id) where coalesce(t.posts, 0) <> w.posts
      order by user_id`,
      ),
    repair: (keys) =>
      repairAndPurge(async () => {
        await data.all(
          sql`select from discussion_author where user_id = any(${keys}::uuid[])
            order by category_id, user_id for update`,
        );
        await data.all(sql`insert into discussion_author_total (user_id, posts) select user_id, posts
          from (${actual(keys)}) w order by user_id
        on conflict (user_id) do update set posts = excluded.posts`);
      }),
  };
}

function categories(data: Data, repairAndPurge: RepairAndPurge): Counter {
  const actual = (
    keys: Keys,
  ) => sql`select c.id, count(distinct d.id)::int as discussions, coalesce(sum(p.posts), 0)::int as posts
    from category c left join discussion d on d.category_id = c.id and d.deleted_at is null
    left join discussion_participant p on p.discussion_id = d.id
    where c.id = any(${keys}::uuid[]) group by c.id`;
  const stored = (
    keys: Keys,
  ) => sql`select category_id as id, sum(discussions)::int as discussions, sum(posts)::int as posts from category_count
    where category_id = any(${keys}::uuid[]) group by category_id`;
  return {
    name: 'discussions and posts of categories',
    keys: counterKeys(data, { table: 'category', column: 'id' }),
    check: (keys) =>
      mismatches(
        data,
        sql<MismatchRow>`
      select format('category %s: %s and %s, but %s and %s', id, coalesce(k.discussions, 0), coalesce(k.posts, 0), t.discussions, t.posts) as line
      from (${actual(keys)}) t left join (${stored(keys)}) k using (id)
      where (coalesce(k.discussions, 0), coalesce(k.posts, 0)) <> (t.discussions, t.posts) order by id`,
      ),
    repair: (keys) =>
      repairAndPurge(async () => {
        await data.all(sql`insert into category_count (category_id, part, discussions, posts)
        select id, 0, 0, 0 from category where id = any(${keys}::uuid[]) order by id on conflict do nothing`);
        await data.all(
          sql`select from category_count where category_id = any(${keys}::uuid[])
            order by category_id, part for update`,
        );
        await data.all(sql`update category_count c
          set discussions = c.discussions + t.discussions - k.discussions, posts = c.posts + t.posts - k.posts
        from (${actual(keys)}) t join (${stored(keys)}) k using (id) where c.category_id = t.id and c.part = 0`);
      }),
  };
}
