import { sql, type RawBuilder } from 'parley-forum';
import type { ListRequest } from 'parley-forum/plugins/discussions';
import { after, columnsOf, orderBy, type OrderName } from './sort-orders.ts';
import { discussionColumns, type DiscussionRow } from '../rows.ts';

interface Query {
  readonly request: ListRequest;
  readonly order: OrderName;
  /** Ids of the categories that the viewer may see and has asked for, and how many categories there are. */
  readonly visible: readonly string[];
  readonly all: number;
}
/**
 * Of one category, by its id as a literal: for a parameter PostgreSQL keeps one plan for all categories, and reads all
 * discussions in the order of the list where one has few.
 */
const inCategory = (id: string): RawBuilder<unknown> => sql`d.category_id = ${sql.lit(id)}`;
/** Categories that are read beside one another; planning more would take longer than reading past what is hidden. */
const MAX_MERGED_CATEGORIES = 50;

/**
 * The page's ids come from indexes alone, so that a far offset does not read the rows it skips. One more than the page
 * tells whether there is a next. The few rows of a page are then found one by one: joined plainly, a forum of a few
 * thousand discussions would read all of them.
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
 * Where the rows of a list come from. Where some categories are hidden, those that are not are each read in the order
 * of the list and merged: what is hidden is not read past, however much there is of it.
 */
function candidates({
  request: { category, authorId, within, where: condition, cursor, limit, offset = 0 },
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
  if (authorId !== undefined || within || condition || visible.length > MAX_MERGED_CATEGORIES)
    return sql`${read(sql`d.category_id = any(${visible}::uuid[])`)} d`;
  return sql`(${sql.join(
    visible.map((id) => read(inCategory(id))),
    sql` union all `,
  )}) d`;
}

/**
 * So many rows or somewhat more, up to a power of two. As a literal, since for a parameter the planner would have to
 * guess, and could choose to sort everything; of few different sizes, since each is a statement of its own to prepare.
 */
const atLeast = (rows: number): RawBuilder<unknown> => sql.raw(String(2 ** Math.ceil(Math.log2(rows))));
