import { sql, type Data } from 'parley-forum';
import type { FileTexts } from 'parley-forum/ports/pictures';

/** The path on this site under which all files are served. */
export const FILES_PATH = '/uploads/';

/** All stored settings, including those of plugins that are off. */
export const SETTINGS: FileTexts = { table: 'setting', column: 'value' };

/**
 * The given ids that appear in texts of these columns. A single statement, so that a text moved between two columns is
 * seen in one of them.
 */
export async function idsIn(
  data: Data,
  columns: readonly FileTexts[],
  ids: readonly string[],
): Promise<readonly string[]> {
  const texts = columns.map(
    ({ table, column }) => sql`select ${sql.ref(column)}::text as text from ${sql.table(table)}`,
  );
  // Most texts contain no file at all: they are scanned once, and only texts with files are compared with each path.
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
 * The columns with texts that may contain files: those of running plugins, which are recorded here, and recorded ones
 * of plugins that are off. Columns of uninstalled plugins are dropped from the record.
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
