import { Migration } from 'parley-forum';

export default class Privacy0001Create extends Migration {
  override up(): void {
    // started_at: from then on the deletion cannot be cancelled. erased_at: all that remains is to check again for data
    // that was still being written.
    this.addSql(`create table privacy_deletion (
      account_id uuid primary key,
      mode text not null check (mode in ('anonymise', 'remove')),
      requested_at timestamptz(3) not null,
      due_at timestamptz(3) not null,
      started_at timestamptz(3),
      erased_at timestamptz(3)
    )`);
    this.addSql('create index privacy_deletion_due on privacy_deletion (due_at, account_id)');
    // Members without a row hide nothing.
    this.addSql(`create table privacy_choice (
      account_id uuid primary key,
      hide_presence boolean not null,
      hide_last_seen boolean not null
    )`);
  }

  override down(): void {
    for (const table of ['privacy_choice', 'privacy_deletion']) this.addSql(`drop table ${table}`);
  }
}
