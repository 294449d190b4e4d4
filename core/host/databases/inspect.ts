import type { Logger } from '../../logger.ts';
import type { DatabaseReport } from '../setup.ts';
import { openPostgres } from './postgres.ts';

/** Extensions that migrations may use; the embedded database includes the same ones. */
const EXTENSIONS = ['citext', 'pg_trgm', 'unaccent'];

/** Inspects a database without changing it. Throws what the driver throws. */
export async function inspectDatabase(url: string, log: Logger): Promise<DatabaseReport> {
  const backend = await openPostgres(url, 1, log).catch((error: unknown) => {
    throw error instanceof Error && error.cause !== undefined ? error.cause : error;
  });
  try {
    const ask = async <T>(text: string, ...values: readonly unknown[]): Promise<T> =>
      (await backend.query(text, values)).rows[0] as T;
    const { kept, ...report } = await ask<Omit<DatabaseReport, 'installed'> & { kept: boolean }>(
      `
      select split_part(current_setting('server_version'), ' ', 1) as version, to_regclass('setting') is not null as kept,
        coalesce(has_schema_privilege(current_schema(), 'CREATE') and has_database_privilege(current_database(), 'CREATE'), false) as writable,
        (select coalesce(json_agg(name order by name), '[]') from unnest($1::text[]) as name
          where name not in (select name from pg_available_extensions)) as missing`,
      EXTENSIONS,
    );
    if (!kept) return { ...report, installed: false };
    const { installed } = await ask<{ installed: boolean }>(
      `select exists(select 1 from setting where key = 'kernel.installed_at') as installed`,
    );
    return { ...report, installed };
  } finally {
    await backend.close();
  }
}
