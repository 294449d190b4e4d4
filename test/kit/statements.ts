import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';

interface Tally {
  count: number;
}

/** The tally to which the current async context's statements are added. */
const accounts = new AsyncLocalStorage<Tally>();
/** The tally of the current measurement: requests that arrive during it are added to it. */
let counting: Tally | undefined;

subscribe('parley.statement', () => {
  const tally = accounts.getStore();
  if (tally) tally.count++;
});
subscribe('http.server.request.start', () => accounts.enterWith(counting ?? { count: 0 }));

/**
 * How many SQL statements were run by `work` and the requests it makes; statements run in the background meanwhile are
 * not counted.
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

/** Maximum number of measurements of one value. */
const ROUNDS = 5;

/**
 * Returns the smallest measurement once it has occurred twice: whichever request comes first after a purge reloads what
 * is cached. A first measurement is discarded, because items seen for the first time are then marked as seen.
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
