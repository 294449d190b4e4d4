import { Migration } from 'parley-forum';

/**
 * An index of the readers of a discussion, for posts that are moved out of it. Its column never changes, so updating
 * marks is as cheap as before.
 */
export default class ReadMarks0002Readers extends Migration {
  override up(): void {
    this.addSql('create index read_mark_discussion on read_mark (discussion_id, user_id)');
  }

  override down(): void {
    this.addSql('drop index read_mark_discussion');
  }
}
