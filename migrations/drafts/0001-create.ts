import { Migration } from 'parley-forum';

/** Timestamps have millisecond precision, so that a timestamp sent by a client matches its row again. */
export default class Drafts0001Create extends Migration {
  override up(): void {
    this.addSql(`create table draft (
      user_id uuid not null,
      key text not null,
      fields jsonb not null,
      bytes integer not null,
      updated_at timestamptz(3) not null,
      primary key (user_id, key)
    )`);
    this.addSql('create index draft_newest on draft (user_id, updated_at desc, key desc)');
    this.addSql('create index draft_oldest on draft (updated_at)');
  }

  override down(): void {
    this.addSql('drop table draft');
  }
}
