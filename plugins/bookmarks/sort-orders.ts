import { sql, type RawBuilder } from 'parley-forum';
import { badCursor, decodeCursor, decodeMoment, encodeCursor, isId } from 'parley-forum/plugins/api';
import type { Sort } from 'parley-forum/plugins/bookmarks';
import type { Bookmark } from './rows.ts';

/** Where bookmarks without a reminder stand among reminders: behind every date that one may have. Epoch milliseconds. */
const NEVER = 253_402_300_799_999;

interface Order {
  readonly key: RawBuilder<unknown>;
  readonly ascending: boolean;
  keyOf(bookmark: Bookmark): number;
}
/** Each breaks ties by the id, in the same direction. */
const ORDERS: Readonly<Record<Sort, Order>> = {
  newest: { key: sql`b.created_at`, ascending: false, keyOf: ({ createdAt }) => createdAt.getTime() },
  oldest: { key: sql`b.created_at`, ascending: true, keyOf: ({ createdAt }) => createdAt.getTime() },
  reminder: {
    key: sql`coalesce(b.remind_at, ${sql.lit(new Date(NEVER).toISOString())}::timestamptz)`,
    ascending: true,
    keyOf: ({ remindAt }) => remindAt?.getTime() ?? NEVER,
  },
};

/** `order by` for the bookmark table under the alias `b`. */
export function orderBy(sort: Sort): RawBuilder<unknown> {
  const { key, ascending } = ORDERS[sort];
  return ascending ? sql`${key}, b.id` : sql`${key} desc, b.id desc`;
}

/** The condition for what comes after `cursor`. 400 for a cursor of another order. */
export function after(sort: Sort, cursor: string): RawBuilder<unknown> {
  const [name, key, id] = decodeCursor(cursor, 3);
  if (name !== sort || typeof id !== 'string' || !isId(id)) throw badCursor();
  const order = ORDERS[sort];
  return sql`(${order.key}, b.id) ${sql.raw(order.ascending ? '>' : '<')} (${decodeMoment(key)}::timestamptz, ${id}::uuid)`;
}

/** Where the page that ends with this one goes on. */
export const cursorAfter = (sort: Sort, bookmark: Bookmark): string =>
  encodeCursor([sort, ORDERS[sort].keyOf(bookmark), bookmark.id]);
