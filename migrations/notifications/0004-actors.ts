import { Migration } from 'parley-forum';

/** Who did what a notification tells of, each once and the last first; of those there are, only the last is known. */
export default class Notifications0004Actors extends Migration {
  override up(): void {
    this.addSql("alter table notification add column actor_ids uuid[] not null default '{}'");
    this.addSql('update notification set actor_ids = array[actor_id] where actor_id is not null');
  }

  override down(): void {
    this.addSql('alter table notification drop column actor_ids');
  }
}
