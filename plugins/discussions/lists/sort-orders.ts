import { sql, type RawBuilder } from 'parley-forum';
import { isId, badCursor, decodeCursor, decodeMoment } from 'parley-forum/plugins/api';
import type { Sort } from 'parley-forum/plugins/discussions';

import type { DiscussionRow } from '../rows.ts';

/**
 * The first two sort by last activity, after the discussions that moderators pinned in their category or everywhere.
 */
export type OrderName = 'pinned' | 'pinned_everywhere' | Sort;
type Kind = 'flag' | 'time' | 'count';
type Column = 'is_pinned' | 'is_pinned_everywhere' | 'last_post_at' | 'created_at' | 'reply_count' | 'view_count';

/** Sort keys before the id, which breaks ties in the same direction, matching the indexes. */
const ORDERS: Readonly<
  Record<OrderName, { readonly keys: readonly (readonly [Column, Kind])[]; readonly ascending?: true }>
> = {
  pinned: {
    keys: [
      ['is_pinned', 'flag'],
      ['last_post_at', 'time'],
    ],
  },
  pinned_everywhere: {
    keys: [
      ['is_pinned_everywhere', 'flag'],
      ['last_post_at', 'time'],
    ],
  },
  latest: { keys: [['last_post_at', 'time']] },
  newest: { keys: [['created_at', 'time']] },
  oldest: { keys: [['created_at', 'time']], ascending: true },
  most_replied: { keys: [['reply_count', 'count']] },
  most_viewed: { keys: [['view_count', 'count']] },
};
const CASTS: Readonly<Record<Kind, string>> = { flag: 'boolean', time: 'timestamptz', count: 'integer' };

/** The columns that `orderBy` uses, of the discussion table under `alias`. */
export const columnsOf = (name: OrderName, alias: string): RawBuilder<unknown> =>
  sql.raw([...ORDERS[name].keys.map(([column]) => column), 'id'].map((column) => `${alias}.${column}`).join(', '));

/** The `order by` list for the discussion table under `alias`. */
export function orderBy(name: OrderName, alias: string): RawBuilder<unknown> {
  const { keys, ascending } = ORDERS[name];
  return sql.raw(
    [...keys.map(([column]) => column), 'id']
      .map((column) => `${alias}.${column} ${ascending ? 'asc' : 'desc'}`)
      .join(', '),
  );
}

/** The condition for rows after `cursor`. Throws 400 for a cursor of another order. */
export function after(name: OrderName, cursor: string): RawBuilder<unknown> {
  const { keys, ascending } = ORDERS[name];
  const values = decodeCursor(cursor, keys.length + 2);
  const id = values.at(-1);
  if (values[0] !== name || typeof id !== 'string' || !isId(id)) throw badCursor();
  const columns = [...keys.map(([column]) => column), 'id'].map((column) => `d.${column}`).join(', ');
  const bounds = keys.map(([, kind], index) => sql`${valueOf(kind, values[index + 1])}::${sql.raw(CASTS[kind])}`);
  return sql`(${sql.raw(columns)}) ${sql.raw(ascending ? '>' : '<')} (${sql.join([...bounds, sql`${id}::uuid`])})`;
}

/** The default order of all categories that a cursor belongs to. */
export function orderOfCursor(cursor: string): OrderName {
  try {
    const [name] = decodeCursor(cursor, ORDERS.pinned_everywhere.keys.length + 2);
    return name === 'pinned_everywhere' ? name : 'latest';
  } catch {
    return 'latest';
  }
}

/** The keys of the cursor after `row`, the last one of a page. */
export const sortKeys = (name: OrderName, row: DiscussionRow): readonly (string | number)[] => [
  name,
  ...ORDERS[name].keys.map(([column]) => Number(row[column])),
  row.id,
];

function valueOf(kind: Kind, value: string | number | undefined): unknown {
  if (kind === 'time') return decodeMoment(value);
  if (kind === 'flag') return value === 1;
  if (!Number.isInteger(value) || Math.abs(Number(value)) > 2_147_483_647) throw badCursor();
  return value;
}
