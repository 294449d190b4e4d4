import { sql, type Data, type RawBuilder } from 'parley-forum';
import type { MemberListRequest } from 'parley-forum/plugins/accounts';
import { badCursor, decodeCursor, decodeMoment, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import { namesFrom } from './name-search.ts';

interface Row {
  readonly id: string;
  readonly key: string | Date;
}
interface Order {
  /** The sort key; ties are broken by id. */
  readonly key: RawBuilder<unknown>;
  readonly type: RawBuilder<unknown>;
  readonly ascending: boolean;
}
const moment = (column: string): Order => ({
  key: sql.ref(column),
  type: sql`timestamptz`,
  ascending: false,
});
const ORDERS: Readonly<Record<MemberListRequest['sort'], Order>> = {
  newest: moment('joined_at'),
  last_seen: moment('last_seen_at'),
  name: { key: sql`lower(username::text) collate "C"`, type: sql`text collate "C"`, ascending: true },
};

/**
 * Lists ids of active accounts in an order for which there is an index. `hiding` returns conditions for members who
 * hide when they were last seen; their position and cursors must not reveal it.
 */
export async function listMembers(
  data: Data,
  { sort, name, limit, offset = 0, cursor }: MemberListRequest,
  hiding: (account: RawBuilder<string>) => readonly RawBuilder<boolean>[],
): Promise<Page<string>> {
  const { key, type, ascending } = ORDERS[sort];
  const way = ascending ? sql`asc` : sql`desc`;
  const conditions = [sql`status = 'active'`];
  if (sort === 'last_seen')
    conditions.push(
      sql`last_seen_at is not null`,
      ...hiding(sql<string>`account.id`).map((hides) => sql`not ${hides}`),
    );
  if (name !== undefined) conditions.push(namesFrom(name).matches);
  if (cursor !== undefined) {
    const [last, id] = readCursor(cursor, sort);
    const beyond = ascending ? sql`>` : sql`<`;
    conditions.push(sql`(${key}, id) ${beyond} (${last}::${type}, ${id}::uuid)`);
  }
  const rows = await data.all(sql<Row>`select id, ${key} as key from account
    where ${sql.join(conditions, sql` and `)} order by ${key} ${way}, id ${way} limit ${limit + 1} offset ${offset}`);
  const page = pageOfRows(rows, limit, (last) => [sort, keyOf(last), last.id]);
  return { ...page, items: page.items.map(({ id }) => id) };
}

const keyOf = ({ key }: Row): string | number => (typeof key === 'string' ? key : key.getTime());

function readCursor(cursor: string, sort: string): readonly [string | Date, string] {
  const [of, last, id] = decodeCursor(cursor, 3);
  if (of !== sort || typeof id !== 'string' || !isId(id)) throw badCursor();
  return [sort === 'name' ? String(last) : decodeMoment(last), id];
}
