import { Migration } from 'parley-forum';

/** A preview without a title cannot be shown: its page has not been fetched yet, or could not be. */
export default class LinkPreviews0001Create extends Migration {
  override up(): void {
    this.addSql(`create table link_preview (
      id uuid primary key,
      url text not null unique,
      title text,
      description text,
      site text,
      failures smallint not null default 0,
      created_at timestamptz(3) not null,
      due_at timestamptz(3) not null
    )`);
    this.addSql('create index link_preview_due on link_preview (due_at)');
    this.addSql('create index link_preview_newest on link_preview (created_at desc, id desc)');
    this.addSql(`create table link_preview_picture (
      id uuid primary key,
      preview_id uuid not null unique references link_preview on delete cascade,
      width smallint not null,
      height smallint not null,
      bytes bytea not null
    )`);
    this.addSql(`create table link_preview_use (
      post_id uuid not null,
      preview_id uuid not null references link_preview on delete cascade,
      discussion_id uuid not null,
      primary key (post_id, preview_id)
    )`);
    this.addSql('create index link_preview_use_preview on link_preview_use (preview_id)');
  }

  override down(): void {
    for (const table of ['link_preview_use', 'link_preview_picture', 'link_preview'])
      this.addSql(`drop table ${table}`);
  }
}
