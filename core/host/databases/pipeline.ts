import { AsyncLocalStorage } from 'node:async_hooks';
import type { DatabaseDriver } from '../../data/database.ts';
import type { Connection } from './watchdog.ts';

type Rows = Awaited<ReturnType<DatabaseDriver['query']>>;

/** The driver's pool as it is used here. */
export interface PipelinePool {
  /** A connection is given back by `release`; one that failed is ended. */
  connect(): Promise<Connection & { release(failed?: Error): void }>;
}

interface Waiting {
  send(connection: Connection): Promise<Rows>;
  resolve(rows: Rows): void;
  reject(error: unknown): void;
}

/**
 * How many statements share a connection at most: one that takes long holds up those behind it, and what is asked for
 * beyond them has another of the server's processes.
 */
const TOGETHER = 8;

const READS = /^\s*select\b/i;
const LOCKS = /\bfor (?:update|no key update|share|key share)\b|\badvisory/i;

/**
 * Whether a statement waits for no other's lock. One that does may hold up none behind it: whoever has the lock may be
 * waiting for just those.
 */
const isRead = (text: string): boolean => READS.test(text) && !LOCKS.test(text);

/**
 * Statements outside of transactions. What is read in one turn of the event loop, as by the plugins that add to a page or
 * by requests that came together, goes out on one connection in one piece and comes back in one: most of what a small
 * statement costs is sending it and being woken by its answer. Each fails by itself. Whatever writes or locks has a
 * connection of its own.
 */
export class Pipeline {
  readonly #pool: PipelinePool;
  #waiting: Waiting[] = [];

  constructor(pool: PipelinePool) {
    this.#pool = pool;
  }

  query(text: string, values: readonly unknown[]): Promise<Rows> {
    const { promise, resolve, reject } = Promise.withResolvers<Rows>();
    // Whose statement it is, is told by the context in which it was asked for.
    const within = AsyncLocalStorage.snapshot();
    const statement = {
      send: (connection: Connection) => within(() => connection.query(text, values)),
      resolve,
      reject,
    };
    if (!isRead(text)) void this.#send([statement]);
    // After all that this turn of the event loop has set going, by every request that was heard of in it.
    else if (this.#waiting.push(statement) === 1) setImmediate(() => this.#flush());
    return promise;
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += TOGETHER) void this.#send(waiting.slice(at, at + TOGETHER));
  }

  async #send(statements: readonly Waiting[]): Promise<void> {
    const connection = await this.#pool
      .connect()
      .catch((error: unknown) => statements.forEach(({ reject }) => reject(error)));
    if (!connection) return;
    // What is under way when it breaks fails with it, each by its own promise.
    const ignore = (): void => undefined;
    connection.on('error', ignore);
    let failed: Error | undefined;
    const { stream } = connection.connection;
    stream.cork();
    const answers = statements.map(({ send, resolve, reject }) =>
      send(connection).then(resolve, (error: Error) => {
        failed ??= error;
        reject(error);
      }),
    );
    stream.uncork();
    await Promise.all(answers);
    connection.off('error', ignore);
    connection.release(failed);
  }
}
