import { Migration } from 'parley-forum';

export default class Access0002Suspensions extends Migration {
  override up(): void {
    this.addSql(`create table access_suspension (
      user_id uuid primary key,
      until timestamptz(3) not null,
      reason text not null
    )`);
    this.addSql('create index access_suspension_until on access_suspension (until)');
  }

  override down(): void {
    this.addSql('drop table access_suspension');
  }
}
