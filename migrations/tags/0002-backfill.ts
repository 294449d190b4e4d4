import { Migration } from 'parley-forum';

/** The kernel now stores where the plugin stopped; of several stops, the first that it has not caught up with. */
export default class Tags0002Backfill extends Migration {
  override up(): void {
    this.addSql(`insert into backfill (plugin, checkpoint)
      select 'tags', since from tag_absence order by split_part(since, ' ', 2), id limit 1 on conflict (plugin) do nothing`);
    this.addSql('drop table tag_absence');
  }

  override down(): void {
    this.addSql('create table tag_absence (id bigint generated always as identity primary key, since text not null)');
    this.addSql(`insert into tag_absence (since) select checkpoint from backfill where plugin = 'tags'`);
  }
}
