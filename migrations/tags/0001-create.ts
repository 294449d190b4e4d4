import { Migration } from 'parley-forum';

export default class Tags0001Create extends Migration {
  override up(): void {
    // `key` is the name in a case-insensitive form: spellings that differ in case are the same tag.
    this.addSql(`create table tag (
      id uuid primary key default gen_random_uuid(),
      slug text not null unique,
      name text not null,
      key text not null unique,
      hue integer not null
    )`);
    // `counted_in`: the category in whose count the tag is included; null while the discussion is deleted. A null
    // `position` means that the tag is being removed.
    this.addSql(`create table discussion_tag (
      discussion_id uuid not null,
      tag_id uuid not null references tag (id),
      position smallint,
      counted_in uuid,
      primary key (discussion_id, tag_id)
    )`);
    this.addSql('create index discussion_tag_tag on discussion_tag (tag_id, discussion_id)');
    this.addSql('create index discussion_tag_counted on discussion_tag (counted_in)');
    // By category, so that a count reveals nothing about categories that the viewer may not see.
    this.addSql(`create table tag_count (
      tag_id uuid not null, category_id uuid not null, discussions integer not null, primary key (tag_id, category_id)
    ) with (fillfactor = 70)`);
    // A position in the history of discussions for each time the plugin stopped, until it has caught up.
    this.addSql('create table tag_absence (id bigint generated always as identity primary key, since text not null)');
  }

  override down(): void {
    for (const table of ['tag_absence', 'tag_count', 'discussion_tag', 'tag']) this.addSql(`drop table ${table}`);
  }
}
