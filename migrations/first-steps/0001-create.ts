import { Migration } from 'parley-forum';

export default class FirstSteps0001Create extends Migration {
  override up(): void {
    this.addSql('create table first_steps_hidden (user_id uuid primary key, hidden_at timestamptz(3) not null)');
  }

  override down(): void {
    this.addSql('drop table first_steps_hidden');
  }
}
