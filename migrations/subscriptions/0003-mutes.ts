import { Migration } from 'parley-forum';

export default class Subscriptions0003Mutes extends Migration {
  override up(): void {
    this.addSql('alter table follow add column is_muted boolean not null default false');
  }

  override down(): void {
    this.addSql('delete from follow where is_muted');
    this.addSql('alter table follow drop column is_muted');
  }
}
