import { Migration } from 'parley-forum';

/** The post that a reply answers, by its number, so that it cannot belong to another discussion. */
export default class Discussions0007ReplyLinks extends Migration {
  override up(): void {
    this.addSql('alter table post add column reply_to_number integer');
    this.addSql(`alter table post add constraint post_reply_to foreign key (discussion_id, reply_to_number)
      references post (discussion_id, number) on delete set null (reply_to_number)`);
    this.addSql(
      'create index post_reply_to on post (discussion_id, reply_to_number, number) where reply_to_number is not null',
    );
  }

  override down(): void {
    this.addSql('alter table post drop column reply_to_number');
  }
}
