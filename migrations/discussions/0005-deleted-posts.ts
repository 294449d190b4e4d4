import { Migration } from 'parley-forum';

/** An index for counting the deleted posts in a range of numbers without reading the range. */
export default class Discussions0005DeletedPosts extends Migration {
  override up(): void {
    this.addSql('create index post_deleted on post (discussion_id, number) where deleted_at is not null');
  }

  override down(): void {
    this.addSql('drop index post_deleted');
  }
}
