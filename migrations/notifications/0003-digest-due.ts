import { Migration } from 'parley-forum';

/**
 * When the next digest of a member is due, since members have time zones. Existing ones are due at the next 7:00 UTC.
 */
export default class Notifications0003DigestDue extends Migration {
  override up(): void {
    this.addSql('alter table notification_preference add column digest_due_at timestamptz(3)');
    this.addSql(`update notification_preference set digest_due_at =
      date_trunc(case digest when 'daily' then 'day' else 'week' end, now() - interval '7 hours', 'UTC')
        + case digest when 'daily' then interval '1 day' else interval '7 days' end + interval '7 hours'
      where digest <> 'none'`);
    this.addSql('drop index notification_digest');
    this.addSql(`create index notification_digest on notification_preference (digest_due_at, user_id)
      where digest_due_at is not null`);
  }

  override down(): void {
    this.addSql('drop index notification_digest');
    this.addSql('alter table notification_preference drop column digest_due_at');
    this.addSql("create index notification_digest on notification_preference (user_id) where digest <> 'none'");
  }
}
