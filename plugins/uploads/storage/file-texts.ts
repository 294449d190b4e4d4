import { sql, type Data } from 'parley-forum';
import type { FileTexts } from 'parley-forum/ports/pictures';

/** Where all files lie, as a path of this site. */
export const FILES_PATH = '/uploads/';

/** All stored settings, also of plugins that are off. */
export const SETTINGS: FileTexts = { table: 'setting', column: 'value' };

/** Those uploads that stand in texts of these columns. One statement: what moves between two of them is in one. */
export async function idsIn(
  data: Data,
  columns: readonly FileTexts[],
  ids: readonly string[],
): Promise<readonly string[]> {
  const texts = columns.map(
    ({ table, column }) => sql`select ${sql.ref(column)}::text as text from ${sql.table(table)}`,
  );
  // Most texts have no file at all: read once, those that have are compared with each path.
  const rows = await data.all(sql<{ id: string }>`
    with texts as materialized (
      select text from (${sql.join(texts, sql` union all `)}) own where position(${FILES_PATH} in text) > 0
    )
    select id from unnest(${ids}::text[]) as given (id)
    where exists (select from texts where position(${FILES_PATH} || given.id || '/' in texts.text) > 0)`);
  const found = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => found.has(id));
}

/**
 * The columns that hold texts with files: those of plugins that run, which are remembered, and of plugins that are off.
 * Without those of plugins that were uninstalled.
 */
export async function columnsWithFiles(data: Data, running: readonly FileTexts[]): Promise<readonly FileTexts[]> {
  await data.all(sql`insert into upload_text_column (table_name, column_name)
    select * from unnest(${running.map(({ table }) => table)}::text[], ${running.map(({ column }) => column)}::text[])
    on conflict do nothing`);
  await data.all(sql`delete from upload_text_column t where not exists (
    select from information_schema.columns c
    where c.table_schema = current_schema() and c.table_name = t.table_name and c.column_name = t.column_name)`);
  const known = await data.all(sql<FileTexts>`select table_name as "table", column_name as "column"
    from upload_text_column order by table_name, column_name`);
  return [SETTINGS, ...known];
}
