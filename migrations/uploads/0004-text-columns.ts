import { Migration } from 'parley-forum';

/** Columns of other plugins that may show or link to files, which are read even while their plugin is off. */
export default class Uploads0004TextColumns extends Migration {
  override up(): void {
    this.addSql(`create table upload_text_column (
      table_name text not null,
      column_name text not null,
      primary key (table_name, column_name)
    )`);
  }

  override down(): void {
    this.addSql('drop table upload_text_column');
  }
}
