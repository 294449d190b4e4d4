import { Database, sql } from '../../data/database.ts';
import type { Logger } from '../../logger.ts';

export interface DatabaseOptions {
  /** A PostgreSQL connection URL; without it the embedded database is used. */
  readonly url?: string | undefined;
  /** DATA_DIR; the embedded database is in its `database` folder. */
  readonly folder: string;
  readonly log: Logger;
  /** Maximum number of connections to a server. Default 10. */
  readonly pool?: number | undefined;
}

/**
 * Opens the database. Throws `ConfigurationError` if the server cannot be reached or if another process has the
 * embedded database open.
 */
export async function openDatabase({ url, folder, log, pool = 10 }: DatabaseOptions): Promise<Database> {
  // Imported on demand: each has its own driver, and PGlite takes a while to load.
  const backend = url
    ? await (await import('./postgres.ts')).openPostgres(url, pool, log)
    : await (await import('./embedded.ts')).openEmbedded(folder, log);
  const database = new Database(backend, log);
  // Another process may be creating the table at the same moment.
  await database.all(sql`do $$ begin
    create table if not exists migration (plugin text not null, name text not null, run_at timestamptz not null default now(), primary key (plugin, name));
  exception when unique_violation or duplicate_table or duplicate_object then null;
  end $$`);
  return database;
}
