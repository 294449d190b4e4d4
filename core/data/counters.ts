import { defineExtensionPoint } from '../ref.ts';

/**
 * Numbers that are kept beside what they count, so that a page need not count. Whoever keeps such numbers says here how
 * they are compared with what is there and made equal again; the command `recount` and the doctor ask.
 */
export interface Counter {
  /** What is counted, as the command shows it: `lines of orders`. */
  readonly name: string;
  /**
   * At most `limit` keys of what has numbers, in order: those after one, or with `descending` those from the last one on.
   */
  keys(part: {
    readonly after?: string | undefined;
    readonly limit: number;
    readonly descending?: boolean;
  }): Promise<readonly string[]>;
  /**
   * What differs among these, one line each. One statement, so that what is written meanwhile is seen wholly or not at
   * all.
   */
  check(keys: readonly string[]): Promise<readonly string[]>;
  /** Makes these equal, in a transaction that locks rows in the order of every other write. */
  repair(keys: readonly string[]): Promise<void>;
}

/** Where those who keep such numbers add how they are compared and repaired. */
export const counters = defineExtensionPoint<Counter>(
  'kernel.counters',
  'Stored numbers that `recount` and the doctor compare with what they count, and repair.',
  { order: 'The order in which they are compared and repaired.' },
);

/** Keys that are looked at together. */
const TOGETHER = 500;

/** The differences of a counter, batch by batch, each with its keys. */
export async function* differences(
  counter: Counter,
): AsyncGenerator<{ readonly keys: readonly string[]; readonly lines: readonly string[] }, void> {
  for (let after: string | undefined, full = true; full;) {
    const keys = await counter.keys({ after, limit: TOGETHER });
    if (keys.length > 0) yield { keys, lines: await counter.check(keys) };
    after = keys.at(-1);
    full = keys.length === TOGETHER;
  }
}
