import { Migration } from 'parley-forum';

/** An index of all accounts by when they joined, for numbers of sign-ups. */
export default class Accounts0008Joined extends Migration {
  override up(): void {
    this.addSql('create index account_joined on account (joined_at)');
  }

  override down(): void {
    this.addSql('drop index account_joined');
  }
}
