import { Migration } from 'parley-forum';

/**
 * Pinned discussions come first in their category, and those pinned everywhere on the front page, too. Both orders are
 * read from an index; existing pins were pinned everywhere.
 */
export default class Discussions0009PinsEverywhere extends Migration {
  override up(): void {
    this.addSql(`alter table discussion add column is_pinned_everywhere boolean not null default false,
      add constraint discussion_pinned_somewhere check (is_pinned or not is_pinned_everywhere)`);
    this.addSql('update discussion set is_pinned_everywhere = true where is_pinned');
    this.addSql('drop index discussion_pinned');
    const order = 'is_pinned_everywhere desc, last_post_at desc, id desc';
    this.addSql(
      `create index discussion_pinned_everywhere on discussion (${order}) include (category_id) where deleted_at is null`,
    );
    this.addSql(
      `create index discussion_category_pinned_everywhere on discussion (category_id, ${order}) where deleted_at is null`,
    );
  }

  override down(): void {
    this.addSql('alter table discussion drop column is_pinned_everywhere');
    this.addSql(
      'create index discussion_pinned on discussion (is_pinned desc, last_post_at desc, id desc) include (category_id) where deleted_at is null',
    );
  }
}
