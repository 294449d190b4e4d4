import { Migration } from 'parley-forum';

export default class Events0001Create extends Migration {
  override up(): void {
    // Writers hold a lock until the commit, so that positions become visible in order; gaps may occur and are
    // permanent.
    this.addSql(`create table event_log (
      position bigint generated always as identity primary key,
      id uuid not null unique,
      event text not null,
      created_at timestamptz(3) not null,
      data jsonb not null
    )`);
    // For readers of a single kind of event, which may be rare.
    this.addSql('create index event_log_event on event_log (event, position)');
  }

  override down(): void {
    this.addSql('drop table event_log');
  }
}
