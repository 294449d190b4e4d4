import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';

interface Tally {
  count: number;
}

/** On whose account what runs now is. */
const accounts = new AsyncLocalStorage<Tally>();
/** Of the count under way: requests that come in meanwhile are on its account. */
let counting: Tally | undefined;

subscribe('parley.statement', () => {
  const tally = accounts.getStore();
  if (tally) tally.count++;
});
subscribe('http.server.request.start', () => accounts.enterWith(counting ?? { count: 0 }));

/**
 * How many SQL statements `work`, and the requests that it makes, ran; what runs in the background meanwhile is left
 * out.
 */
export async function countStatements(work: () => Promise<unknown>): Promise<number> {
  const tally = { count: 0 };
  counting = tally;
  try {
    await accounts.run(tally, work);
    return tally.count;
  } finally {
    counting = undefined;
  }
}

/** Most measurements of one number. */
const ROUNDS = 5;

/**
 * The least of some measurements, when it was found twice: what is kept in memory is read anew by whichever comes first.
 * One more goes before them and does not count: what somebody sees for the first time is marked as seen.
 */
export async function leastOf(measure: () => Promise<number>): Promise<number> {
  await measure();
  const found: number[] = [];
  let least = Infinity;
  while (found.length < ROUNDS && found.filter((count) => count === least).length < 2) {
    found.push(await measure());
    least = Math.min(...found);
  }
  return least;
}
