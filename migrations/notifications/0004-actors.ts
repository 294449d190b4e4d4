import { Migration } from 'parley-forum';

/**
 * The members who did what a notification is about, each once and the latest first; for existing notifications only the
 * latest is known.
 */
export default class Notifications0004Actors extends Migration {
  override up(): void {
    this.addSql("alter table notification add column actor_ids uuid[] not null default '{}'");
    this.addSql('update notification set actor_ids = array[actor_id] where actor_id is not null');
  }

  override down(): void {
    this.addSql('alter table notification drop column actor_ids');
  }
}
