import { createId, sql, type Clock, type Data } from 'parley-forum';
import { repeatInBatches } from 'parley-forum/ports/personal-data';
import type { LogWriter } from './log-writer.ts';

const DAY = 86_400_000;
/**
 * Minimum days for which entries are kept: somebody who steals an administrator's session cannot have them deleted
 * soon.
 */
const MIN_DAYS = 30;
/** Entries deleted in one transaction, during which new ones have to wait: many, because each batch adds an entry. */
const BATCH_SIZE = 5_000;

/** The action of entries that say how much was deleted, and where the rest of the log begins. */
export const FORGOTTEN = 'audit.forgotten';

export interface RetentionDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly writer: LogWriter;
  /** Stops the deletion between two batches. */
  readonly signal: AbortSignal;
}

/**
 * Deletes entries older than so many days from the beginning of the log, and adds an entry about each batch. With 0
 * days nothing is deleted.
 */
export async function deleteOld(deps: RetentionDeps, days: number): Promise<void> {
  if (days === 0) return;
  const before = new Date(deps.clock.now() - Math.max(days, MIN_DAYS) * DAY);
  await repeatInBatches(deps.signal, (limit) => deleteBatch(deps, before, limit), BATCH_SIZE);
}

/** Resolves to the number of deleted entries. */
function deleteBatch({ data, clock, writer }: RetentionDeps, before: Date, limit: number): Promise<number> {
  return data.transaction(async () => {
    await writer.lock();
    // Deletes up to the first entry that is not too old, so that there are no gaps.
    const old = await data.one(sql<{ position: number; seal: string; count: number }>`
      with first as (select position, seal, created_at from audit_entry order by position limit ${limit}),
      old as (select position, seal from first
        where position < coalesce((select min(position) from first where created_at >= ${before}), 9007199254740991))
      select position, seal, (select count(*) from old) as count from old order by position desc limit 1`);
    if (!old) return 0;
    const now = clock.now();
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
    return old.count;
  });
}
