import { Migration } from 'parley-forum';

/** Until when a discussion is pinned; null: until it is unpinned. */
export default class Discussions0006PinEnds extends Migration {
  override up(): void {
    this.addSql('alter table discussion add column pinned_until timestamptz(3)');
    this.addSql('create index discussion_pinned_until on discussion (pinned_until) where pinned_until is not null');
  }

  override down(): void {
    this.addSql('alter table discussion drop column pinned_until');
  }
}
