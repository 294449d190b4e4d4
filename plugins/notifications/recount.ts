import { sql, type Counter, type Data } from 'parley-forum';
import { categoryCounter } from 'parley-forum/plugins/discussions';

/**
 * Counter of unread notifications by member and category. `changed` is called with the members whose counts were
 * corrected.
 */
export const unreadCounter = ({
  data,
  changed,
}: {
  readonly data: Data;
  readonly changed: (userIds: readonly string[]) => Promise<void>;
}): Counter =>
  categoryCounter({
    data,
    name: 'unread notifications',
    label: 'member',
    table: 'notification_count',
    owner: 'user_id',
    count: 'unread',
    async keys({ after, limit, descending = false }) {
      const [order, rest] = [
        descending ? sql`desc` : sql`asc`,
        after === undefined ? sql`true` : sql`user_id > ${after}::uuid`,
      ];
      const part = (table: string) =>
        sql`(select distinct user_id from ${sql.table(table)} where ${rest} order by user_id ${order} limit ${limit})`;
      const rows = await data.all(sql<{ id: string }>`
        select user_id as id from (${part('notification')} union ${part('notification_count')}) member
        order by user_id ${order} limit ${limit}`);
      return rows.map(({ id }) => id);
    },
    actual: (userIds) => sql`select user_id, category_id, count(*)::int as unread from notification
      where user_id = any(${userIds}::uuid[]) and not is_read group by user_id, category_id`,
    repair: (userIds, correct) =>
      data.transaction(async () => {
        await correct();
        await changed(userIds);
      }),
  });
