import { Migration } from 'parley-forum';

/** Widths in pixels of the smaller copies stored beside a picture. */
export default class Uploads0003SmallerCopies extends Migration {
  override up(): void {
    this.addSql(`alter table upload add column widths smallint[] not null default '{}'`);
  }

  override down(): void {
    this.addSql('alter table upload drop column widths');
  }
}
