import { Migration } from 'parley-forum';

/**
 * Discussions that became visible to some members after they were created: `hidden_in` is a category, or zero for
 * deleted ones.
 */
export default class ReadMarks0003Late extends Migration {
  override up(): void {
    this.addSql(`create table read_late (
      discussion_id uuid not null,
      hidden_in uuid not null,
      visible_since timestamptz(3) not null,
      primary key (discussion_id, hidden_in)
    )`);
    this.addSql('create index read_late_since on read_late (visible_since)');
  }

  override down(): void {
    this.addSql('drop table read_late');
  }
}
