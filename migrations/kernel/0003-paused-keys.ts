import { Migration } from 'parley-forum';

/**
 * Keys whose jobs are paused, and an index for finding the jobs of one key regardless of how many wait under others. A
 * pause remains after its end until it is removed: until then one job of the key runs at a time.
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
