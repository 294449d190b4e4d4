import { Migration } from 'parley-forum';

/** The kernel now stores where the plugin stopped; of several stops, the first that it has not caught up with. */
export default class Uploads0002Backfill extends Migration {
  override up(): void {
    this.addSql(`insert into backfill (plugin, checkpoint)
      select 'uploads', since from upload_absence order by split_part(since, ' ', 2), id limit 1 on conflict (plugin) do nothing`);
    this.addSql('drop table upload_absence');
  }

  override down(): void {
    this.addSql(
      'create table upload_absence (id bigint generated always as identity primary key, since text not null)',
    );
    this.addSql(`insert into upload_absence (since) select checkpoint from backfill where plugin = 'uploads'`);
  }
}
