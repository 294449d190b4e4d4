import { Migration } from 'parley-forum';

export default class Events0001Create extends Migration {
  override up(): void {
    // Whoever adds an entry holds a lock until the commit, so positions become visible in their order; they may have
    // gaps, which stay.
    this.addSql(`create table event_log (
      position bigint generated always as identity primary key,
      id uuid not null unique,
      event text not null,
      created_at timestamptz(3) not null,
      data jsonb not null
    )`);
    // For readers of one kind of event, which may be rare.
    this.addSql('create index event_log_event on event_log (event, position)');
  }

  override down(): void {
    this.addSql('drop table event_log');
  }
}
