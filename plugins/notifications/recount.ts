import { sql, type Counter, type Data } from 'parley-forum';

/** How many unread notifications a member has, by category. `changed` gets the members whose counts were corrected. */
export const unreadCounter = ({
  data,
  changed,
}: {
  readonly data: Data;
  readonly changed: (userIds: readonly string[]) => Promise<void>;
}): Counter => {
  const actual = (keys: readonly string[]) => sql`select user_id, category_id, count(*)::int as unread from notification
    where user_id = any(${keys}::uuid[]) and not is_read group by user_id, category_id`;
  return {
    name: 'unread notifications',
    async keys({ after, limit, falling = false }) {
      const [order, rest] = [
        falling ? sql`desc` : sql`asc`,
        after === undefined ? sql`true` : sql`user_id > ${after}::uuid`,
      ];
      const part = (table: string) =>
        sql`(select distinct user_id from ${sql.table(table)} where ${rest} order by user_id ${order} limit ${limit})`;
      const rows = await data.all(sql<{ id: string }>`
        select user_id as id from (${part('notification')} union ${part('notification_count')}) member order by user_id ${order} limit ${limit}`);
      return rows.map(({ id }) => id);
    },
    async check(keys) {
      const rows = await data.all(sql<{ line: string }>`
        select format('member %s, category %s: %s, but %s', user_id, category_id, coalesce(k.unread, 0), coalesce(t.unread, 0)) as line
        from (${actual(keys)}) t full join (select * from notification_count where user_id = any(${keys}::uuid[])) k using (user_id, category_id)
        where coalesce(k.unread, 0) <> coalesce(t.unread, 0) order by user_id, category_id`);
      return rows.map(({ line }) => line);
    },
    async repair(keys) {
      await data.transaction(async () => {
        await data.all(sql`insert into notification_count (user_id, category_id, unread) select user_id, category_id, 0 from (${actual(keys)}) t
          order by user_id, category_id on conflict do nothing`);
        await data.all(
          sql`select from notification_count where user_id = any(${keys}::uuid[]) order by user_id, category_id for update`,
        );
        await data.all(sql`update notification_count k set unread = n.unread from (
            select c.user_id, c.category_id, coalesce(t.unread, 0) as unread from notification_count c left join (${actual(keys)}) t using (user_id, category_id)
            where c.user_id = any(${keys}::uuid[])
          ) n where k.user_id = n.user_id and k.category_id = n.category_id`);
        await changed(keys);
      });
    },
  };
};
