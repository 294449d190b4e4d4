import { Migration } from 'parley-forum';

export default class Subscriptions0001Create extends Migration {
  override up(): void {
    this.addSql(`create table subscription (
      discussion_id uuid not null,
      user_id uuid not null,
      level text not null,
      created_at timestamptz(3) not null,
      primary key (discussion_id, user_id)
    )`);
    this.addSql("create index subscription_watcher on subscription (discussion_id, user_id) where level = 'watching'");
    this.addSql("create index subscription_member on subscription (user_id, discussion_id) where level <> 'normal'");
  }

  override down(): void {
    this.addSql('drop table subscription');
  }
}
