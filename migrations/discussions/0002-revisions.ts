import { Migration } from 'parley-forum';

/** Each row is a change: who made it, and the previous values. Title and category belong to the first post. */
export default class Discussions0002Revisions extends Migration {
  override up(): void {
    this.addSql(`create table post_revision (
      id uuid primary key,
      post_id uuid not null references post (id) on delete cascade,
      editor_id uuid not null,
      content text,
      title text,
      category_id uuid,
      reason text not null,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index post_revision_post on post_revision (post_id, id desc)');
  }

  override down(): void {
    this.addSql('drop table post_revision');
  }
}
