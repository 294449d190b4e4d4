import { AsyncLocalStorage } from 'node:async_hooks';
import type { Connection } from './watchdog.ts';

type Answer = Promise<unknown>;
/** What the ORM takes of the answer to a `begin` or `commit`. */
const DONE = { command: '', rowCount: null, rows: [] };

/** PostgreSQL's code for what comes after a statement that failed. */
const FAILED = '25P02';
/**
 * What a `commit` comes to after a statement that failed: PostgreSQL rolls back, and calls that no error. Whoever caught
 * what the statement threw would take for kept what is lost.
 */
export const lostTransaction = (cause?: unknown): Error =>
  Object.assign(
    new Error(
      'a statement of this transaction failed and was not thrown on, so nothing of it was kept; do not catch what fails in a transaction',
      { cause },
    ),
    { code: FAILED },
  );

/**
 * Sends the `begin` of a transaction with its first statement and, where it is known which one is the last, the
 * `commit` with that: each spares the server a waking and both ends a message. A transaction in which nothing was asked
 * for is never begun.
 */
export class TransactionEnds {
  /** Set while the last statement of a transaction is on its way to its connection. */
  readonly #last = new AsyncLocalStorage<{ open: boolean }>();

  /** The first statement that `work` asks for is the last of its transaction. */
  thenCommit<T>(work: () => Promise<T>): Promise<T> {
    return this.#last.run({ open: true }, work);
  }

  /**
   * By what each statement of a connection is sent. `ask` sends one at once; `run` sends this one, and is told whether
   * the commit is right behind it.
   */
  watch({ connection: { stream } }: Connection, ask: (text: string, values: readonly unknown[]) => Answer) {
    /** It was asked for, and nothing has been sent since. */
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
        // A transaction in which that statement failed is rolled back by it. The caller hears of it when it commits.
        committed = ask('commit', []);
        committed.catch(() => undefined);
      }
      stream.uncork();
      return Promise.all([answer, beginning]).then(([result]) => result);
    };
  }
}

/** What a `commit` was answered, where it was one. */
function kept(answer: unknown): unknown {
  if ((answer as { readonly command: string }).command === 'ROLLBACK') throw lostTransaction();
  return answer;
}
