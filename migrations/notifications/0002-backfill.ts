import { Migration } from 'parley-forum';

/** The kernel now stores where the plugin stopped, instead of a hidden setting. */
export default class Notifications0002Backfill extends Migration {
  override up(): void {
    this.addSql(`insert into backfill (plugin, checkpoint)
      select 'notifications', value #>> '{}' from setting where key = 'notifications.stopped_at' and value #>> '{}' <> ''
      on conflict (plugin) do nothing`);
    this.addSql(`delete from setting where key = 'notifications.stopped_at'`);
  }

  override down(): void {
    this.addSql(
      `insert into setting (key, value) select 'notifications.stopped_at', to_jsonb(checkpoint) from backfill where plugin = 'notifications'`,
    );
  }
}
