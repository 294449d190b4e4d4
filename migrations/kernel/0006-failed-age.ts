import { Migration } from 'parley-forum';

/** Work that failed for good goes by its age: looking for it, the hourly cleaning need not pass what waits and runs. */
export default class FailedAge extends Migration {
  override up(): void {
    this.addSql('create index job_failed on job (failed_at) where failed_at is not null');
  }

  override down(): void {
    this.addSql('drop index job_failed');
  }
}
