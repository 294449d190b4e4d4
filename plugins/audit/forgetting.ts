import { sql, type Clock, type Data } from 'parley-forum';
import { createId } from 'parley-forum/plugins/api';
import type { Writing } from './writing.ts';

const DAY = 86_400_000;
/** Days for which entries stay at least: whoever takes an administrator's session over cannot make them go soon. */
const LEAST = 30;

/** The entry that says how much was forgotten, and where what is left begins. */
export const FORGOTTEN = 'audit.forgotten';

export interface ForgettingParts {
  readonly data: Data;
  readonly clock: Clock;
  readonly writing: Writing;
}

/**
 * Deletes what is older than so many days, from the beginning on, and leaves an entry that says so. 0 days: nothing is
 * ever too old.
 */
export async function forget({ data, clock, writing }: ForgettingParts, days: number): Promise<void> {
  if (days === 0) return;
  const now = clock.now();
  const before = new Date(now - Math.max(days, LEAST) * DAY);
  await data.transaction(async () => {
    await writing.hold();
    // Up to the first one that is not too old, so that nothing is missing in between.
    const old = await data.one(sql<{ position: number; seal: string; count: number }>`
      with old as (select position, seal from audit_entry
        where position < coalesce((select min(position) from audit_entry where created_at >= ${before}), 9007199254740991))
      select position, seal, (select count(*) from old) as count from old order by position desc limit 1`);
    if (!old) return;
    const details = { entries: old.count, last_seal: old.seal };
    await writing.append([
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
