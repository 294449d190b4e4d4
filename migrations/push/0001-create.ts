import { Migration } from 'parley-forum';

/** The endpoint and the keys of a device are encrypted; an endpoint is recognised by its hash. */
export default class Push0001Create extends Migration {
  override up(): void {
    this.addSql(`create table push_device (
      id uuid primary key,
      user_id uuid not null,
      endpoint_hash text not null unique,
      subscription text not null,
      device text,
      session text,
      failures integer not null default 0,
      failing_since timestamptz(3),
      created_at timestamptz(3) not null,
      last_success_at timestamptz(3)
    )`);
    this.addSql('create index push_device_user on push_device (user_id, id)');
    this.addSql(`create table push_key (
      id smallint primary key check (id = 1),
      public_key text not null,
      private_key text not null
    )`);
  }

  override down(): void {
    for (const table of ['push_key', 'push_device']) this.addSql(`drop table ${table}`);
  }
}
