import { Migration } from 'parley-forum';

/**
 * What has changed since a moment is found without reading all there is: whoever was switched off meanwhile asks for it
 * at each start.
 */
export default class Discussions0003Changed extends Migration {
  override up(): void {
    this.addSql('create index discussion_updated on discussion (updated_at)');
  }

  override down(): void {
    this.addSql('drop index discussion_updated');
  }
}
