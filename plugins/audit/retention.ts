import { createId, sql, type Clock, type Data } from 'parley-forum';

import type { LogWriter } from './log-writer.ts';

const DAY = 86_400_000;
/** Days for which entries stay at least: the thief of an administrator's session cannot have them deleted soon. */
const MIN_DAYS = 30;

/** The entry that says how much was deleted, and where the rest begins. */
export const FORGOTTEN = 'audit.forgotten';

export interface RetentionDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly writer: LogWriter;
}

/**
 * Deletes what is older than so many days, from the beginning on, and leaves an entry that says so. 0 days: nothing is
 * ever too old.
 */
export async function deleteOld({ data, clock, writer }: RetentionDeps, days: number): Promise<void> {
  if (days === 0) return;
  const now = clock.now();
  const before = new Date(now - Math.max(days, MIN_DAYS) * DAY);
  await data.transaction(async () => {
    await writer.lock();
    // Up to the first one that is not too old, so that nothing is missing in between.
    const old = await data.one(sql<{ position: number; seal: string; count: number }>`
      with old as (select position, seal from audit_entry
        where position <
          coalesce((select min(position) from audit_entry where created_at >= ${before}), 9007199254740991))
      select position, seal, (select count(*) from old) as count from old order by position desc limit 1`);
    if (!old) return;
    const details = { entries: old.count, last_seal: old.seal };
    await writer.append([
      {
        id: createId(now),
        action: FORGOTTEN,
        actor: null,
        subjectType: null,
        subjectId: null,
        address: null,
        details,
        createdAt: new Date(now),
      },
    ]);
    await data.all(sql`select set_config('parley.audit_forgets', 'on', true)`);
    await data.all(sql`delete from audit_entry where position <= ${old.position}`);
  });
}
