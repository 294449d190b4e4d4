import { Migration } from 'parley-forum';

export default class Tags0001Create extends Migration {
  override up(): void {
    // `key` is the name without regard to case: nobody means two tags by two ways of writing one.
    this.addSql(`create table tag (
      id uuid primary key default gen_random_uuid(),
      slug text not null unique,
      name text not null,
      key text not null unique,
      hue integer not null
    )`);
    // `counted_in`: the category in whose number it is counted, none while its discussion is deleted. No position: it
    // is on its way out.
    this.addSql(`create table discussion_tag (
      discussion_id uuid not null,
      tag_id uuid not null references tag (id),
      position smallint,
      counted_in uuid,
      primary key (discussion_id, tag_id)
    )`);
    this.addSql('create index discussion_tag_tag on discussion_tag (tag_id, discussion_id)');
    this.addSql('create index discussion_tag_counted on discussion_tag (counted_in)');
    // By category, so that a number tells nobody of categories they may not see.
    this.addSql(`create table tag_count (
      tag_id uuid not null, category_id uuid not null, discussions integer not null, primary key (tag_id, category_id)
    ) with (fillfactor = 70)`);
    // A mark of the discussions for each time the plugin stopped, until it has caught up.
    this.addSql('create table tag_absence (id bigint generated always as identity primary key, since text not null)');
  }

  override down(): void {
    for (const table of ['tag_absence', 'tag_count', 'discussion_tag', 'tag']) this.addSql(`drop table ${table}`);
  }
}
