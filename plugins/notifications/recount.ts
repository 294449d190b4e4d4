import { counterKeys, sql, type Counter, type Data } from 'parley-forum';
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
    keys: counterKeys(
      data,
      { table: 'notification', column: 'user_id' },
      { table: 'notification_count', column: 'user_id' },
    ),
    actual: (userIds) => sql`select user_id, category_id, count(*)::int as unread from notification
      where user_id = any(${userIds}::uuid[]) and not is_read group by user_id, category_id`,
    repair: (userIds, correct) =>
      data.transaction(async () => {
        await correct();
        await changed(userIds);
      }),
  });
