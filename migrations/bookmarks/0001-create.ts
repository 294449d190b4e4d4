import { Migration } from 'parley-forum';

/** Timestamps have millisecond precision, so that a cursor made from one finds its row again. */
export default class Bookmarks0001Create extends Migration {
  override up(): void {
    this.addSql(`create table bookmark (
      id uuid primary key,
      user_id uuid not null,
      post_id uuid not null,
      note text not null,
      remind_at timestamptz(3),
      reminded_at timestamptz(3),
      created_at timestamptz(3) not null,
      unique (user_id, post_id)
    )`);
    this.addSql('create index bookmark_newest on bookmark (user_id, created_at desc, id desc)');
  }

  override down(): void {
    this.addSql('drop table bookmark');
  }
}
