import { AsyncLocalStorage } from 'node:async_hooks';
import type { DatabaseDriver } from '../../data/database.ts';
import type { Connection } from './watchdog.ts';

type Rows = Awaited<ReturnType<DatabaseDriver['query']>>;

/** The part of the driver's pool that is used here. */
export interface PipelinePool {
  /** Return the connection with `release`; passing an error closes it. */
  connect(): Promise<Connection & { release(failed?: Error): void }>;
}

interface Waiting {
  send(connection: Connection): Promise<Rows>;
  resolve(rows: Rows): void;
  reject(error: unknown): void;
}

/**
 * Maximum number of statements that share a connection: a slow one delays those behind it, and further statements can
 * run in another server process.
 */
const TOGETHER = 8;

const READS = /^\s*select\b/i;
const LOCKS = /\bfor (?:update|no key update|share|key share)\b|\badvisory/i;

/**
 * Whether a statement waits for no lock. One that does must not delay others behind it: the lock's holder may be
 * waiting for just those.
 */
const isRead = (text: string): boolean => READS.test(text) && !LOCKS.test(text);

/**
 * Runs statements outside of transactions. Reads that are issued in the same turn of the event loop, for example by the
 * plugins that add to a page or by concurrent requests, are pipelined on one connection, because most of the cost of a
 * small statement is sending it and waking up for its result. Each fails separately. Statements that write or lock get
 * a connection of their own.
 */
export class Pipeline {
  readonly #pool: PipelinePool;
  #waiting: Waiting[] = [];

  constructor(pool: PipelinePool) {
    this.#pool = pool;
  }

  query(text: string, values: readonly unknown[]): Promise<Rows> {
    const { promise, resolve, reject } = Promise.withResolvers<Rows>();
    // Diagnostics attribute a statement to the async context in which it was issued.
    const within = AsyncLocalStorage.snapshot();
    const statement = {
      send: (connection: Connection) => within(() => connection.query(text, values)),
      resolve,
      reject,
    };
    if (!isRead(text)) void this.#send([statement]);
    // Flush after everything that this turn of the event loop started, for all requests received in it.
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
    // If the connection breaks, each pending statement rejects its own promise.
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
