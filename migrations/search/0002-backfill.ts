import { Migration } from 'parley-forum';

/** The kernel now stores where the plugin stopped, and a job the progress of a backfill; one in progress continues. */
export default class Search0002Backfill extends Migration {
  override up(): void {
    this.addSql(`insert into backfill (plugin, checkpoint)
      select 'search', coalesce(walking, complete) from search_state where coalesce(walking, complete) is not null on conflict (plugin) do nothing`);
    this
      .addSql(`insert into job (id, listener, key, payload) select gen_random_uuid(), 'search/job:catch-up', 'catch-up',
      jsonb_strip_nulls(jsonb_build_object('since', complete, 'after', walked)) from search_state where walking is not null`);
    this.addSql(`delete from job where listener = 'search/job:keep'`);
    this.addSql(
      'alter table search_state drop column complete, drop column walking, drop column walked, drop column stale',
    );
  }

  override down(): void {
    this.addSql(
      'alter table search_state add column complete text, add column walking text, add column walked uuid, add column stale boolean not null default false',
    );
    this.addSql(`update search_state set complete = (select checkpoint from backfill where plugin = 'search')`);
  }
}
