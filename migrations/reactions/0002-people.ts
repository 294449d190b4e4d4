import { Migration } from 'parley-forum';

export default class Reactions0002People extends Migration {
  override up(): void {
    // For lists of who reacted, which then read no more rows than they show.
    this.addSql('create index reaction_people on reaction (post_id, type, id desc)');
  }

  override down(): void {
    this.addSql('drop index reaction_people');
  }
}
