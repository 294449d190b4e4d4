import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError, sql, type Data } from 'parley-forum';

/** The advisory lock of an installation; the number has no meaning. */
const INSTALL_LOCK = 7_216_020;
/** Milliseconds between signs of life: a server ends transactions in which nothing happens for a minute. */
const KEEP_ALIVE_INTERVAL = 10_000;

/**
 * Runs `work` while no other process does the same on this database: 409 for the second. The lock goes away with the
 * process that holds it.
 */
export async function withInstallLock<T>(data: Data, work: () => Promise<T>): Promise<T> {
  // One process has the embedded database to itself, and a transaction held open would make all other requests
  // wait.
  if (data.embedded) return work();
  const ended = new AbortController();
  const locked = Promise.withResolvers<boolean>();
  const holding = data.transaction(async () => {
    const row = await data.one(sql<{ held: boolean }>`select pg_try_advisory_xact_lock(${INSTALL_LOCK}) as held`);
    locked.resolve(row?.held === true);
    if (!row?.held) return;
    while (!ended.signal.aborted) {
      await sleep(KEEP_ALIVE_INTERVAL, undefined, { signal: ended.signal }).catch(() => undefined);
      await data.one(sql`select 1`);
    }
  });
  holding.catch(locked.reject);
  try {
    if (!(await locked.promise)) throw busy();
    return await work();
  } finally {
    ended.abort();
    // A lock that was lost on the way is no fault of the work.
    await holding.catch(() => undefined);
  }
}

export const busy = (): HttpError =>
  new HttpError(409, 'Somebody else is installing this forum at the moment; wait until they are done');
