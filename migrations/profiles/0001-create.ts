import { Migration } from 'parley-forum';

export default class Profiles0001Create extends Migration {
  override up(): void {
    this.addSql(`create table profile (
      user_id uuid primary key,
      about text not null,
      html text not null,
      place text not null,
      links text[] not null,
      updated_at timestamptz(3) not null
    )`);
  }

  override down(): void {
    this.addSql('drop table profile');
  }
}
