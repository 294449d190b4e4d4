import { Migration } from 'parley-forum';

export default class ProFeeds0001Create extends Migration {
  override up(): void {
    // No categories means all that the member may see.
    this.addSql(`create table feed_token (
      id uuid primary key,
      account_id uuid not null,
      name text not null,
      hash text not null unique,
      category_ids jsonb,
      created_at timestamptz(3) not null,
      last_used_at timestamptz(3)
    )`);
    this.addSql('create index feed_token_account on feed_token (account_id, id)');
  }

  override down(): void {
    this.addSql('drop table feed_token');
  }
}
