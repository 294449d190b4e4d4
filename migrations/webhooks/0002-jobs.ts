import { Migration } from 'parley-forum';

/**
 * One job for each pending delivery instead of leased queues; existing pending deliveries get one. `job` is set while
 * work is left, and is the same for all attempts. `failures`: consecutive failures since the last success.
 */
export default class Webhooks0002Jobs extends Migration {
  override up(): void {
    this.addSql('alter table webhook_delivery add column job uuid');
    this.addSql('update webhook_delivery set job = gen_random_uuid() where due_at is not null');
    this.addSql(`delete from job where listener = 'webhooks/job:deliver'`);
    this.addSql(`insert into job (id, listener, key, payload, run_at)
      select job, 'webhooks/job:deliver', webhook_id::text, jsonb_build_object('webhook', webhook_id), due_at from webhook_delivery where job is not null`);
    this.addSql('alter table webhook_delivery drop column due_at');
    this.addSql('create unique index webhook_delivery_job on webhook_delivery (job) where job is not null');
    this.addSql('create index webhook_delivery_pending on webhook_delivery (webhook_id) where job is not null');
    this.addSql(`alter table webhook add column failures integer not null default 0,
      drop column added, drop column holder, drop column held_until, drop column retry_at`);
  }

  override down(): void {
    this.addSql(`alter table webhook drop column failures,
      add column added integer not null default 0, add column holder uuid, add column held_until timestamptz(3), add column retry_at timestamptz(3)`);
    this.addSql('alter table webhook_delivery add column due_at timestamptz(3)');
    this.addSql('update webhook_delivery set due_at = coalesce(next_attempt_at, now()) where job is not null');
    this.addSql(
      'create index webhook_delivery_due on webhook_delivery (webhook_id, due_at, id) where due_at is not null',
    );
    this.addSql(`delete from job where listener = 'webhooks/job:deliver'`);
    this.addSql(`insert into job (id, listener, payload, run_at)
      select gen_random_uuid(), 'webhooks/job:deliver', jsonb_build_object('webhook', webhook_id), min(due_at) from webhook_delivery
      where due_at is not null group by webhook_id`);
    this.addSql('alter table webhook_delivery drop column job');
  }
}
