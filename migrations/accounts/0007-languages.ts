import { Migration } from 'parley-forum';

export default class Accounts0007Languages extends Migration {
  override up(): void {
    this.addSql('alter table account add column language text, add column timezone text');
  }

  override down(): void {
    this.addSql('alter table account drop column language, drop column timezone');
  }
}
