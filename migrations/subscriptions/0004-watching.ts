import { Migration } from 'parley-forum';

export default class Subscriptions0004Watching extends Migration {
  override up(): void {
    this.addSql('alter table follow add column is_watched boolean not null default false');
  }

  override down(): void {
    this.addSql('alter table follow drop column is_watched');
  }
}
