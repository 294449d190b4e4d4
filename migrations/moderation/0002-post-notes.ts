import { Migration } from 'parley-forum';

/** Moderators' notes on posts, for each other. */
export default class Moderation0002PostNotes extends Migration {
  override up(): void {
    this.addSql(`create table moderation_post_note (
      id uuid primary key,
      post_id uuid not null,
      author_id uuid not null,
      content text not null,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index moderation_post_note_post on moderation_post_note (post_id, id)');
  }

  override down(): void {
    this.addSql('drop table moderation_post_note');
  }
}
