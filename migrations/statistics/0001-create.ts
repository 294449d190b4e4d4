import { Migration } from 'parley-forum';

export default class Statistics0001Create extends Migration {
  override up(): void {
    this.addSql(`create table statistics_number (
      unit text not null check (unit in ('day', 'month')),
      start timestamptz(3) not null,
      name text not null,
      count integer not null,
      counted_at timestamptz(3) not null,
      primary key (unit, start, name)
    )`);
  }

  override down(): void {
    this.addSql('drop table statistics_number');
  }
}
