interface Moment {
  readonly at: number;
  /** What is written into the next id: a millisecond that is full borrows from the next. */
  time: number;
  sequence: number;
}

/** The last two moments asked for, since ids of real time and of a clock that tests stop may take turns. */
let [latest, other]: Moment[] = [];

/**
 * A UUID of version 7: ids made later sort later, to the millisecond of `at` (epoch milliseconds), and within one in
 * the order they were made.
 */
export function createId(at: number): string {
  const random = crypto.randomUUID();
  if (latest?.at !== at) [latest, other] = [other, latest];
  if (latest?.at !== at) latest = { at, time: at, sequence: Number.parseInt(random.slice(0, 2), 16) };
  else if (++latest.sequence > 0xfff) {
    latest.time++;
    latest.sequence = 0;
  }
  const moment = latest.time.toString(16).padStart(12, '0');
  return `${moment.slice(0, 8)}-${moment.slice(8)}-7${latest.sequence.toString(16).padStart(3, '0')}-${random.slice(19)}`;
}
