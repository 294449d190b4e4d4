import { Migration } from 'parley-forum';

export default class TwoFactor0002Failures extends Migration {
  override up(): void {
    // failures: consecutive wrong codes. retry_at: no code is accepted before. warned_at: when the owner was last
    // warned.
    this.addSql(`alter table two_factor
      add column failures integer not null default 0, add column retry_at timestamptz(3), add column warned_at timestamptz(3)`);
  }

  override down(): void {
    this.addSql('alter table two_factor drop column failures, drop column retry_at, drop column warned_at');
  }
}
