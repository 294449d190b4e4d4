import { Migration } from 'parley-forum';

export default class Polls0001Create extends Migration {
  override up(): void {
    this.addSql(`create table poll (
      discussion_id uuid primary key, author_id uuid not null, options text[] not null,
      closes_at timestamptz not null, is_closed boolean not null default false
    )`);
    this.addSql(`create table poll_vote (
      discussion_id uuid not null references poll on delete cascade, user_id uuid not null, choice integer not null,
      created_at timestamptz not null, primary key (discussion_id, user_id)
    )`);
    this.addSql('create index poll_vote_user on poll_vote (user_id, discussion_id)');
  }

  override down(): void {
    this.addSql('drop table poll_vote');
    this.addSql('drop table poll');
  }
}
