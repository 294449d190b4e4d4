import { sql, type Data, type RawBuilder } from '../../data/database.ts';

/** A table and its columns, except for generated ones. */
export interface Table {
  readonly name: string;
  /** The type in SQL notation, such as `timestamp(3) with time zone`. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

/** Number of rows per fetch. */
const FETCHED = 200;

/** All tables, sorted by name. */
export const tablesOf = (data: Data): Promise<readonly Table[]> =>
  data.all(sql<Table>`
    select c.relname as name,
      json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum) as columns
    from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
    group by c.relname order by c.relname`);

/**
 * The rows of a table, each as a JSON array of its columns in text form, which represents every type exactly. Must be
 * called in a transaction.
 */
export async function* rowsOf(data: Data, { name, columns }: Table): AsyncGenerator<readonly string[]> {
  const values = columns.map((column) => sql`${sql.ref(column.name)}::text`);
  await data.all(sql`declare rows_of no scroll cursor for
    select json_build_array(${sql.join(values)})::text as row from ${sql.table(name)}`);
  for (;;) {
    const rows = await data.all(sql<{ row: string }>`fetch ${sql.lit(FETCHED)} from rows_of`);
    if (rows.length === 0) break;
    yield rows.map(({ row }) => row);
  }
  await data.all(sql`close rows_of`);
}

/** Inserts rows in the format of `rowsOf`. `columns` are the columns of the rows, all of which the table must have. */
export async function addRows(data: Data, table: Table, columns: readonly string[], rows: readonly string[]) {
  const typeOf = (column: string): string => {
    const found = table.columns.find(({ name }) => name === column);
    if (!found) throw new Error(`the table "${table.name}" no longer has a column "${column}"`);
    return found.type;
  };
  const values = columns.map((column, at) => sql`(parsed.row ->> ${sql.lit(at)})::${sql.raw(typeOf(column))}`);
  const names = columns.map((column) => sql.ref(column));
  await data.all(sql`insert into ${sql.table(table.name)} (${sql.join(names)}) overriding system value
    select ${sql.join(values)} from unnest(${rows}::text[]) as line (text)
      cross join lateral (select line.text::json as row) as parsed`);
}

/**
 * Runs `work` in a transaction in which all tables start out empty, triggers are disabled and foreign keys are not
 * checked until the end.
 */
export async function refill(data: Data, work: (tables: readonly Table[]) => Promise<void>): Promise<void> {
  await data.transaction(async () => {
    await data.all(sql`select set_config('statement_timeout', '0', true)`);
    const tables = await tablesOf(data);
    const keys = await data.all(sql<{ table: string; name: string; definition: string }>`
      select t.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
      from pg_constraint k join pg_class t on t.oid = k.conrelid
      where k.contype = 'f' and k.connamespace = current_schema()::regnamespace order by t.relname, k.conname`);
    const alter = (table: string, change: RawBuilder<unknown>) =>
      data.all(sql`alter table ${sql.table(table)} ${change}`);
    for (const { table, name } of keys) await alter(table, sql`drop constraint ${sql.ref(name)}`);
    for (const { name } of tables) await alter(name, sql`disable trigger user`);
    for (const { name } of tables) await data.all(sql`delete from ${sql.table(name)}`);
    await work(tables);
    for (const { name } of tables) await alter(name, sql`enable trigger user`);
    for (const { table, name, definition } of keys)
      await alter(table, sql`add constraint ${sql.ref(name)} ${sql.raw(definition)}`);
  });
}

/** The last value of each sequence. */
export const sequencesOf = (data: Data): Promise<readonly { readonly name: string; readonly last: string }[]> =>
  data.all(sql<{ name: string; last: string }>`
    select sequencename as name, last_value::text as last from pg_sequences
    where schemaname = current_schema() and last_value is not null order by sequencename`);

/** Does nothing if there is no sequence of that name. */
export const setSequence = (data: Data, name: string, last: string) =>
  data.all(sql`select setval(to_regclass(quote_ident(${name})), ${last}::bigint)
    where to_regclass(quote_ident(${name})) is not null`);
