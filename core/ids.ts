let lastAt = 0;
let [time, sequence] = [0, 0];

/**
 * A UUID of version 7: ids made later sort later, to the millisecond of `at` (epoch milliseconds), and within one in
 * the order they were made.
 */
export function createId(at: number): string {
  const random = crypto.randomUUID();
  // A millisecond that is full borrows from the next.
  if (at !== lastAt) [lastAt, time, sequence] = [at, at, Number.parseInt(random.slice(0, 2), 16)];
  else if (++sequence > 0xfff) [time, sequence] = [time + 1, 0];
  const moment = time.toString(16).padStart(12, '0');
  return `${moment.slice(0, 8)}-${moment.slice(8)}-7${sequence.toString(16).padStart(3, '0')}-${random.slice(19)}`;
}
