import { messageOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';

/** Milliseconds between checks of the tables. */
const EVERY = 300_000;

/** Runs a single statement outside of any transaction. */
type Run = (statement: string) => Promise<{ readonly rows: readonly object[] }>;

/**
 * Tables that PostgreSQL's autovacuum would process by its default thresholds (documentation, "The Autovacuum Daemon").
 */
const NEGLECTED = `select format('%I.%I', s.schemaname, s.relname) as name from pg_stat_user_tables s join pg_class c on c.oid = s.relid
  where n_dead_tup > 50 + 0.2 * greatest(reltuples, 0) or n_ins_since_vacuum > 1000 + 0.2 * greatest(reltuples, 0)
    or n_mod_since_analyze > 50 + 0.1 * greatest(reltuples, 0) order by name`;

/** Vacuums and analyzes the tables that have changed much. Resolves to their names. */
export async function vacuumTables(run: Run): Promise<readonly string[]> {
  // Otherwise the statistics of this only session would stay at zero.
  await run('select pg_stat_force_next_flush()');
  const { rows } = await run(NEGLECTED);
  const tables = (rows as readonly { readonly name: string }[]).map(({ name }) => name);
  for (const table of tables) await run(`vacuum (analyze) ${table}`);
  return tables;
}

/**
 * Replaces the autovacuum daemon for the embedded database: PGlite has no background processes, so tables would only
 * grow and the planner would have no statistics. Returns a function that stops it and resolves once no statement is
 * running.
 */
export function startVacuuming(run: Run, log: Logger): () => Promise<void> {
  let vacuuming: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    vacuuming = vacuuming
      .then(() => vacuumTables(run))
      .catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'the embedded database could not be vacuumed; it will be retried'),
      );
  }, EVERY).unref();
  return async () => {
    clearInterval(timer);
    await vacuuming;
  };
}
