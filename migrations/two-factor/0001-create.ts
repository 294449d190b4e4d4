import { Migration } from 'parley-forum';

export default class TwoFactor0001Create extends Migration {
  override up(): void {
    // Until enabled_at is set, the secret is not confirmed. last_counter: codes up to this time step have been used.
    this.addSql(`create table two_factor (
      account_id uuid primary key,
      secret text not null,
      last_counter bigint not null default 0,
      enabled_at timestamptz(3)
    )`);
    this.addSql(`create table two_factor_backup_code (
      account_id uuid not null references two_factor on delete cascade,
      hash text not null,
      primary key (account_id, hash)
    )`);
  }

  override down(): void {
    this.addSql('drop table two_factor_backup_code');
    this.addSql('drop table two_factor');
  }
}
