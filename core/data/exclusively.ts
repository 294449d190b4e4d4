import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Data } from './database.ts';

/** Milliseconds between signs of life: a server ends transactions in which nothing happens for a minute. */
const KEEP_ALIVE_INTERVAL = 10_000;

/** The names of the work running in this process, by database. */
const running = new WeakMap<Data, Set<string>>();

/**
 * Runs `work` while no process runs work of this name on the same database; throws `busy()` if one does. For work that
 * takes many transactions: the lock is released if the process ends. The name starts with the plugin's id, as those of
 * `lock` do.
 */
export async function exclusively<T>(data: Data, name: string, busy: () => Error, work: () => Promise<T>): Promise<T> {
  const names = running.get(data) ?? new Set();
  running.set(data, names);
  if (names.has(name)) throw busy();
  names.add(name);
  try {
    // One process has the embedded database to itself, and a transaction held open would make all other requests wait.
    return data.embedded ? await work() : await amongProcesses(data, name, busy, work);
  } finally {
    names.delete(name);
  }
}

async function amongProcesses<T>(data: Data, name: string, busy: () => Error, work: () => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const locked = Promise.withResolvers<boolean>();
  const holding = data.transaction(async () => {
    const row = await data.one(
      sql<{ held: boolean }>`select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as held`,
    );
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
