import { counterKeys, sql, type Cache, type Counter, type Data } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';

/** The number of reactions of each type per post. */
export const reactionCounter = ({ data, cache }: { readonly data: Data; readonly cache: Cache }): Counter => {
  const actual = (keys: readonly string[]) =>
    sql`select post_id, type, count(*)::int as count from reaction where post_id = any(${keys}::uuid[])
      group by post_id, type`;
  return {
    name: 'reactions of posts',
    keys: counterKeys(data, { table: 'reaction', column: 'post_id' }, { table: 'reaction_count', column: 'post_id' }),
    async check(keys) {
      const rows = await data.all(sql<{ line: string }>`
        select format('post %s, %s: %s, but %s', post_id, type, coalesce(k.count, 0), coalesce(t.count, 0)) as line
        from (${actual(keys)}) t full join (select * from reaction_count where post_id = any(${keys}::uuid[])) k
          using (post_id, type)
        where coalesce(k.count, 0) <> coalesce(t.count, 0) order by post_id, type`);
      return rows.map(({ line }) => line);
    },
    async repair(keys) {
      await data.transaction(async () => {
        await data.all(
          sql`insert into reaction_count (post_id, type, count) select post_id, type, 0 from (${actual(keys)}) t
            order by post_id, type on conflict do nothing`,
        );
        await data.all(
          sql`select from reaction_count where post_id = any(${keys}::uuid[]) order by post_id, type for update`,
        );
        await data.all(sql`update reaction_count k set count = n.count from (
            select c.post_id, c.type, coalesce(t.count, 0) as count from reaction_count c
            left join (${actual(keys)}) t using (post_id, type)
            where c.post_id = any(${keys}::uuid[])
          ) n where k.post_id = n.post_id and k.type = n.type`);
      });
      await cache.purge(discussionCacheTags.all);
    },
  };
};
