import { Migration } from 'parley-forum';

export default class Accounts0002Waiting extends Migration {
  override up(): void {
    this.addSql('alter table account add column api_token_used_at timestamptz');
    this.addSql(`create table accounts_waiting (
      key text primary key,
      account_id uuid not null references account on delete cascade,
      version integer not null,
      fingerprint text not null,
      step text not null,
      done text[] not null,
      remember boolean not null,
      return_to text not null,
      expires_at timestamptz not null
    )`);
    this.addSql('create index accounts_waiting_account on accounts_waiting (account_id)');
    this.addSql('create index accounts_waiting_expiry on accounts_waiting (expires_at)');
  }

  override down(): void {
    this.addSql('drop table accounts_waiting');
    this.addSql('alter table account drop column api_token_used_at');
  }
}
