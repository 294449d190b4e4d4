import { Migration } from 'parley-forum';

const TABLES = ['pending', 'attempt', 'identity', 'provider'];

export default class SingleSignOn0001Create extends Migration {
  override up(): void {
    this.addSql(`create table single_sign_on_provider (
      id uuid primary key,
      slug text not null unique,
      name text not null,
      issuer text not null,
      client_id text not null,
      client_secret text,
      scopes text not null,
      active boolean not null,
      creates_accounts boolean not null,
      trusts_email boolean not null,
      changed_at timestamptz(3) not null
    )`);
    // label: the member's name there, to tell accounts apart. proven_email: an address that the provider has verified.
    this.addSql(`create table single_sign_on_identity (
      provider_id uuid not null references single_sign_on_provider on delete cascade,
      subject text not null,
      account_id uuid not null,
      label text,
      proven_email text,
      linked_at timestamptz(3) not null,
      used_at timestamptz(3),
      primary key (provider_id, subject),
      unique (provider_id, account_id)
    )`);
    this.addSql('create index single_sign_on_identity_account on single_sign_on_identity (account_id)');
    // Login attempts in progress, by a digest of the browser's cookie and the state.
    this.addSql(`create table single_sign_on_attempt (
      key text primary key,
      provider_id uuid not null references single_sign_on_provider on delete cascade,
      purpose text not null,
      account_id uuid,
      nonce text not null,
      verifier text not null,
      return_to text not null,
      remember boolean not null,
      pending_form text,
      started_at timestamptz(3) not null
    )`);
    // Accounts at providers that no member has linked, by a digest of the cookie of the browser that logged in there.
    this.addSql(`create table single_sign_on_pending (
      key text primary key,
      provider_id uuid not null references single_sign_on_provider on delete cascade,
      subject text not null,
      label text,
      email text,
      proven_email text,
      username text,
      return_to text not null,
      remember boolean not null,
      expires_at timestamptz(3) not null
    )`);
  }

  override down(): void {
    for (const table of TABLES) this.addSql(`drop table single_sign_on_${table}`);
  }
}
