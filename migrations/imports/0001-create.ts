import { Migration } from 'parley-forum';

export default class Imports0001Create extends Migration {
  override up(): void {
    this.addSql(`create table imported_discussion (
      source_key text collate "C" primary key,
      discussion_id uuid not null
    )`);
  }

  override down(): void {
    this.addSql('drop table imported_discussion');
  }
}
