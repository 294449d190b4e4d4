import { Migration } from 'parley-forum';

/** What was read goes sooner than the rest: looking for it, the daily cleaning need not pass what is unread. */
export default class Notifications0005ReadAge extends Migration {
  override up(): void {
    this.addSql('create index notification_read_age on notification (created_at) where is_read');
  }

  override down(): void {
    this.addSql('drop index notification_read_age');
  }
}
