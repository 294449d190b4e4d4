import { Migration } from 'parley-forum';

/**
 * An index for finding changes since a given time without a full scan: plugins that were off ask for them at each
 * start.
 */
export default class Discussions0003Changed extends Migration {
  override up(): void {
    this.addSql('create index discussion_updated on discussion (updated_at)');
  }

  override down(): void {
    this.addSql('drop index discussion_updated');
  }
}
