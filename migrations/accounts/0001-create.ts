import { Migration } from 'parley-forum';

export default class Accounts0001Create extends Migration {
  override up(): void {
    this.addSql('create extension if not exists citext');
    this.addSql('create extension if not exists pg_trgm');
    this.addSql(`create table account (
      id uuid primary key,
      username citext not null constraint account_username_unique unique,
      email citext not null constraint account_email_unique unique,
      password_hash text not null,
      api_token text constraint account_api_token_unique unique,
      permissions_version integer not null default 1,
      registration_ip text,
      last_ip text,
      group_id text not null,
      bio text not null default '',
      avatar_url text,
      status text not null default 'active' check (status in ('active', 'disabled')),
      joined_at timestamptz not null,
      last_seen_at timestamptz
    )`);
    this.addSql('create index account_username_search on account using gin (lower(username::text) gin_trgm_ops)');
    this.addSql('create index account_group on account (group_id, id)');
    this.addSql(`create table accounts_session (
      key text primary key,
      account_id uuid not null references account on delete cascade,
      data jsonb not null,
      expires_at timestamptz not null
    )`);
    this.addSql('create index accounts_session_account on accounts_session (account_id)');
    this.addSql('create index accounts_session_expiry on accounts_session (expires_at)');
  }

  override down(): void {
    this.addSql('drop table accounts_session');
    this.addSql('drop table account');
  }
}
