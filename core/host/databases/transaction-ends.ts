import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection } from './watchdog.ts';

type Answer = Promise<unknown>;
/** The part of the result of a `begin` or `commit` that the ORM reads. */
const DONE = { command: '', rowCount: null, rows: [] };

/** SQLSTATE of statements that follow a failed one in the same transaction. */
const FAILED = '25P02';
/**
 * The error for a `commit` after a failed statement: PostgreSQL rolls back without reporting an error, so a caller that
 * caught the statement's error would believe that its changes were committed.
 */
export const lostTransaction = (cause?: unknown): Error =>
  Object.assign(
    new Error(
      'a statement of this transaction failed and its error was not rethrown, so the transaction was rolled back; do not catch errors of statements in a transaction',
      { cause },
    ),
    { code: FAILED },
  );

/**
 * Sends the `begin` of a transaction together with its first statement and, if the last one is known, the `commit`
 * together with that: each saves the server a wake-up and both sides a message. A transaction without statements is
 * never begun.
 */
export class TransactionEnds {
  /** Marks the async context in which the last statement of a transaction is about to be sent. */
  readonly #last = new AsyncLocalStorage<{ open: boolean }>();

  /** Declares that the first statement of `work` is the last of its transaction. */
  thenCommit<T>(work: () => Promise<T>): Promise<T> {
    return this.#last.run({ open: true }, work);
  }

  /**
   * Returns the function through which all statements of a connection are sent. `ask` sends a statement immediately;
   * `run` sends the current one and is told whether the commit follows directly.
   */
  watch({ connection: { stream } }: Connection, ask: (text: string, values: readonly unknown[]) => Answer) {
    /** A `begin` was requested, and nothing has been sent since. */
    let begun = false;
    let committed: Answer | undefined;

    return (text: string, run: (last: boolean) => Answer): Answer => {
      if (text === 'begin') {
        begun = true;
        return Promise.resolve(DONE);
      }
      if (text === 'commit' || text === 'rollback') {
        const answer = (begun ? Promise.resolve(DONE) : committed) ?? run(false);
        [begun, committed] = [false, undefined];
        return text === 'commit' ? answer.then(kept) : answer;
      }
      const last = this.#last.getStore();
      if (!begun && !last?.open) return run(false);
      stream.cork();
      const beginning = begun ? ask('begin', []) : undefined;
      begun = false;
      const answer = run(last?.open ?? false);
      if (last?.open) {
        last.open = false;
        // If that statement fails, the commit becomes a rollback. The caller gets the error from its own `commit`.
        committed = ask('commit', []);
        committed.catch(() => undefined);
      }
      stream.uncork();
      return Promise.all([answer, beginning]).then(([result]) => result);
    };
  }
}

/** The result of a `commit`; throws if it turned out to be a rollback. */
function kept(answer: unknown): unknown {
  if ((answer as { readonly command: string }).command === 'ROLLBACK') throw lostTransaction();
  return answer;
}
