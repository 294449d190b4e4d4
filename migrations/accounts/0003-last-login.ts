import { Migration } from 'parley-forum';

export default class Accounts0003LastLogin extends Migration {
  override up(): void {
    this.addSql('alter table account add column last_login_at timestamptz(3)');
  }

  override down(): void {
    this.addSql('alter table account drop column last_login_at');
  }
}
