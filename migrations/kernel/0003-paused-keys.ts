import { Migration } from 'parley-forum';

/**
 * Keys whose work is paused, and an index by which the work of one key is found however much waits under the others. A
 * pause stays after its time, until somebody takes it back: so long one work of the key runs at a time.
 */
export default class PausedKeys extends Migration {
  override up(): void {
    this.addSql(`
      create table job_pause (listener text not null, key text not null, until timestamptz not null, primary key (listener, key));
      create index job_keyed on job (listener, key, run_at, id) where key is not null and failed_at is null and owner is null;
    `);
  }

  override down(): void {
    this.addSql('drop index job_keyed; drop table job_pause;');
  }
}
