import { Cron } from 'croner';
import { sql, type Database } from './data.ts';
import { messageOf, PluginError } from './errors.ts';

export type { Cron } from 'croner';

/** Throws `PluginError` for an expression that cannot be read. Its moments are in UTC. */
export function readCron(plugin: string, expression: string): Cron {
  try {
    return new Cron(expression, { timezone: 'UTC', paused: true });
  } catch (error) {
    throw new PluginError(plugin, `has a job whose cron expression "${expression}" cannot be read: ${messageOf(error)}; write for example "0 3 * * *"`);
  }
}

/**
 * Stores a job for each expression that is due by the database's clock, in one process only. What was missed while none ran is
 * fired once, and a job that has not begun yet stands for the next too. Resolves to the milliseconds until the next moment.
 */
export async function fire(data: Database, crons: ReadonlyMap<string, Cron>): Promise<number> {
  const rows = [...crons].flatMap(([listener, cron]) => {
    const [next, after] = cron.nextRuns(2);
    return next ? [{ listener, cron: cron.getPattern(), next, after }] : [];
  });
  if (rows.length === 0) return Infinity;
  // The process that moves the moment on stores the job. By a clock that is behind the database's, `next` may be the moment that fires.
  await data.all(sql`
    with mine as (
      select * from json_to_recordset(${JSON.stringify(rows)}::json) as m(listener text, cron text, next timestamptz, after timestamptz)
    ), noted as (
      insert into job_schedule as s (listener, cron, next_at) select m.listener, m.cron, m.next from mine m
      where not exists (select 1 from job_schedule s where s.listener = m.listener and s.cron = m.cron) order by m.listener
      on conflict (listener) do update set cron = excluded.cron, next_at = excluded.next_at where s.cron <> excluded.cron
    ), fired as (
      update job_schedule s set next_at = case when m.next > s.next_at then m.next else coalesce(m.after, 'infinity') end
      from mine m where s.listener = m.listener and s.cron = m.cron and s.next_at <= now() returning m.listener
    )
    insert into job (id, listener, payload) select gen_random_uuid(), f.listener, '{}'::jsonb from fired f
    where not exists (select 1 from job j where j.listener = f.listener and j.failed_at is null and j.owner is null and j.attempt = 0)`);
  return Math.min(...rows.map(({ next }) => next.getTime() - Date.now()));
}
