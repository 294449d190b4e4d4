import { messageOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';

/** Milliseconds between two looks at the tables. */
const EVERY = 300_000;

/** One statement outside of any transaction. */
type Run = (statement: string) => Promise<{ readonly rows: readonly object[] }>;

/** By the rule and the default thresholds of PostgreSQL's autovacuum (documentation, "The Autovacuum Daemon"). */
const NEGLECTED = `select format('%I.%I', s.schemaname, s.relname) as name from pg_stat_user_tables s join pg_class c on c.oid = s.relid
  where n_dead_tup > 50 + 0.2 * greatest(reltuples, 0) or n_ins_since_vacuum > 1000 + 0.2 * greatest(reltuples, 0)
    or n_mod_since_analyze > 50 + 0.1 * greatest(reltuples, 0) order by name`;

/** Reclaims what was deleted and counts what there is, in the tables that changed much. Resolves to their names. */
export async function vacuumTables(run: Run): Promise<readonly string[]> {
  // Without it the counters of this one session would stay at zero.
  await run('select pg_stat_force_next_flush()');
  const { rows } = await run(NEGLECTED);
  const tables = (rows as readonly { readonly name: string }[]).map(({ name }) => name);
  for (const table of tables) await run(`vacuum (analyze) ${table}`);
  return tables;
}

/**
 * Does for the embedded database what the autovacuum daemon does for a server: PGlite has no processes of its own, so
 * tables would only grow and the planner would know nothing of them. Returns what ends it; that resolves when no
 * statement is under way.
 */
export function startVacuuming(run: Run, log: Logger): () => Promise<void> {
  let vacuuming: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    vacuuming = vacuuming
      .then(() => vacuumTables(run))
      .catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'the embedded database could not be tended; it is tried again'),
      );
  }, EVERY).unref();
  return async () => {
    clearInterval(timer);
    await vacuuming;
  };
}
