import { sql, type RawBuilder } from 'parley-forum';
import type { ListRequest } from 'parley-forum/plugins/discussions';
import { after, columnsOf, orderBy, type OrderName } from './sort-orders.ts';
import { discussionColumns, type DiscussionRow } from '../rows.ts';

interface Query {
  readonly request: ListRequest;
  readonly order: OrderName;
  /** Ids of the requested categories that the viewer may see, and the total number of categories. */
  readonly visible: readonly string[];
  readonly all: number;
}
/**
 * Condition for one category, with its id as a literal: with a parameter PostgreSQL would use one plan for all
 * categories, and read all discussions in list order for a category that has few.
 */
const inCategory = (id: string): RawBuilder<unknown> => sql`d.category_id = ${sql.lit(id)}`;
/**
 * Maximum number of categories read separately and merged; planning more would take longer than skipping hidden rows.
 */
const MAX_MERGED_CATEGORIES = 50;
/** The same for the chosen part of a list with a condition, for which more rows than a page has are read of each. */
const MAX_MERGED_WITH_CONDITION = 8;

/**
 * The ids of the page come from indexes alone, so that a large offset does not read the rows it skips. One row more
 * than requested tells whether there is a next page. The few rows of a page are then looked up one by one: with a plain
 * join, a forum with a few thousand discussions would read all of them.
 */
export function listQuery(query: Query): RawBuilder<DiscussionRow> {
  const {
    request: { limit, offset = 0 },
    order,
  } = query;
  return sql<DiscussionRow>`select ${discussionColumns(limit)}
    from (select d.id from ${candidates(query)} order by ${orderBy(order, 'd')} limit ${atLeast(limit + 1)} offset ${offset}) page
    cross join lateral (select * from discussion where id = page.id limit 1) d join post f on f.id = d.first_post_id
    order by ${orderBy(order, 'd')} limit ${limit + 1}`;
}

/**
 * The source of a list's rows. If some categories are hidden, each visible one is read in list order and the results
 * are merged, so that hidden rows are never read, however many there are.
 */
function candidates({
  request: { category, categoryIds, authorId, within, where: condition, cursor, limit, offset = 0 },
  order,
  visible,
  all,
}: Query): RawBuilder<unknown> {
  const parts: RawBuilder<unknown>[] = [sql`d.deleted_at is null`];
  if (authorId !== undefined) parts.push(sql`d.author_id = ${authorId}`);
  if (within) parts.push(sql`d.id in (${within})`);
  if (condition) parts.push(sql`(${condition})`);
  if (cursor !== undefined) parts.push(after(order, cursor));
  const first = atLeast(offset + limit + 1);
  const read = (...more: readonly RawBuilder<unknown>[]) =>
    sql`(select ${columnsOf(order, 'd')} from discussion d where ${sql.join([...parts, ...more], sql` and `)}
      order by ${orderBy(order, 'd')} limit ${first})`;
  if (category) return sql`${read(inCategory(category.id))} d`;
  if (visible.length === all) return sql`${read()} d`;
  const most = condition ? (categoryIds ? MAX_MERGED_WITH_CONDITION : 0) : MAX_MERGED_CATEGORIES;
  if (authorId !== undefined || within || visible.length > most)
    return sql`${read(sql`d.category_id = any(${visible}::uuid[])`)} d`;
  return sql`(${sql.join(
    visible.map((id) => read(inCategory(id))),
    sql` union all `,
  )}) d`;
}

/**
 * Rounds up to a power of two. It is a literal, because for a parameter the planner would have to guess, and could
 * choose to sort everything. Only a few different values are used, because each makes a separate prepared statement.
 */
const atLeast = (rows: number): RawBuilder<unknown> => sql.raw(String(2 ** Math.ceil(Math.log2(rows))));
