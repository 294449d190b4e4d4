import { Migration } from 'parley-forum';

/**
 * The index of what waits under a key begins with the key. While the statistics of the table are those of an empty one,
 * the database took an index that begins with the listener as well for as good, and read all that waits for each key.
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
