import { Migration } from 'parley-forum';

export default class SlowMode0001Create extends Migration {
  override up(): void {
    this.addSql('create table slow_mode (discussion_id uuid primary key, seconds integer not null)');
  }

  override down(): void {
    this.addSql('drop table slow_mode');
  }
}
