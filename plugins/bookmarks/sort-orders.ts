import { sql, type RawBuilder } from 'parley-forum';
import { badCursor, decodeCursor, decodeMoment, isId } from 'parley-forum/plugins/api';
import type { Sort } from 'parley-forum/plugins/bookmarks';
import type { Bookmark } from './rows.ts';

/** The sort key of bookmarks without a reminder, later than any reminder can be. Epoch milliseconds. */
const NEVER = 253_402_300_799_999;

interface Order {
  readonly key: RawBuilder<unknown>;
  readonly ascending: boolean;
  keyOf(bookmark: Bookmark): number;
}
/** Each order breaks ties by id, in the same direction. */
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

/** The condition for rows after `cursor`. Throws 400 if the cursor belongs to another order. */
export function after(sort: Sort, cursor: string): RawBuilder<unknown> {
  const [name, key, id] = decodeCursor(cursor, 3);
  if (name !== sort || typeof id !== 'string' || !isId(id)) throw badCursor();
  const order = ORDERS[sort];
  return sql`(${order.key}, b.id) ${sql.raw(order.ascending ? '>' : '<')} (${decodeMoment(key)}::timestamptz, ${id}::uuid)`;
}

/** The keys of the cursor after the last bookmark of a page. */
export const sortKeys = (sort: Sort, bookmark: Bookmark): readonly (string | number)[] => [
  sort,
  ORDERS[sort].keyOf(bookmark),
  bookmark.id,
];
