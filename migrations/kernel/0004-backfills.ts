import { Migration } from 'parley-forum';

/**
 * The position up to which each plugin that copies another's data has missed nothing, as of the last start or stop of
 * either.
 */
export default class Backfills extends Migration {
  override up(): void {
    this.addSql('create table backfill (plugin text primary key, checkpoint text not null)');
  }

  override down(): void {
    this.addSql('drop table backfill');
  }
}
