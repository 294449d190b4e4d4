import { Migration } from 'parley-forum';

/** Ids grow with time, so they order the lists. */
export default class Webhooks0001Create extends Migration {
  override up(): void {
    // `held_until`: until then a process, the holder, is sending, or a job is about to; null while there is nothing to
    // send. `added` counts additions to the pending deliveries. `retry_at`: when a stored job is due.
    this.addSql(`create table webhook (
      id uuid primary key,
      name text not null,
      url text not null,
      events text[] not null,
      categories uuid[] not null,
      active boolean not null,
      disabled text,
      secret text not null,
      old_secret text,
      old_secret_until timestamptz(3),
      failing_since timestamptz(3),
      last_status text,
      last_delivery_at timestamptz(3),
      created_at timestamptz(3) not null,
      added integer not null default 0,
      holder uuid,
      held_until timestamptz(3),
      retry_at timestamptz(3)
    )`);
    // The exact text that is signed and sent, the same for all attempts.
    this.addSql(`create table webhook_event (
      id uuid primary key,
      event text not null,
      body text not null,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index webhook_event_age on webhook_event (created_at)');
    // One row per attempt. `due_at` is set while work is left: this attempt, or the next one.
    this.addSql(`create table webhook_delivery (
      id uuid primary key,
      webhook_id uuid not null references webhook on delete cascade,
      event_id uuid not null references webhook_event,
      event text not null,
      status text not null,
      attempt integer not null,
      attempts integer not null,
      due_at timestamptz(3),
      next_attempt_at timestamptz(3),
      response_status integer,
      duration_ms integer,
      error text,
      response text,
      created_at timestamptz(3) not null
    )`);
    this.addSql(
      'create index webhook_delivery_due on webhook_delivery (webhook_id, due_at, id) where due_at is not null',
    );
    this.addSql('create index webhook_delivery_webhook on webhook_delivery (webhook_id, id)');
    this.addSql('create index webhook_delivery_event on webhook_delivery (event_id)');
    this.addSql('create index webhook_delivery_status on webhook_delivery (status, id)');
    this.addSql('create index webhook_delivery_age on webhook_delivery (created_at)');
    this.addSql('create table webhook_received (id text primary key, received_at timestamptz(3) not null)');
    this.addSql('create index webhook_received_age on webhook_received (received_at)');
  }

  override down(): void {
    for (const table of ['webhook_received', 'webhook_delivery', 'webhook_event', 'webhook'])
      this.addSql(`drop table ${table}`);
  }
}
