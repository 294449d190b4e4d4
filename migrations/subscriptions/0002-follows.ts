import { Migration } from 'parley-forum';

export default class Subscriptions0002Follows extends Migration {
  override up(): void {
    this.addSql(`create table follow (
      user_id uuid not null,
      kind text not null,
      subject_id uuid not null,
      created_at timestamptz(3) not null,
      primary key (user_id, kind, subject_id)
    )`);
    this.addSql('create index follow_subject on follow (kind, subject_id, user_id)');
  }

  override down(): void {
    this.addSql('drop table follow');
  }
}
