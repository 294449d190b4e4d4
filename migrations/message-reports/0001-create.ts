import { Migration } from 'parley-forum';

/** Each report has its own copy of the message, independent of the tables of conversations. Ids grow with time. */
export default class MessageReports0001Create extends Migration {
  override up(): void {
    this.addSql(`create table message_report (
      id uuid primary key,
      message_id uuid not null,
      author_id uuid not null,
      content text not null,
      html text not null,
      image_rule text not null,
      sent_at timestamptz(3) not null,
      reporter_id uuid,
      reason text not null,
      note text not null,
      status text not null default 'open',
      created_at timestamptz(3) not null,
      handled_by uuid,
      handled_at timestamptz(3),
      handled_note text not null default ''
    )`);
    // One open report per member and message.
    this.addSql(
      "create unique index message_report_open on message_report (message_id, reporter_id) where status = 'open'",
    );
    this.addSql('create index message_report_message on message_report (message_id, id)');
    this.addSql('create index message_report_status on message_report (status, id desc)');
    this.addSql('create index message_report_author on message_report (author_id, id)');
    this.addSql('create index message_report_reporter on message_report (reporter_id, id)');
    this.addSql('create index message_report_handled on message_report (handled_at) where handled_at is not null');
  }

  override down(): void {
    this.addSql('drop table message_report');
  }
}
