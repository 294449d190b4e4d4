import { Migration } from 'parley-forum';

export default class Messages0002Edited extends Migration {
  override up(): void {
    this.addSql('alter table conversation_message add column edited_at timestamptz(3)');
  }

  override down(): void {
    this.addSql('alter table conversation_message drop column edited_at');
  }
}
