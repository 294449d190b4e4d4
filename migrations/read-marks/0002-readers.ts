import { Migration } from 'parley-forum';

/** Who has read a discussion, for posts that leave it. Its column never changes, so marks move on as cheaply as before. */
export default class ReadMarks0002Readers extends Migration {
  override up(): void {
    this.addSql('create index read_mark_discussion on read_mark (discussion_id, user_id)');
  }

  override down(): void {
    this.addSql('drop index read_mark_discussion');
  }
}
