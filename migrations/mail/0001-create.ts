import { Migration } from 'parley-forum';

export default class Mail0001Create extends Migration {
  override up(): void {
    // `sealed` is emptied once the mail was sent or given up; the row stays for a while to detect duplicates by its
    // key.
    this.addSql(`create table mail_message (
      id uuid primary key,
      key text unique,
      sealed text,
      refusal integer,
      created_at timestamptz(3) not null
    )`);
    this.addSql('create index mail_message_age on mail_message (created_at)');
  }

  override down(): void {
    this.addSql('drop table mail_message');
  }
}
