import { Migration } from 'parley-forum';

/** An index of failed jobs by age, so that the hourly clean-up does not scan waiting and running jobs. */
export default class FailedAge extends Migration {
  override up(): void {
    this.addSql('create index job_failed on job (failed_at) where failed_at is not null');
  }

  override down(): void {
    this.addSql('drop index job_failed');
  }
}
