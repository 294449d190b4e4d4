import { Migration } from 'parley-forum';

/** Times carry milliseconds and no more, so that what is said of one finds its row again. */
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
