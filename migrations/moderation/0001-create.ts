import { Migration } from 'parley-forum';

/** Nothing is ever deleted from the log. */
export default class Moderation0001Create extends Migration {
  override up(): void {
    this.addSql(`create table moderation_entry (
      id uuid primary key,
      action text not null,
      actor_id uuid not null,
      user_id uuid,
      discussion_id uuid,
      discussion_number integer,
      title text,
      post_id uuid,
      post_number integer,
      report_id uuid,
      reason text not null,
      until timestamptz(3),
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index moderation_entry_time on moderation_entry (created_at desc, id desc)');
    for (const column of ['action', 'actor_id', 'user_id'])
      this.addSql(`create index moderation_entry_${column} on moderation_entry (${column}, created_at desc, id desc)`);
    this.addSql(`create table moderation_note (
      id uuid primary key,
      user_id uuid not null,
      author_id uuid not null,
      content text not null,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index moderation_note_user on moderation_note (user_id, id desc)');
    // The group to which a banned member returns.
    this.addSql('create table moderation_ban (user_id uuid primary key, group_id text not null)');
  }

  override down(): void {
    for (const table of ['moderation_ban', 'moderation_note', 'moderation_entry']) this.addSql(`drop table ${table}`);
  }
}
