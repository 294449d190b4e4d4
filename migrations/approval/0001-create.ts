import { Migration } from 'parley-forum';

/** Ids grow with time, so they order the lists. */
export default class Approval0001Create extends Migration {
  override up(): void {
    // `draft`: the submitted text; once approved it is in a post instead. `category_id` of a reply is the category in
    // which it was submitted.
    this.addSql(`create table held_post (
      id uuid primary key,
      author_id uuid not null,
      discussion_id uuid,
      category_id uuid not null,
      draft jsonb not null,
      title text not null,
      html text not null,
      reason text not null,
      status text not null default 'held',
      created_at timestamptz(3) not null,
      reviewed_at timestamptz(3),
      review_reason text not null default ''
    )`);
    this.addSql("create index held_post_queue on held_post (id) where status = 'held'");
    this.addSql('create index held_post_author on held_post (author_id, id desc)');
    this.addSql('create index held_post_reviewed on held_post (reviewed_at) where reviewed_at is not null');
  }

  override down(): void {
    this.addSql('drop table held_post');
  }
}
