import { Migration } from 'parley-forum';

export default class PolicyReports0001Create extends Migration {
  override up(): void {
    this.addSql(
      'create table policy_report (day date not null, directive text not null, blocked text not null, count integer not null, primary key (day, directive, blocked))',
    );
  }

  override down(): void {
    this.addSql('drop table policy_report');
  }
}
