import { Migration } from 'parley-forum';

export default class Privacy0002Erasures extends Migration {
  override up(): void {
    // `plugins`: those that have erased their data about the account. A plugin that was off does so when it is on
    // again.
    this.addSql(`create table privacy_erasure (
      account_id uuid primary key,
      mode text not null check (mode in ('anonymise', 'remove')),
      plugins text[] not null
    )`);
  }

  override down(): void {
    this.addSql('drop table privacy_erasure');
  }
}
