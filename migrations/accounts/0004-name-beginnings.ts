import { Migration } from 'parley-forum';

/** An index for finding names by prefix, in the order in which they are listed. */
export default class Accounts0004NameBeginnings extends Migration {
  override up(): void {
    this.addSql('create index account_username_beginning on account ((lower(username::text) collate "C"), id)');
  }

  override down(): void {
    this.addSql('drop index account_username_beginning');
  }
}
