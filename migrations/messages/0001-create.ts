import { Migration } from 'parley-forum';

/**
 * Each participant has a copy of the last number and time of the conversation, by which lists are sorted and unread
 * messages are found. Timestamps have millisecond precision, so that a cursor made from one finds its row again.
 */
export default class Messages0001Create extends Migration {
  override up(): void {
    this.addSql(`create table conversation (
      id uuid primary key,
      subject text not null,
      starter_id uuid not null,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index conversation_starter on conversation (starter_id, id)');
    this.addSql(`create table conversation_participant (
      conversation_id uuid not null references conversation (id) on delete cascade,
      user_id uuid not null,
      last_number integer not null,
      last_at timestamptz(3) not null,
      read_number integer not null,
      is_muted boolean not null default false,
      primary key (conversation_id, user_id)
    )`);
    this.addSql(`create index conversation_participant_latest
      on conversation_participant (user_id, last_at desc, conversation_id desc)`);
    this.addSql(`create index conversation_participant_unread on conversation_participant (user_id)
      where read_number < last_number and not is_muted`);
    this.addSql(`create table conversation_message (
      id uuid primary key,
      conversation_id uuid not null references conversation (id) on delete cascade,
      number integer not null,
      author_id uuid not null,
      content text not null,
      html text not null,
      image_rule text not null,
      created_at timestamptz(3) not null,
      unique (conversation_id, number)
    )`);
    this.addSql('create index conversation_message_author on conversation_message (author_id, id)');
    this.addSql('create table message_choice (user_id uuid primary key, is_closed boolean not null)');
  }

  override down(): void {
    this.addSql('drop table message_choice');
    this.addSql('drop table conversation_message');
    this.addSql('drop table conversation_participant');
    this.addSql('drop table conversation');
  }
}
