import { Migration } from 'parley-forum';

/** The moderator who works on a report, the notes of moderators, and the author of the reported post. */
export default class Reports0002ClaimsAndNotes extends Migration {
  override up(): void {
    this.addSql(
      'alter table report add column claimed_by uuid, add column claimed_at timestamptz(3), add column author_id uuid',
    );
    this.addSql('update report set author_id = post.author_id from post where post.id = report.post_id');
    this.addSql('delete from report where author_id is null');
    this.addSql('alter table report alter column author_id set not null');
    this.addSql('create index report_author on report (author_id, id desc)');
    this.addSql(`create table report_note (
      id uuid primary key,
      report_id uuid not null references report (id) on delete cascade,
      author_id uuid not null,
      content text not null,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index report_note_report on report_note (report_id, id)');
  }

  override down(): void {
    this.addSql('drop table report_note');
    this.addSql('drop index report_author');
    this.addSql('alter table report drop column claimed_by, drop column claimed_at, drop column author_id');
  }
}
