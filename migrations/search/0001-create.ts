import { Migration } from 'parley-forum';

/** A copy of every post with the columns that decide who may find it, and the progress of the copy. */
export default class Search0001Create extends Migration {
  override up(): void {
    this.addSql(`create table search_post (
      id uuid primary key,
      discussion_id uuid not null,
      number integer not null,
      category_id uuid not null,
      author_id uuid not null,
      created_at timestamptz(3) not null,
      visible boolean not null,
      removed boolean not null,
      language text not null,
      title text not null,
      body text not null,
      vector tsvector not null
    )`);
    // Long texts are moved out of the row before the search vector is.
    this.addSql('alter table search_post alter column vector set storage main');
    // A short pending list: searches read all of it, and the writer that fills it up merges it into the index.
    this.addSql(
      'create index search_post_vector on search_post using gin (vector) with (gin_pending_list_limit = 512)',
    );
    this.addSql('create index search_post_newest on search_post (created_at desc, id desc)');
    this.addSql('create index search_post_author on search_post (author_id, created_at desc, id desc)');
    this.addSql('create index search_post_discussion on search_post (discussion_id)');
    this.addSql(`create table search_state (
      id smallint primary key default 1 check (id = 1),
      complete text,
      walking text,
      walked uuid,
      stale boolean not null,
      language text
    )`);
    this.addSql('insert into search_state (stale) values (false)');
  }

  override down(): void {
    for (const table of ['search_state', 'search_post']) this.addSql(`drop table ${table}`);
  }
}
