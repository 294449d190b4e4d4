import { Migration } from 'parley-forum';

/**
 * The index of jobs waiting under a key starts with the key. While the table statistics were those of an empty table,
 * the planner considered an index that also starts with the listener just as good, and read all waiting jobs for each
 * key.
 */
export default class KeysFirst extends Migration {
  override up(): void {
    this.addSql(`
      drop index job_keyed;
      create index job_keyed on job (key, listener, run_at, id) where key is not null and failed_at is null and owner is null;
    `);
  }

  override down(): void {
    this.addSql(`
      drop index job_keyed;
      create index job_keyed on job (listener, key, run_at, id) where key is not null and failed_at is null and owner is null;
    `);
  }
}
