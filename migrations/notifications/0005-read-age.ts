import { Migration } from 'parley-forum';

/**
 * An index of read notifications, which are deleted sooner than others, so that the daily clean-up does not scan unread
 * ones.
 */
export default class Notifications0005ReadAge extends Migration {
  override up(): void {
    this.addSql('create index notification_read_age on notification (created_at) where is_read');
  }

  override down(): void {
    this.addSql('drop index notification_read_age');
  }
}
