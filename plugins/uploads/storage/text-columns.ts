import { sql, type Data } from 'parley-forum';
import { fileTextsIn, type FileTexts, type TextColumn } from 'parley-forum/ports/pictures';

/** Settings are of plugins, too. */
const SETTINGS: TextColumn = { table: 'setting', name: 'value' };

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
    return [SETTINGS, ...others].map((one) => fileTextsIn(this.#data, one));
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
