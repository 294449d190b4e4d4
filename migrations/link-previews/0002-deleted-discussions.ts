import { Migration } from 'parley-forum';

/** Previews that only occur in deleted discussions are kept, in case those are restored, but not fetched again. */
export default class LinkPreviews0002DeletedDiscussions extends Migration {
  override up(): void {
    this.addSql('alter table link_preview_use add column visible boolean not null default true');
    this.addSql('create index link_preview_use_discussion on link_preview_use (discussion_id)');
  }

  override down(): void {
    this.addSql('drop index link_preview_use_discussion');
    this.addSql('alter table link_preview_use drop column visible');
  }
}
