import { Migration } from 'parley-forum';

/** Ids grow with time, so they order the lists. */
export default class Uploads0001Create extends Migration {
  override up(): void {
    // `unused_since`: since when the file has not been in use; null while it is.
    this.addSql(`create table upload (
      id uuid primary key,
      account_id uuid not null,
      purpose text not null check (purpose in ('post', 'avatar')),
      name text not null,
      type text not null,
      size integer not null,
      width integer,
      height integer,
      created_at timestamptz(3) not null,
      unused_since timestamptz(3)
    )`);
    this.addSql('create index upload_account on upload (account_id, purpose, id desc)');
    this.addSql('create index upload_unused on upload (unused_since, id) where unused_since is not null');
    this.addSql(`create table upload_use (
      post_id uuid not null,
      upload_id uuid not null references upload on delete cascade,
      primary key (post_id, upload_id)
    )`);
    this.addSql('create index upload_use_upload on upload_use (upload_id)');
    this.addSql(
      'create table upload_absence (id bigint generated always as identity primary key, since text not null)',
    );
  }

  override down(): void {
    for (const table of ['upload_absence', 'upload_use', 'upload']) this.addSql(`drop table ${table}`);
  }
}
