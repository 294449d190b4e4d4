import { Migration } from 'parley-forum';

export default class ReadMarks0001Create extends Migration {
  override up(): void {
    // Free space in each page, and no index on columns that change: moving a mark touches a single page of the table.
    this.addSql(`create table read_mark (
      user_id uuid not null,
      discussion_id uuid not null,
      last_read_number integer not null,
      read_at timestamptz(3) not null,
      previous_number integer,
      previous_at timestamptz(3),
      primary key (user_id, discussion_id)
    ) with (fillfactor = 80)`);
    this.addSql(`create table read_start (
      user_id uuid primary key,
      new_since timestamptz(3) not null,
      all_read_until timestamptz(3) not null
    )`);
  }

  override down(): void {
    this.addSql('drop table read_start');
    this.addSql('drop table read_mark');
  }
}
