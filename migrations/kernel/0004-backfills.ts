import { Migration } from 'parley-forum';

/** Up to where each plugin that copies another's data has missed nothing of it, as it was when one last started or stopped. */
export default class Backfills extends Migration {
  override up(): void {
    this.addSql('create table backfill (plugin text primary key, checkpoint text not null)');
  }

  override down(): void {
    this.addSql('drop table backfill');
  }
}
