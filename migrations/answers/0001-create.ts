import { Migration } from 'parley-forum';

export default class Answers0001Create extends Migration {
  override up(): void {
    this.addSql('create table answer_category (category_id uuid primary key)');
    this.addSql(`create table answer (
      discussion_id uuid primary key,
      post_id uuid not null unique,
      accepted_by uuid,
      accepted_at timestamptz(3) not null
    )`);
    this.addSql('create index answer_accepted_by on answer (accepted_by, discussion_id)');
  }

  override down(): void {
    for (const table of ['answer', 'answer_category']) this.addSql(`drop table ${table}`);
  }
}
