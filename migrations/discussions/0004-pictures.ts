import { Migration } from 'parley-forum';

/** The rules for pictures by which all stored texts were last checked; null until they have been checked once. */
export default class Discussions0004Pictures extends Migration {
  override up(): void {
    this.addSql('create table post_pictures (id smallint primary key default 1 check (id = 1), rule text)');
    this.addSql('insert into post_pictures (id) values (1)');
  }

  override down(): void {
    this.addSql('drop table post_pictures');
  }
}
