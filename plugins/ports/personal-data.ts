import { defineExtensionPoint, defineToken } from 'parley-forum';

/** `anonymise`: what a member wrote stays, without their name. `remove`: it goes as well. */
export const MODES = ['anonymise', 'remove'] as const;
export type Mode = (typeof MODES)[number];

/** Erases accounts. */
export interface Deletions {
  /**
   * The member's account is erased at once, without a time in which they could come back. 409 for the only
   * administrator.
   */
  erase(accountId: string, mode: Mode, by?: string): Promise<void>;
}
export const Deletions = defineToken<Deletions>('Deletions');

/** A file of a member's own data. */
export interface PersonalFile {
  /** Below the archive's folder, with `/` between its parts. */
  readonly path: string;
  /** Read while the archive is sent, in chunks: nothing long is held in memory. */
  readonly content: string | AsyncIterable<string | Uint8Array>;
}

/** What one plugin stores about a member. Added by that plugin. */
export interface PersonalData {
  /** What it is, as the log of failures names it. */
  readonly name: string;
  /**
   * What the member gets when they ask for their data: each file is read to its end before the next one is asked for.
   * Never secrets, nor what only others may know.
   */
  entries?(accountId: string): AsyncIterable<PersonalFile>;
  /**
   * Erases the data of the member, whose account is anonymised already. In batches, each a transaction; stops early
   * when `signal` aborts. Runs again after a failure and once more a day later, for what was still on its way, so it
   * must do no harm the second time.
   */
  erase?(accountId: string, mode: Mode, signal: AbortSignal): Promise<void>;
}
export const personalData = defineExtensionPoint<PersonalData>(
  'privacy.personal-data',
  'What the plugin stores about a member: exported when they ask for it, and erased with their account.',
  { order: 'The order of the erasure: plugins that raise events about it come before those that store events.' },
);

/** For `order`: what is to be erased last, such as copies and logs of what others erase. */
export const LAST = 100;

/** Rows in one statement of an archive. */
const BATCH_SIZE = 200;

/** All rows of a list, a batch at a time: `read` gets the last row of the batch before, and how many to read. */
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

/** A JSON array, one row on each line. */
export async function* jsonList(rows: AsyncIterable<object> | Iterable<object>): AsyncGenerator<string, void> {
  let before = '[\n';
  for await (const row of rows) {
    yield before + JSON.stringify(row);
    before = ',\n';
  }
  yield before === '[\n' ? '[]\n' : '\n]\n';
}

/**
 * Repeats `step`, which handles up to `limit` rows and returns how many it handled, until it handled fewer or `signal`
 * aborts.
 */
export async function repeatInBatches(signal: AbortSignal, step: (limit: number) => Promise<number>): Promise<void> {
  for (let done = BATCH_SIZE; done === BATCH_SIZE && !signal.aborted;) done = await step(BATCH_SIZE);
}
