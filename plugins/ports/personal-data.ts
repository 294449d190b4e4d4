import { defineExtensionPoint, defineToken } from 'parley-forum';

/** `anonymise` keeps what the member wrote, without their name; `remove` deletes that as well. */
export const MODES = ['anonymise', 'remove'] as const;
export type Mode = (typeof MODES)[number];

/** Erases accounts. */
export interface Deletions {
  /** Erases the member's account at once, without a grace period. Throws 409 for the only administrator. */
  erase(accountId: string, mode: Mode, by?: string): Promise<void>;
}
export const Deletions = defineToken<Deletions>('Deletions');

/** A file in a member's data export. */
export interface PersonalFile {
  /** Path inside the archive's folder, separated by `/`. */
  readonly path: string;
  /** Streamed in chunks while the archive is sent, so that nothing large is held in memory. */
  readonly content: string | AsyncIterable<string | Uint8Array>;
}

/** The data that one plugin stores about a member. Added by that plugin. */
export interface PersonalData {
  /** Its name in the log when an export or erasure fails. */
  readonly name: string;
  /**
   * The files the member gets when they ask for their data: each is read to its end before the next one is requested.
   * Must not contain secrets, nor anything that only others may know.
   */
  entries?(accountId: string): AsyncIterable<PersonalFile>;
  /**
   * Erases the data of a member whose account is already anonymised. Works in batches, each in its own transaction, and
   * stops early when `signal` aborts. Must be idempotent: it runs again after a failure, and once more a day later for
   * data that was still in flight.
   */
  erase?(accountId: string, mode: Mode, signal: AbortSignal): Promise<void>;
}
export const personalData = defineExtensionPoint<PersonalData>(
  'privacy.personal-data',
  'What the plugin stores about a member: exported at their request, and erased with their account.',
  { order: 'The order of erasure: plugins that raise events about it come before those that store events.' },
);

/** For `order`: data to be erased last, such as copies and logs of what other plugins erase. */
export const LAST = 100;

/** Rows that one step reads or handles. */
const BATCH_SIZE = 200;

/**
 * Yields all rows of a list, one batch at a time: `read` gets the last row of the previous batch and the number of rows
 * to read.
 */
export async function* readInBatches<Row>(
  read: (after: Row | undefined, limit: number) => Promise<readonly Row[]>,
): AsyncGenerator<Row, void> {
  for (let last: Row | undefined, full = true; full;) {
    const rows = await read(last, BATCH_SIZE);
    yield* rows;
    last = rows.at(-1);
    full = rows.length === BATCH_SIZE;
  }
}

/** Yields a JSON array with one row per line. */
export async function* jsonList(rows: AsyncIterable<object> | Iterable<object>): AsyncGenerator<string, void> {
  let before = '[\n';
  for await (const row of rows) {
    yield before + JSON.stringify(row);
    before = ',\n';
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

/**
 * Repeats `step`, which handles up to `limit` rows and returns how many it handled, until it handles fewer or `signal`
 * aborts. A step that costs much however few rows it handles may handle more at a time than is usual.
 */
export async function repeatInBatches(
  signal: AbortSignal,
  step: (limit: number) => Promise<number>,
  limit = BATCH_SIZE,
): Promise<void> {
  for (let done = limit; done === limit && !signal.aborted;) done = await step(limit);
}
