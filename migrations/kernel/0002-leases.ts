import { Migration } from 'parley-forum';

/**
 * Running jobs leave the index of due ones, so that a claim never reads the dead tuples of jobs that have run, which
 * stay in an index until a vacuum. Therefore `run_at` only says when a job is due, and leases have a column of their
 * own.
 */
export default class JobLeases extends Migration {
  override up(): void {
    this.addSql(`
      alter table job add column leased_until timestamptz;
      update job set leased_until = run_at where owner is not null;
      drop index job_due;
      create index job_due on job (listener, run_at, id) where failed_at is null and owner is null;
      create index job_leased on job (leased_until) where owner is not null;
    `);
  }

  override down(): void {
    this.addSql(`
      update job set run_at = leased_until where owner is not null;
      drop index job_leased;
      drop index job_due;
      create index job_due on job (listener, run_at, id) where failed_at is null;
      alter table job drop column leased_until;
    `);
  }
}
