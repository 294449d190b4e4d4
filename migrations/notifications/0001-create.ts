import { Migration } from 'parley-forum';

export default class Notifications0001Create extends Migration {
  override up(): void {
    // `category_id` is the category of the discussion, updated by a mirror; the zero id stands for none, so that
    // counting needs no special case.
    this.addSql(`create table notification (
      id uuid primary key,
      user_id uuid not null,
      type text not null,
      actor_id uuid,
      discussion_id uuid,
      post_id uuid,
      category_id uuid not null,
      url text not null,
      title text,
      discussion_title text,
      group_key text not null,
      count integer not null,
      is_read boolean not null default false,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create unique index notification_group on notification (user_id, type, group_key) where not is_read');
    this.addSql('create index notification_member on notification (user_id, created_at desc, id desc)');
    this.addSql('create index notification_discussion on notification (discussion_id) where discussion_id is not null');
    this.addSql('create index notification_post on notification (post_id) where post_id is not null');
    this.addSql('create index notification_age on notification (created_at)');
    this.addSql(`create table notification_count (
      user_id uuid not null, category_id uuid not null, unread integer not null, primary key (user_id, category_id)
    ) with (fillfactor = 70)`);
    // Records which member was notified about what and, with the zero id, what was deleted and must not cause
    // notifications any more.
    this.addSql(
      'create table notification_key (user_id uuid not null, key text not null, created_at timestamptz(3) not null, primary key (user_id, key))',
    );
    this.addSql('create index notification_key_age on notification_key (created_at)');
    this.addSql(`create table notification_preference (
      user_id uuid primary key, channels jsonb not null, digest text not null default 'none', digested_at timestamptz(3)
    )`);
    this.addSql("create index notification_digest on notification_preference (user_id) where digest <> 'none'");
  }

  override down(): void {
    for (const table of ['notification_preference', 'notification_key', 'notification_count', 'notification'])
      this.addSql(`drop table ${table}`);
  }
}
