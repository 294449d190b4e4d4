import { sql, type Data } from 'parley-forum';
import { FILES_PATH, fileTextsIn, type FileTexts, type TextColumn } from 'parley-forum/ports/pictures';

/** All settings, also of plugins that are off. */
export const settingTexts = (data: Data): FileTexts => fileTextsIn(data, { table: 'setting', name: 'value' });

/** Those uploads that stand in one of the texts. */
export async function idsIn(texts: readonly FileTexts[], ids: readonly string[]): Promise<readonly string[]> {
  const pathOf = (id: string): string => `${FILES_PATH}${id}/`;
  const found = await Promise.all(texts.map((one) => one.containing(ids.map(pathOf))));
  return ids.filter((id) => found.some((paths) => paths.has(pathOf(id))));
}

/** Remembers in which columns the texts of other plugins lie, so that they count while a plugin is off. */
export class TextColumns {
  readonly #data: Data;

  constructor(data: Data) {
    this.#data = data;
  }

  /** Texts of plugins that are off, besides those of the ones that run. */
  async besides(running: readonly FileTexts[]): Promise<readonly FileTexts[]> {
    const columns = running.flatMap(({ column }) => column ?? []);
    await this.#remember(columns);
    const known = await this.#known();
    const others = known.filter((one) => !columns.some(({ table, name }) => table === one.table && name === one.name));
    return [settingTexts(this.#data), ...others.map((one) => fileTextsIn(this.#data, one))];
  }

  async #remember(columns: readonly TextColumn[]): Promise<void> {
    await this.#data.all(sql`insert into upload_text_column (table_name, column_name)
      select * from unnest(${columns.map(({ table }) => table)}::text[], ${columns.map(({ name }) => name)}::text[])
      on conflict do nothing`);
  }

  /** Without those of plugins that were uninstalled. */
  async #known(): Promise<readonly TextColumn[]> {
    await this.#data.all(sql`delete from upload_text_column t where not exists (
      select from information_schema.columns c
      where c.table_schema = current_schema() and c.table_name = t.table_name and c.column_name = t.column_name)`);
    return this.#data.all(sql<TextColumn>`select table_name as "table", column_name as name from upload_text_column
      order by table_name, column_name`);
  }
}
