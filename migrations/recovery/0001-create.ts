import { Migration } from 'parley-forum';

export default class Recovery0001Create extends Migration {
  override up(): void {
    // One link of each kind per account: a new one replaces the old. bound_to: a digest of values that must not change
    // before the link is used.
    this.addSql(`create table recovery_link (
      hash text primary key,
      purpose text not null,
      account_id uuid not null,
      bound_to text not null,
      expires_at timestamptz(3) not null,
      unique (purpose, account_id)
    )`);
    this.addSql('create index recovery_link_expiry on recovery_link (expires_at)');
    // Accounts without a row count as confirmed.
    this.addSql('create table recovery_unconfirmed (account_id uuid primary key, since timestamptz(3) not null)');
  }

  override down(): void {
    this.addSql('drop table recovery_unconfirmed');
    this.addSql('drop table recovery_link');
  }
}
