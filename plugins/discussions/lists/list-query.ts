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
 * tells whether there is a next.
 */
export function listQuery(query: Query): RawBuilder<DiscussionRow> {
  const {
    request: { limit, offset = 0 },
    order,
  } = query;
  // A literal limit: for a parameter the planner would have to guess, and could choose to sort everything.
  const page = sql.raw(String(limit + 1));
  return sql<DiscussionRow>`select ${discussionColumns(limit)}
    from (select d.id from ${candidates(query)} order by ${orderBy(order, 'd')} limit ${page}${offset > 0 ? sql` offset ${offset}` : sql``}) page
    join discussion d on d.id = page.id join post f on f.id = d.first_post_id
    order by ${orderBy(order, 'd')}`;
}

/**
 * Where the rows of a list come from. Where some categories are hidden, those that are not are each read in the order
 * of the list and merged: what is hidden is not read past, however much there is of it. Each says by itself how far it
 * is read at most, or the planner would read all of it.
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
  const where = (...more: readonly RawBuilder<unknown>[]) =>
    sql`discussion d where ${sql.join([...parts, ...more], sql` and `)}`;
  if (category) return where(inCategory(category.id));
  if (visible.length === all) return where();
  if (authorId !== undefined || within || condition || visible.length > MAX_MERGED_CATEGORIES)
    return where(sql`d.category_id = any(${visible}::uuid[])`);
  const most = sql.raw(String(offset + limit + 1));
  const each = visible.map(
    (id) =>
      sql`(select ${columnsOf(order, 'd')} from ${where(inCategory(id))} order by ${orderBy(order, 'd')} limit ${most})`,
  );
  return sql`(${sql.join(each, sql` union all `)}) d`;
}
