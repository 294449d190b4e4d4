import { Migration } from 'parley-forum';

/** Ids grow with time, so they order the lists. */
export default class Reports0001Create extends Migration {
  override up(): void {
    this.addSql(`create table report (
      id uuid primary key,
      post_id uuid not null,
      discussion_id uuid not null,
      reporter_id uuid not null,
      reason text not null,
      note text not null,
      status text not null default 'open',
      created_at timestamptz(3) not null,
      handled_by uuid,
      handled_at timestamptz(3),
      handled_note text not null default ''
    )`);
    // One open report per member and post.
    this.addSql("create unique index report_open on report (post_id, reporter_id) where status = 'open'");
    this.addSql('create index report_status on report (status, id desc)');
  }

  override down(): void {
    this.addSql('drop table report');
  }
}
