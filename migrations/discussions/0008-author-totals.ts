import { Migration } from 'parley-forum';

/**
 * The number of posts of each member in all categories, for the list of the most active members. Triggers keep it up to
 * date with the numbers by category, and lock users in order within a statement.
 */
export default class Discussions0008AuthorTotals extends Migration {
  override up(): void {
    this.addSql(
      'create table discussion_author_total (user_id uuid primary key, posts integer not null) with (fillfactor = 70)',
    );
    this.addSql(
      'insert into discussion_author_total (user_id, posts) select user_id, sum(posts) from discussion_author group by user_id',
    );
    this.addSql(
      'create index discussion_author_total_most on discussion_author_total (posts desc, user_id desc) where posts > 0',
    );
    const add = (changes: string): string =>
      `insert into discussion_author_total as t (user_id, posts) select user_id, sum(posts) from (${changes}) c group by user_id having sum(posts) <> 0
        order by user_id on conflict (user_id) do update set posts = t.posts + excluded.posts`;
    const came = 'select user_id, posts from fresh';
    const went = 'select user_id, -posts as posts from former';
    this.addSql(`create function discussion_author_counted() returns trigger language plpgsql as $$ begin
      if tg_op = 'INSERT' then ${add(came)};
      elsif tg_op = 'DELETE' then ${add(went)};
      else ${add(`${came} union all ${went}`)};
      end if;
      return null;
    end $$`);
    for (const [change, tables] of [
      ['insert', 'new table as fresh'],
      ['update', 'old table as former new table as fresh'],
      ['delete', 'old table as former'],
    ] as const)
      this.addSql(`create trigger discussion_author_${change} after ${change} on discussion_author referencing ${tables}
        for each statement execute function discussion_author_counted()`);
  }

  override down(): void {
    for (const change of ['insert', 'update', 'delete'])
      this.addSql(`drop trigger discussion_author_${change} on discussion_author`);
    this.addSql('drop function discussion_author_counted');
    this.addSql('drop table discussion_author_total');
  }
}
