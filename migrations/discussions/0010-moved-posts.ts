import { Migration } from 'parley-forum';

/**
 * A post that moves to another discussion leaves a row in its place, deleted and without text, that says which post it
 * was; so numbers have no gaps. A post that was moved in records when.
 */
export default class Discussions0010MovedPosts extends Migration {
  override up(): void {
    this.addSql(`alter table post add column moved_post_id uuid references post (id) on delete set null,
      add column moved_at timestamptz(3)`);
    this.addSql('create index post_moved on post (moved_post_id) where moved_post_id is not null');
  }

  override down(): void {
    this.addSql('alter table post drop column moved_post_id, drop column moved_at');
  }
}
